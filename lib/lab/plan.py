"""What the lab runs, in the order of its importance, at which sizes, and where its files are.

The runs and their evaluations were fixed before the first result was seen; pilots, the lake and
the scores came later. `PRIMARY` is what the verdict is about, everything else is exploratory.
`LAB` is all of it as one value, which whatever runs the lab takes as an argument.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib import ROOT
from lib.envs import Environment, open_environment
from lib.lab.work import RUN_COLUMNS, Base, Lake, Pilots, Run, Scores, Work, with_needs

if TYPE_CHECKING:
    from lib.training.pretraining import Stage

__all__ = [
    "LAB", "RUN_COLUMNS", "Base", "Lake", "Pilots", "Plan", "Run", "Scores", "Work", "with_needs",
]  # fmt: skip

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
outcomes the reward model learns from."""
NEW_TOKENS = {"sokoban": 10, "frozenlake": 10, "desk": 24}
"""Tokens of one reply, at most: a call in the longest form, and its end."""


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


def _fixed(environment: str) -> Run:
    return Run(environment=environment, algorithm="grpo", method="fixed", seed=0)


def _scores(policy: Run) -> list[Scores]:
    """A policy on its own attempts and on those of its base."""
    return [Scores(policy=policy, attempts_by=model) for model in (policy, policy.base)]


SCORES = [
    *_scores(_fixed("sokoban")),
    *_scores(_fixed("desk")),
    *_scores(_fixed("frozenlake")),
    *_scores(Run(environment="sokoban", algorithm="grpo", method="ptgs", seed=0)),
    Scores(
        policy=_fixed("sokoban"),
        attempts_by=Base(environment="sokoban", size="0.06M"),
    ),
]
"""What is scored: on-policy, off-policy, and attempts of a model of another size."""


WORK: list[Work] = list(
    dict.fromkeys(
        [
            *(work for run in RUNS for work in (run.base, run)),
            *(Base(environment=name, kind="base-35") for name in ENVIRONMENTS),
            *(
                Pilots(model=model)
                for name in ENVIRONMENTS
                for model in (Base(environment=name), _fixed(name))
            ),
            Lake(),
            *SCORES,
        ]
    )
)
"""All work, in this order: each base before its first run; bases for the ablation come later."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is run, at which sizes, and in which folders; the defaults are those of the lab.

    data: folder of the tables and of the kept models.  build: folder of the runs under way.
    work: all pieces of work.  primary: runs that the verdict is about.  kept: runs whose trained
    models are copied to `data`.
    pool: training tasks.  tasks, attempts: of an evaluation, and attempts of each task.
    splits: split -> temperatures of every policy.  base_temperatures: of bases on held-out tasks.
    seeds: of the primary runs and of the pilots.  at_once: rollouts of a batch, at most.
    pilots, totals: pilot rollouts of a task, and the budgets that they count in.
    scored_attempts, labels_a_task: see `SCORED_ATTEMPTS`.
    stages: kind of a base -> how it is pre-trained; None takes `lib.training.pretraining.STAGES`.
    training: settings of training that differ from those of the algorithm.
    """

    data: Path = DATA
    build: Path = BUILD
    work: Sequence[Work] = tuple(WORK)
    primary: Sequence[Run] = tuple(PRIMARY)
    kept: Sequence[Run] = tuple(KEPT)
    pool: int = POOL
    tasks: int = TASKS
    attempts: int = ATTEMPTS
    splits: Mapping[str, Sequence[float]] = field(default_factory=lambda: SPLITS)
    base_temperatures: Sequence[float] = BASE_TEMPERATURES
    seeds: Sequence[int] = SEEDS
    at_once: int = AT_ONCE
    pilots: int = 8
    totals: Sequence[int] = (16, 32, 64, 128)
    scored_attempts: int = SCORED_ATTEMPTS
    labels_a_task: int = LABELS_A_TASK
    stages: "Mapping[str, Stage] | None" = None
    training: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tasks_at_once(self) -> int:
        """Tasks whose attempts fill a batch."""
        return max(1, self.at_once // self.attempts)

    def kept_folder(self, model: Base | Run) -> Path:
        """Where the model of a base or of a kept run is, or is to be."""
        return self.data / "models" / model.name

    def folder(self, model: Base | Run) -> Path:
        """Where the model of a base or of any run is, or is to be."""
        kept = self.kept_folder(model)
        return kept if isinstance(model, Base) or kept.exists() else self.built_folder(model)

    def built_folder(self, run: Run) -> Path:
        """Where training leaves the model of a run."""
        return self.build / run.name / "model"

    def is_primary(
        self, environment: str, algorithm: str, rate: float, K: int, seeds: Collection[int]
    ) -> bool:
        """Whether a comparison at budget K, over these seeds, was fixed beforehand.

        It was only if the results are the plan's own, of all its steps and tasks.
        """
        known = {(run.environment, run.algorithm, run.rate) for run in self.primary}
        whole = self.attempts == K and set(seeds) == set(self.seeds)
        return (environment, algorithm, rate) in known and whole


LAB = Plan()
"""The plan of the lab itself."""


def runs(
    environments: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Run]:
    """The runs of the plan with these values; None takes all.

    Raises ValueError for an empty list, for no list, or for a value that the plan does not have.
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


def environment(name: str, split: str, count: int = POOL) -> Environment:
    """An environment of the lab with `count` tasks of a split."""
    return open_environment(name, split, count)
