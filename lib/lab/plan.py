"""What the lab runs: worlds, bases, trainings and evaluations, in the order of their importance.

The runs and their evaluations were fixed before the first result was seen; pilots, the lake and
what scores attempts came later. `PRIMARY` is what the verdict is about, and everything else is
exploratory.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lib import ROOT
from lib.envs import Environment, open_environment

DATA = ROOT / "data" / "lab"
"""Results, and the checkpoints that notebooks need: committed."""
BUILD = ROOT / "build" / "lab"
"""Runs under way."""

ENVIRONMENTS = ("sokoban", "frozenlake", "desk")
TASKS, ATTEMPTS, POOL = 64, 128, 200
SPLITS = {"test": (0.5, 1.0), "train": (0.5,)}
"""Split -> temperatures at which every policy is evaluated on TASKS tasks, ATTEMPTS each."""
BASE_TEMPERATURES = (0.3, 0.5, 0.7, 1.0, 1.3)
"""Temperatures at which the bases are evaluated on held-out tasks: RL is not mere cooling."""
SEEDS = (0, 1, 2, 3, 4)
AT_ONCE = 1024
"""Rollouts of one batch of an evaluation, at most."""
SCORED_ATTEMPTS, SCORED_TEMPERATURE, LABELS_A_TASK = 32, 0.7, 8
"""Attempts a held-out task that are scored, their temperature, and attempts a training task whose
outcomes a trained rival learns from."""
NEW_TOKENS = {"sokoban": 10, "frozenlake": 10, "desk": 24}
"""Tokens of one reply, at most: a call in the longest form, and its end."""


@dataclass(frozen=True, kw_only=True)
class Base:
    """A pre-trained model; `kind` is one of `lib.training.pretraining.STAGES`."""

    environment: str
    size: str = "0.25M"
    kind: str = "base-85"

    needs = ()

    @property
    def name(self) -> str:
        return f"{self.environment}-{self.size}-{self.kind}"

    def settings(self) -> dict[str, Any]:
        """Its columns in the tables of results, those of a run among them, empty."""
        own = {"world": self.environment, "size": self.size, "kind": self.kind}
        return own | {"algorithm": "", "sampler": "", "rate": 0.0, "seed": 0}


RUN_COLUMNS = {
    "world": "environment",
    "algorithm": "algorithm",
    "sampler": "method",
    "seed": "seed",
    "rate": "rate",
    "size": "size",
}
"""Column of the tables of results -> field of `Run`."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run, from the base of its environment and size with most calls native.

    method: how tasks get their temperatures: "fixed", "ptgs", "yoked" or "shuffled".
    """

    environment: str
    algorithm: str
    method: str
    seed: int
    rate: float = 3e-4
    size: str = "0.25M"

    @property
    def name(self) -> str:
        """The name of its folders."""
        what = f"{self.environment}-{self.size}-{self.algorithm}-{self.method}"
        return f"{what}-{self.rate:g}-{self.seed}"

    @property
    def base(self) -> Base:
        return Base(environment=self.environment, size=self.size)

    @property
    def replays(self) -> "Run | None":
        """The run whose temperatures it replays."""
        if self.method not in ("yoked", "shuffled"):
            return None
        return replace(self, method="ptgs")

    @property
    def needs(self) -> tuple["Work", ...]:
        """What must be there before it."""
        return (self.base, self.replays) if self.replays else (self.base,)

    def settings(self) -> dict[str, Any]:
        """Its columns in the tables of results."""
        return {name: getattr(self, field) for name, field in RUN_COLUMNS.items()}

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "Run":
        """The run with these columns of a table of results."""
        return cls(**{field: columns[name] for name, field in RUN_COLUMNS.items()})


@dataclass(frozen=True, kw_only=True)
class Pilots:
    """A comparison of `lib.lab.pilots`, of the "base" of a world or of a "post"-trained model."""

    environment: str
    policy: str

    @property
    def name(self) -> str:
        return f"{self.environment}-pilots-{self.policy}"

    @property
    def model(self) -> "Base | Run":
        """What made the policy."""
        run = Run(environment=self.environment, algorithm="grpo", method="fixed", seed=0)
        return run.base if self.policy == "base" else run

    @property
    def needs(self) -> tuple["Work", ...]:
        return (self.model,)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Attempts by `attempts_by`, every step scored by `policy` and its base (`lib.lab.scores`)."""

    policy: Run
    attempts_by: Base | Run

    @property
    def name(self) -> str:
        return f"scores-{self.policy.name}-of-{self.attempts_by.name}"

    @property
    def environment(self) -> str:
        return self.policy.environment

    @property
    def earlier(self) -> Base:
        """The model that the policy's base was made from: an earlier checkpoint, as a reference."""
        return Base(environment=self.policy.environment, size=self.policy.size, kind="base-35")

    @property
    def needs(self) -> tuple["Work", ...]:
        return (self.policy.base, self.earlier, self.policy, self.attempts_by)


