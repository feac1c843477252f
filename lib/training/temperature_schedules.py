"""Temperature schedules: the sampling temperature of each group of rollouts at each step."""

import hashlib
import json
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lib.ptgs import PTGS


class TemperatureSchedule(Protocol):
    """The interface of a temperature schedule.

    settings: its name, under the key "sampler", and all its arguments, as JSON values.
    """

    settings: dict[str, Any]

    def check(self, steps: Sequence[Sequence[str]]) -> None:
        """Raise ValueError if it has no temperatures for a run; ``steps`` has the tasks of each."""

    def assign(self, step: int, total: int, tasks: Sequence[str]) -> list[float]:
        """A temperature for each group of step ``step`` of ``total``, counted from 1."""

    def observe(self, tasks: Sequence[str], passed: Sequence[bool | None]) -> None:
        """Learn the task and the outcome of every rollout of the step; None is missing."""

    def state(self) -> dict[str, Any]:
        """Its state, as JSON values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a state."""


class _Stateless:
    def check(self, steps) -> None:
        pass

    def observe(self, tasks, passed) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state) -> None:
        pass


class FixedTemperature(_Stateless):
    """One temperature for all groups; at the mean of a PTGS run it is the matched control."""

    def __init__(self, temperature: float = 1.0):
        if not (isinstance(temperature, Real) and 0 < temperature < float("inf")):
            raise ValueError(f"temperature is {temperature!r}: it must be a finite number above 0")
        self.temperature = float(temperature)
        self.settings = {"sampler": "fixed", "temperature": self.temperature}

    def assign(self, step, total, tasks) -> list[float]:
        return [self.temperature] * len(tasks)


class PTGSSchedule:
    """PTGS: each group at the temperature that `lib.ptgs` assigns to its task."""

    def __init__(self, ptgs: PTGS):
        self.ptgs = ptgs
        self.settings = {"sampler": "ptgs", **ptgs.settings}

    def check(self, steps) -> None:
        pass

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
    """A control of PTGS: replays the step log of the PTGS run with the same seed and tasks.

    The log of another run, as the run.json beside it says, is refused: the result would not be a
    control of PTGS.
    """

    def __init__(self, log: str | Path):
        self.log = Path(log)
        lines = read_log(self.log)
        run = self.log.with_name("run.json")
        name = read_run(run).get("sampler", {}).get("sampler") if run.exists() else None
        if name not in (None, "ptgs"):
            raise ValueError(
                f"{self.log} is the log of a run with the schedule {name}: give the log of a PTGS "
                "run, which this schedule replays"
            )
        self.groups = {}
        for number, line in enumerate(lines, 1):
            if line["step"] in self.groups:
                raise ValueError(
                    f"{self.log}:{number} repeats step {line['step']}: give the log of a single run"
                )
            self.groups[line["step"]] = _groups(self.log, number, line)
        replayed = [
            [step, [[group["task"], group["temperature"]] for group in groups]]
            for step, groups in sorted(self.groups.items())
        ]
        self.digest = hashlib.sha256(json.dumps(replayed).encode()).hexdigest()[:16]

    def check(self, steps) -> None:
        if sorted(self.groups) != list(range(1, len(steps) + 1)):
            raise ValueError(
                f"{self.log} has {len(self.groups)} steps, this run {len(steps)}: give the log of "
                "the finished PTGS run with the same seed and as many steps"
            )
        for step, tasks in enumerate(steps, 1):
            self._temperatures(step, tasks)

    def _temperatures(self, step, tasks) -> list[float]:
        if step not in self.groups:
            raise ValueError(
                f"{self.log} has no step {step}: give the log of the finished PTGS run with the "
                "same seed"
            )
        theirs = [group["task"] for group in self.groups[step]]
        if theirs != list(tasks):
            raise ValueError(
                f"step {step} of {self.log} had the tasks {theirs}, this run has {list(tasks)}: "
                "give the log of the PTGS run with the same seed, pool and groups"
            )
        return [group["temperature"] for group in self.groups[step]]


