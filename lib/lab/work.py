"""The kinds of work of the lab, by what they are about: models, and what is measured of them.

A piece of work is a value: its name is that of its folder, and its columns tell its rows from
others in the tables of results.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Base:
    """A pre-trained model; `kind` names one of `lib.training.pretraining.STAGES`."""

    environment: str
    size: str = "0.25M"
    kind: str = "base-85"

    needs = ()

    @property
    def name(self) -> str:
        return f"{self.environment}-{self.size}-{self.kind}"

    def settings(self) -> dict[str, Any]:
        """Its columns in the tables of results; those that only runs have are empty."""
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
        """The PTGS run of the same seed whose temperatures this run replays, if it does."""
        if self.method not in ("yoked", "shuffled"):
            return None
        return replace(self, method="ptgs")

    @property
    def needs(self) -> tuple["Work", ...]:
        """The work that must be done before it."""
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
    """Pilot-based PTGS of one frozen policy against fixed temperatures (`lib.lab.pilots`)."""

    model: Base | Run

    @property
    def name(self) -> str:
        return f"{self.environment}-pilots-{self.policy}"

    @property
    def environment(self) -> str:
        return self.model.environment

    @property
    def policy(self) -> str:
        """The kind of the model: "base" or "post"."""
        return "base" if isinstance(self.model, Base) else "post"

    @property
    def needs(self) -> tuple["Work", ...]:
        return (self.model,)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Attempts of a frozen model, every step scored by a policy and its base (`lib.lab.scores`).

    policy: the run that scores.  attempts_by: the model that made the attempts.
    """

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
        """The model that the policy's base was trained from: an earlier reference."""
        return Base(environment=self.environment, size=self.policy.size, kind="base-35")

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
"""A piece of work: its `name`, and in `needs` the work that must be done before it."""


def with_needs(wanted: Iterable[Work]) -> list[Work]:
    """These pieces of work, each after what it needs."""
    ordered: dict[Work, None] = {}
    for work in wanted:
        ordered |= dict.fromkeys([*with_needs(work.needs), work])
    return list(ordered)
