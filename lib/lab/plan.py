"""What the lab runs: worlds, bases, trainings and evaluations, in the order of their importance.

The runs and their evaluations were fixed before the first result was seen; pilots, the lake and
what scores attempts came later. `PRIMARY` is what the verdict is about, and everything else is
exploratory.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lib import ROOT
from lib.envs import Environment, open_environment

DATA = ROOT / "data" / "lab"
"""Results, and the checkpoints that notebooks need: committed."""
BUILD = ROOT / "build" / "lab"
"""Runs under way."""

WORLDS = ("sokoban", "frozenlake", "desk")
TASKS, ATTEMPTS, POOL = 64, 128, 200
SPLITS = {"test": (0.5, 1.0), "train": (0.5,)}
"""Split -> temperatures at which every policy is evaluated on TASKS tasks, ATTEMPTS each."""
BASE_HEATS = (0.3, 0.5, 0.7, 1.0, 1.3)
"""Temperatures at which the bases are evaluated on held-out tasks: RL is not mere cooling."""
SEEDS = (0, 1, 2, 3, 4)
AT_ONCE = 1024
"""Rollouts of one batch of an evaluation, at most."""
SCORED_ATTEMPTS, SCORED_HEAT, LABELS_A_TASK = 32, 0.7, 8
"""Attempts a held-out task that are scored, their temperature, and attempts a training task whose
outcomes a trained rival learns from."""
NEW_TOKENS = {"sokoban": 10, "frozenlake": 10, "desk": 24}
"""Tokens of one reply, at most: a call in the longest form, and its end."""


@dataclass(frozen=True, kw_only=True)
class Base:
    """A pre-trained model; `kind` is one of `lib.training.pretraining.STAGES`."""

    world: str
    size: str = "0.25M"
    kind: str = "base-85"

    needs = ()

    @property
    def name(self) -> str:
        return f"{self.world}-{self.size}-{self.kind}"

    def settings(self) -> dict[str, Any]:
        """Its columns in the tables of results, those of a run among them, empty."""
        return asdict(self) | {"algorithm": "", "sampler": "", "rate": 0.0, "seed": 0}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run, from the base of its world and size with most calls native."""

    world: str
    algorithm: str
    sampler: str
    seed: int
    rate: float = 3e-4
    size: str = "0.25M"

    @property
    def name(self) -> str:
        """The name of its folders."""
        return f"{self.world}-{self.size}-{self.algorithm}-{self.sampler}-{self.rate:g}-{self.seed}"

    @property
    def base(self) -> Base:
        return Base(world=self.world, size=self.size)

    @property
    def replays(self) -> "Run | None":
        """The run whose temperatures it replays."""
        if self.sampler not in ("yoked", "shuffled"):
            return None
        return Run(**{**asdict(self), "sampler": "ptgs"})

    @property
    def needs(self) -> tuple["Work", ...]:
        """What must be there before it."""
        return (self.base, self.replays) if self.replays else (self.base,)

    def settings(self) -> dict[str, Any]:
        """Its columns in the tables of results."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Pilots:
    """A comparison of `lib.lab.pilots`, of the "base" of a world or of a "post"-trained model."""

    world: str
    policy: str

    @property
    def name(self) -> str:
        return f"{self.world}-pilots-{self.policy}"

    @property
    def model(self) -> "Base | Run":
        """What made the policy."""
        run = Run(world=self.world, algorithm="grpo", sampler="fixed", seed=0)
        return run.base if self.policy == "base" else run

    @property
    def needs(self) -> tuple["Work", ...]:
        return (self.model,)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Attempts by `sampler`, every step scored by `policy` and its base (`lib.lab.scores`)."""

    policy: Run
    sampler: Base | Run

    @property
    def name(self) -> str:
        return f"scores-{self.policy.name}-of-{self.sampler.name}"

    @property
    def world(self) -> str:
        return self.policy.world

    @property
    def earlier(self) -> Base:
        """The model that the policy's base was made from: an earlier checkpoint, as a reference."""
        return Base(world=self.policy.world, size=self.policy.size, kind="base-35")

    @property
    def needs(self) -> tuple["Work", ...]:
        return (self.policy.base, self.earlier, self.policy, self.sampler)


@dataclass(frozen=True)
class Lake:
    """A policy trained on one icy level, beside its exact optimum (`lib.lab.fading_lake`)."""

    name = "exactness"
    base = Base(world="frozenlake")
    needs = (base,)


Work = Base | Run | Pilots | Scores | Lake
"""A piece of work: its `name`, and in `needs` what must be there before it."""