class YokedSchedule(_Replayed):
    """All groups of a step at the mean of the PTGS run's temperatures at that step."""

    def __init__(self, log: str | Path):
        super().__init__(log)
        self.settings = {"sampler": "yoked", "log": self.digest}

    def assign(self, step, total, tasks) -> list[float]:
        return [float(np.mean(self._temperatures(step, tasks)))] * len(tasks)


class ShuffledSchedule(_Replayed):
    """The PTGS run's temperatures of each step, randomly assigned to the groups of that step."""

    def __init__(self, log: str | Path, seed: int = 0):
        super().__init__(log)
        self.seed = seed
        self.settings = {"sampler": "shuffled", "seed": seed, "log": self.digest}

    def assign(self, step, total, tasks) -> list[float]:
        theirs = self._temperatures(step, tasks)
        return np.random.default_rng([self.seed, step]).permutation(theirs).tolist()


def read_run(path: Path) -> dict[str, dict[str, Any]]:
    """The settings that a run was begun with, by part and name, from its run.json.

    Raises ValueError that names a damaged file.
    """
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        if not settings or not isinstance(settings, dict):
            raise ValueError(f"it holds {str(settings)[:40]}")
        bare = [part for part, values in settings.items() if not isinstance(values, dict)]
        if bare:
            raise ValueError(f"{bare[0]} is no group of settings")
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is damaged ({error}): expected the settings that the run was begun with. Put "
            "it back, or choose another folder"
        ) from error
    return settings


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """The entries of a step log, one for each step; an incomplete last line is left out.

    Raises ValueError that names a line without a step number, FileNotFoundError without a file.
    """
    path = Path(path)
    if not path.is_file():
        why = "it is a folder, give the file in it" if path.is_dir() else "there is no such file"
        raise FileNotFoundError(
            f"no step log at {path}: {why}; a training run writes it as steps.jsonl"
        )
    lines = path.read_bytes().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]
    return [_step(path, number, line) for number, line in enumerate(whole, 1)]


def _step(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}:{number} is no line of a step log: not JSON ({error})") from error
    if not isinstance(entry, dict) or type(entry.get("step")) is not int:
        raise ValueError(f"{path}:{number} is no line of a step log: it has no whole step number")
    return entry


def _groups(path: Path, number: int, line: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        for group in line["groups"]:
            FixedTemperature(group["temperature"])  # raises if it is no temperature
            group["task"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}:{number}: each group of a step needs a task and a temperature ({error!r})"
        ) from error
    return line["groups"]


SCHEDULES = ("fixed", "ptgs", "yoked", "shuffled")
"""Names of the schedules, as `open_schedule` takes them and settings keep them."""


def open_schedule(
    name: str,
    *,
    temperature: float = 1.0,
    seed: int = 0,
    log: str | Path | None = None,
    **shape: float | None,
) -> TemperatureSchedule:
    """Make a temperature schedule by its name.

    name : one of `SCHEDULES`.
    temperature : of "fixed"; of "ptgs" that of its pivot.
    seed : of the random numbers of "ptgs" and "shuffled".
    log : the step log of the PTGS run that "yoked" and "shuffled" replay.
    shape : `tau`, `pivot_start` and `pivot_end` of "ptgs" (see `lib.ptgs.PTGS`); None is its own.

    Raises ValueError for an argument that the schedule would ignore, or one that it lacks.
    """
    if name not in SCHEDULES:
        raise ValueError(f"schedule is {name!r}: expected one of {', '.join(SCHEDULES)}")
    shape = {key: value for key, value in shape.items() if value is not None}
    if shape and name != "ptgs":
        raise ValueError(
            f"`{next(iter(shape))}` is only with the schedule ptgs, here it is {name}: leave it out"
        )
    if log is not None and name in ("fixed", "ptgs"):
        raise ValueError(
            f"`log` is only with the schedule yoked or shuffled, here it is {name}: leave it out"
        )
    if log is None and name in ("yoked", "shuffled"):
        raise ValueError(
            f"the schedule {name} replays a PTGS run: give its step log, RUN/steps.jsonl, as `log`"
        )
    if name == "fixed":
        return FixedTemperature(temperature)
    if name == "ptgs":
        return PTGSSchedule(PTGS(t_ref=temperature, seed=seed, **shape))
    return YokedSchedule(log) if name == "yoked" else ShuffledSchedule(log, seed)
