"""Which temperature each group is sampled at: the arms of the experiment, with one interface."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lib.ptgs import PTGS


class Sampler(Protocol):
    """One arm; ``settings`` names it and all its arguments as JSON values."""

    settings: dict[str, Any]

    def assign(self, step: int, total: int, tasks: Sequence[str]) -> list[float]:
        """A temperature for each group of step ``step`` of ``total``, counted from 1."""

    def observe(self, tasks: Sequence[str], passed: Sequence[bool | None]) -> None:
        """Take in the outcome of every row of the step, and the task of each."""

    def state(self) -> dict[str, Any]:
        """What it has become, as JSON values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""


class _Stateless:
    def observe(self, tasks, passed) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state) -> None:
        pass


class Fixed(_Stateless):
    """Every group at one temperature; at the mean of a PTGS run it is the matched constant."""

    def __init__(self, temperature: float = 1.0):
        if not 0 < temperature < float("inf"):
            raise ValueError(f"temperature is {temperature!r}: it must be a finite number above 0")
        self.temperature = float(temperature)
        self.settings = {"sampler": "fixed", "temperature": self.temperature}

    def assign(self, step, total, tasks) -> list[float]:
        return [self.temperature] * len(tasks)


class Tempered:
    """PTGS: each group at the temperature of its own task."""

    def __init__(self, ptgs: PTGS):
        self.ptgs = ptgs
        self.settings = {"sampler": "ptgs", **ptgs.settings}

    def assign(self, step, total, tasks) -> list[float]:
        self.ptgs.set_progress(step, total)
        return self.ptgs.assign(tasks)

    def observe(self, tasks, passed) -> None:
        self.ptgs.observe(tasks, passed)

    def state(self) -> dict[str, Any]:
        return self.ptgs.state()

    def restore(self, state) -> None:
        self.ptgs.restore(state)


class _Replayed(_Stateless):
    """Takes its temperatures from the step log of a PTGS run of the same seed and tasks."""

    def __init__(self, log: str | Path):
        self.log = Path(log)
        self.groups = {line["step"]: line["groups"] for line in read_log(self.log)}

    def _temperatures(self, step, tasks) -> list[float]:
        if step not in self.groups:
            raise ValueError(
                f"{self.log} has no step {step}: this arm needs the finished PTGS run of its seed"
            )
        theirs = [group["task"] for group in self.groups[step]]
        if theirs != list(tasks):
            raise ValueError(
                f"step {step} of {self.log} had the tasks {theirs}, this run has {list(tasks)}: "
                "give the log of the PTGS run with the same seed, pool and groups"
            )
        return [group["temperature"] for group in self.groups[step]]


class Yoked(_Replayed):
    """Every group at the mean temperature of that step: as much heat, spread over all alike."""

    def __init__(self, log: str | Path):
        super().__init__(log)
        self.settings = {"sampler": "yoked"}

    def assign(self, step, total, tasks) -> list[float]:
        return [float(np.mean(self._temperatures(step, tasks)))] * len(tasks)


class Shuffled(_Replayed):
    """The temperatures of that step permuted over its groups: as much and as spread, not aimed."""

    def __init__(self, log: str | Path, seed: int = 0):
        super().__init__(log)
        self.seed = seed
        self.settings = {"sampler": "shuffled", "seed": seed}

    def assign(self, step, total, tasks) -> list[float]:
        theirs = self._temperatures(step, tasks)
        return np.random.default_rng([self.seed, step]).permutation(theirs).tolist()


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a step log, one a step; a torn last line is left out."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no step log at {path}: a training run writes it as steps.jsonl")
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