def _grid(world, algorithm, samplers=("fixed", "ptgs", "yoked"), seeds=SEEDS, **more) -> list[Run]:
    return [
        Run(world=world, algorithm=algorithm, sampler=sampler, seed=seed, **more)
        for seed in seeds
        for sampler in samplers
    ]


PRIMARY = _grid("sokoban", "grpo")
"""Held-out tasks at T = 0.5: Tax_S(128) and pass@128 of PTGS against fixed and against yoked."""


def is_primary(world: str, algorithm: str, rate: float, K: int, seeds: Collection[int]) -> bool:
    """Whether the comparison at budget K, over these seeds, is the one that was fixed beforehand.

    It is only if the results are the lab's own, of as many steps and tasks as all of it has.
    """
    known = {(run.world, run.algorithm, run.rate) for run in PRIMARY}
    return (world, algorithm, rate) in known and K == ATTEMPTS and set(seeds) == set(SEEDS)


RUNS = [
    *PRIMARY,
    *_grid("desk", "grpo", ("fixed",), seeds=(0,)),
    *_grid("frozenlake", "grpo"),
    *_grid("sokoban", "ppo"),
    *_grid("sokoban", "grpo", ("shuffled",)),
    *_grid("desk", "grpo", ("fixed",), seeds=(1, 2)),
    *_grid("frozenlake", "ppo"),
    *_grid("sokoban", "grpo", rate=1e-4),
    *_grid("sokoban", "grpo", ("fixed",), seeds=(0, 1, 2), size="0.06M"),
    *_grid("sokoban", "grpo", ("fixed",), seeds=(0, 1, 2), size="1M"),
]

KEPT = [
    *_grid("sokoban", "grpo", ("fixed", "ptgs"), seeds=(0,)),
    *_grid("frozenlake", "grpo", ("fixed", "ptgs"), seeds=(0,)),
    *_grid("desk", "grpo", ("fixed",), seeds=(0,)),
]
"""Runs whose trained models are committed."""

PTGS = {
    ("sokoban", "grpo"): {"tau": 1.4, "pivot_start": 0.5, "pivot_end": 0.5},
    ("frozenlake", "grpo"): {"tau": 1.2, "pivot_start": 0.25, "pivot_end": 0.5},
}
"""The paper's arguments of PTGS where they differ from its defaults (METHODS 4 of the paper)."""


def _scores(policy: Run) -> list[Scores]:
    """A policy on its own attempts and on those of its base."""
    return [Scores(policy=policy, sampler=sampler) for sampler in (policy, policy.base)]


SCORES = [
    *_scores(Run(world="sokoban", algorithm="grpo", sampler="fixed", seed=0)),
    *_scores(Run(world="desk", algorithm="grpo", sampler="fixed", seed=0)),
    *_scores(Run(world="frozenlake", algorithm="grpo", sampler="fixed", seed=0)),
    *_scores(Run(world="sokoban", algorithm="grpo", sampler="ptgs", seed=0)),
    Scores(
        policy=Run(world="sokoban", algorithm="grpo", sampler="fixed", seed=0),
        sampler=Base(world="sokoban", size="0.06M"),
    ),
]
"""What is scored: on-policy, off-policy, and attempts of a model of another size."""


WORK: list[Work] = list(
    dict.fromkeys(
        [
            *(one for run in RUNS for one in (run.base, run)),
            *(Base(world=world, kind="base-35") for world in WORLDS),
            *(
                Pilots(world=world, policy=policy)
                for world in WORLDS
                for policy in ("base", "post")
            ),
            Lake(),
            *SCORES,
        ]
    )
)
"""All that is made, in this order: each base before its first run, those for the ablation later."""


def runs(
    worlds: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    samplers: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Run]:
    """The runs of the plan with these values; None takes all.

    Raises ValueError for a list that is empty or none, or a value that the plan does not have.
    """
    wanted = {"world": worlds, "algorithm": algorithms, "sampler": samplers, "seed": seeds}
    for name, values in wanted.items():
        known = list(dict.fromkeys(getattr(run, name) for run in RUNS))
        if values is not None and (not isinstance(values, list | tuple) or not values):
            raise ValueError(
                f"{name}s = {values!r}: expected a list of some of {', '.join(map(str, known))}"
            )
        unknown = [value for value in values or () if value not in known]
        if unknown:
            raise ValueError(f"{name} {unknown[0]!r}: the lab has {', '.join(map(str, known))}")
    return [
        run
        for run in RUNS
        if all(values is None or getattr(run, name) in values for name, values in wanted.items())
    ]


def kept_folder(made: Base | Run) -> Path:
    """Where a committed model is, if it is one."""
    return DATA / "models" / made.name


def world(name: str, split: str, count: int = POOL) -> Environment:
    """A world of the lab with the tasks of a split."""
    return open_environment(name, split, count)