@dataclass(frozen=True)
class Lake:
    """A policy trained on one icy level, beside its exact optimum (`lib.lab.fading_lake`)."""

    name = "exactness"
    base = Base(environment="frozenlake")
    needs = (base,)


Work = Base | Run | Pilots | Scores | Lake
"""A piece of work: its `name`, and in `needs` what must be there before it."""


def _grid(
    environment, algorithm, methods=("fixed", "ptgs", "yoked"), seeds=SEEDS, **more
) -> list[Run]:
    return [
        Run(environment=environment, algorithm=algorithm, method=method, seed=seed, **more)
        for seed in seeds
        for method in methods
    ]


PRIMARY = _grid("sokoban", "grpo")
"""Held-out tasks at T = 0.5: Tax_S(128) and pass@128 of PTGS against fixed and against yoked."""


def is_primary(
    environment: str, algorithm: str, rate: float, K: int, seeds: Collection[int]
) -> bool:
    """Whether the comparison at budget K, over these seeds, is the one that was fixed beforehand.

    It is only if the results are the lab's own, of as many steps and tasks as all of it has.
    """
    known = {(run.environment, run.algorithm, run.rate) for run in PRIMARY}
    return (environment, algorithm, rate) in known and K == ATTEMPTS and set(seeds) == set(SEEDS)


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
    return [Scores(policy=policy, attempts_by=sampler) for sampler in (policy, policy.base)]


SCORES = [
    *_scores(Run(environment="sokoban", algorithm="grpo", method="fixed", seed=0)),
    *_scores(Run(environment="desk", algorithm="grpo", method="fixed", seed=0)),
    *_scores(Run(environment="frozenlake", algorithm="grpo", method="fixed", seed=0)),
    *_scores(Run(environment="sokoban", algorithm="grpo", method="ptgs", seed=0)),
    Scores(
        policy=Run(environment="sokoban", algorithm="grpo", method="fixed", seed=0),
        attempts_by=Base(environment="sokoban", size="0.06M"),
    ),
]
"""What is scored: on-policy, off-policy, and attempts of a model of another size."""


WORK: list[Work] = list(
    dict.fromkeys(
        [
            *(one for run in RUNS for one in (run.base, run)),
            *(Base(environment=name, kind="base-35") for name in ENVIRONMENTS),
            *(
                Pilots(environment=name, policy=policy)
                for name in ENVIRONMENTS
                for policy in ("base", "post")
            ),
            Lake(),
            *SCORES,
        ]
    )
)
"""All that is made, in this order: each base before its first run, those for the ablation later."""


def runs(
    environments: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Run]:
    """The runs of the plan with these values; None takes all.

    Raises ValueError for a list that is empty or none, or a value that the plan does not have.
    """
    wanted = {
        "environment": environments,
        "algorithm": algorithms,
        "method": methods,
        "seed": seeds,
    }
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


def environment(name: str, split: str, count: int = POOL) -> Environment:
    """An environment of the lab with the tasks of a split."""
    return open_environment(name, split, count)
