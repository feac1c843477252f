"""Posterior-tempered group sampling (PTGS): a sampling temperature for each training task.

PTGS keeps a discounted posterior over the success rate of each task, draws a rate from it, and
samples the task's group of rollouts at a high temperature if the drawn rate is low, at a low one if
it is high (arXiv 2610.01509). At step t of T, for a task with discounted counts s of successes and
f of failures, both 0 at first:

    pivot        p~ = p_start (p_end / p_start)^(t / T)
    posterior    Beta(2 p~ + s, 2 (1 - p~) + f)
    draw         p^ from the posterior, once for each group
    temperature  T_x = T_ref tau^h,  h = (p~ - p^) / p~        if p^ <= p~
                                     h = (p~ - p^) / (1 - p~)  otherwise
    update       s <- gamma s + successes,  f <- gamma f + failures

So T_x is from T_ref / tau to T_ref tau, and T_ref at the pivot. A trainer of any kind makes four
calls in each step:

>>> ptgs, tasks = PTGS(), ["maze-1", "maze-2"]
>>> rows = ["maze-1", "maze-1", "maze-2", "maze-2"]  # the task of each rollout
>>> ptgs.set_progress(1, 200)
>>> temperatures = ptgs.assign(tasks)  # one for each group, before its rollouts
>>> ptgs.per_row(rows).shape  # for the sampling, and for every log-prob of the update
(4,)
>>> ptgs.observe(rows, [True, False, False, None])  # all groups, before any is filtered out
>>> ptgs.counts
{'maze-1': (1.0, 1.0), 'maze-2': (0.0, 1.0)}

This file needs numpy alone. Tasks are named by ids that recur, strings or whole numbers, never by
the text of a prompt.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

TaskId = str | int

PRIOR_MASS = 2.0
"""Pseudo-counts of the prior, which lies at the pivot."""


class MissingTemperature(LookupError):
    """A rollout whose task has no temperature in this step."""


class PTGS:
    """The temperatures of one training run.

    Parameters
    ----------
    tau : largest ratio of a temperature to ``t_ref``, at least 1; with 1 all are ``t_ref``.
    gamma : weight that a count keeps at each update of its task, in (0, 1].
    t_ref : temperature of a task whose drawn success rate is the pivot.
    pivot_start, pivot_end : the pivot at the beginning and at the end of training, in (0, 1).
    seed : of the draws.
    """

    def __init__(
        self,
        tau: float = 1.5,
        gamma: float = 0.95,
        t_ref: float = 1.0,
        pivot_start: float = 0.25,
        pivot_end: float = 0.5,
        seed: int = 0,
    ):
        for name, value, good, expected in [
            ("tau", tau, lambda x: 1 <= x < math.inf, "a finite number, at least 1; 1 is off"),
            ("gamma", gamma, lambda x: 0 < x <= 1, "in (0, 1]; 1 forgets nothing"),
            ("t_ref", t_ref, lambda x: 0 < x < math.inf, "a finite number above 0"),
            ("pivot_start", pivot_start, lambda x: 0 < x < 1, "a success rate in (0, 1)"),
            ("pivot_end", pivot_end, lambda x: 0 < x < 1, "a success rate in (0, 1)"),
            ("seed", seed, lambda x: 0 <= x == x // 1, "a whole number, at least 0"),
        ]:
            if not (isinstance(value, Real) and good(value)):
                raise ValueError(f"PTGS: {name} is {value!r}: it must be {expected}")
        self.tau, self.gamma, self.t_ref = float(tau), float(gamma), float(t_ref)
        self.pivot_start, self.pivot_end = float(pivot_start), float(pivot_end)
        self.seed = int(seed)
        self.generator = np.random.default_rng(self.seed)
        self.counts: dict[TaskId, tuple[float, float]] = {}
        self.assigned: dict[TaskId, float] = {}
        self.progress = 0.0

    # ------------------------------------------------------------------------------- the rule

    @property
    def pivot(self) -> float:
        """The success rate p~ whose temperature is ``t_ref`` at the current step."""
        return self.pivot_start * (self.pivot_end / self.pivot_start) ** self.progress

    def set_progress(self, step: int, total: int) -> None:
        """Begin a step of ``total``, counted from 1; at step 0 the pivot is at its start."""
        if not all(isinstance(number, Real) for number in (step, total)) or not (
            0 <= step <= total and 1 <= total < math.inf
        ):
            raise ValueError(f"step {step} of {total}: expected 1 to the total, at least 1")
        self.progress = step / total

    def posterior(self, key: TaskId) -> tuple[float, float]:
        """The two parameters of the Beta distribution of a task's success rate."""
        successes, failures = self.counts.get(_task_id(key), (0.0, 0.0))
        pivot = self.pivot
        return PRIOR_MASS * pivot + successes, PRIOR_MASS * (1 - pivot) + failures

    def temperature_at(self, rate: float) -> float:
        """The temperature of a task whose success rate is ``rate``, in [t_ref / tau, t_ref tau]."""
        if not 0 <= rate <= 1:
            raise ValueError(f"the success rate is {rate}: expected a number from 0 to 1")
        pivot = self.pivot
        exponent = (pivot - rate) / (pivot if rate <= pivot else 1 - pivot)
        return self.t_ref * self.tau**exponent

    def temperature(self, key: TaskId) -> float:
        """Draw a success rate of the task from its posterior; the temperature at that rate."""
        return self.temperature_at(float(self.generator.beta(*self.posterior(key))))

    def update(self, key: TaskId, successes: int, rollouts: int) -> None:
        """Count the outcomes of one group of the task; neither number includes missing ones."""
        counted = all(isinstance(n, Real) and n == n // 1 for n in (successes, rollouts))
        if not counted or not 0 <= successes <= rollouts < math.inf:
            raise ValueError(
                f"task {key!r}: {successes!r} successes of {rollouts!r} rollouts: expected two "
                "whole numbers, the first from 0 to the second"
            )
        key, won, lost = _task_id(key), float(successes), float(rollouts - successes)
        s, f = self.counts.get(key, (0.0, 0.0))
        self.counts[key] = self.gamma * s + won, self.gamma * f + lost

    # ---------------------------------------------------------------------- hooks of a trainer

    def assign(self, keys: Sequence[TaskId]) -> list[float]:
        """Draw a temperature for each group of this step, and forget those of the last step.

        Raises ValueError for a repeated task, or an id that is not a string or whole number.
        """
        keys = [_task_id(key) for key in keys]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ValueError(f"task {twice!r} has two groups in one step: give each task one group")
        self.assigned = {key: self.temperature(key) for key in keys}
        return list(self.assigned.values())

    def per_row(self, keys: Iterable[TaskId]) -> np.ndarray:
        """The temperature of each row, from the task of each row, [rows]."""
        keys = [_task_id(key) for key in keys]  # True and 1.0 would match the task 1
        missing = next((key for key in keys if key not in self.assigned), None)
        if missing is not None:
            raise MissingTemperature(
                f"a row of task {missing!r} has no temperature in this step. Its log-probs would be"
                " taken at another temperature than it was sampled at: assign() all tasks of a "
                "step before their rollouts"
            )
        return np.array([self.assigned[key] for key in keys])

    def observe(self, keys: Sequence[TaskId], passed: Sequence[bool | float | None]) -> None:
        """Count the outcomes of all rows, also of those that the policy's update does not use.

        ``keys[i]`` is the task of row i and ``passed[i]`` whether it was solved, as a bool, 0 or 1.
        None or NaN is missing and not counted; nor is a group without any outcome. Raises
        ValueError for any other value, before anything is counted.
        """
        if len(keys) != len(passed):
            raise ValueError(
                f"{len(keys)} tasks and {len(passed)} outcomes: expected one of each for every row"
            )
        groups: dict[TaskId, list[bool]] = {}
        for key, value in zip(keys, passed, strict=True):
            outcome = _outcome(key, value)
            if outcome is not None:
                groups.setdefault(_task_id(key), []).append(outcome)
        for key, outcomes in groups.items():
            self.update(key, sum(outcomes), len(outcomes))

    # --------------------------------------------------------------------------------- its state

    @property
    def settings(self) -> dict[str, float]:
        """The arguments it was made with."""
        names = ("tau", "gamma", "t_ref", "pivot_start", "pivot_end", "seed")
        return {name: getattr(self, name) for name in names}

    def state(self) -> dict[str, Any]:
        """The whole state as JSON values; after :meth:`restore` the draws continue exactly."""
        return {
            "settings": self.settings,
            "progress": self.progress,
            # Pairs, since JSON objects have strings as keys and the id of a task may be a number.
            "counts": [[key, list(pair)] for key, pair in self.counts.items()],
            "assigned": [[key, value] for key, value in self.assigned.items()],
            "generator": self.generator.bit_generator.state,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a saved :meth:`state`, which must have the same settings.

        Raises ValueError that names a differing setting or a missing part, and changes nothing.
        """
        parts = ("settings", "progress", "counts", "assigned", "generator")
        lacking = [part for part in parts if not isinstance(state, Mapping) or part not in state]
        if lacking:
            raise ValueError(f"the saved state has no {', '.join(lacking)}: PTGS.state() makes one")
        saved = state["settings"] if isinstance(state["settings"], Mapping) else {}
        for name, value in self.settings.items():
            if saved.get(name) != value:
                raise ValueError(
                    f"the saved state has {name} = {saved.get(name)!r}, this PTGS {value!r}: "
                    "make it with the settings it was saved with"
                )
        # Read everything first, so that a damaged state changes nothing.
        generator = np.random.default_rng(self.seed)
        try:
            progress = _within(float(state["progress"]), 0, 1)
            counts = {
                _task_id(key): (_within(float(s), 0), _within(float(f), 0))
                for key, (s, f) in _pairs(state["counts"])
            }
            assigned = {
                _task_id(key): _within(float(value), 0) for key, value in _pairs(state["assigned"])
            }
            generator.bit_generator.state = state["generator"]
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(
                f"the saved state is damaged ({error}): expected one that PTGS.state() made"
            ) from error
        self.progress, self.counts, self.assigned = progress, counts, assigned
        self.generator = generator


def _task_id(key: Any) -> TaskId:
    """The id as a plain string or int, which JSON keeps as it is."""
    if isinstance(key, str):
        return str(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return int(key)
    raise ValueError(
        f"task {key!r} is a {type(key).__name__}: a task's id must be a string or a whole number, "
        "so that a saved state keeps it"
    )


def _within(value: float, low: float, high: float = sys.float_info.max) -> float:
    if not low <= value <= high:
        raise ValueError(f"it has {value}, expected a number from {low} to {high:g}")
    return value


def _outcome(key: TaskId, value: Any) -> bool | None:
    if value is None or type(value).__name__ == "NAType":  # pandas' own NaN equals nothing
        return None
    try:
        if value != value:
            return None
        if value in (0, 1):
            return bool(value)
    except (TypeError, ValueError):  # a value that does not compare to a number
        pass
    raise ValueError(
        f"task {key!r} has the outcome {value!r}: expected True or 1, False or 0, or None or NaN "
        "where it is missing"
    )


def _pairs(saved: Any) -> Iterable:
    # States were dictionaries before task ids could be numbers.
    return saved.items() if isinstance(saved, Mapping) else saved


def from_pilots(
    pilots: Mapping[TaskId, tuple[int, int]],
    *,
    tau: float = 1.5,
    t_ref: float = 1.0,
    pivot: float = 0.5,
    seed: int = 0,
) -> dict[TaskId, float]:
    """Temperatures for a frozen policy: one draw a task, from a few pilot rollouts of each.

    ``pilots`` maps a task to the numbers of its successes and of its graded rollouts. With (0, 0)
    the temperature is drawn from the prior. Raises ValueError that names a task with bad counts.
    """
    ptgs = PTGS(tau=tau, t_ref=t_ref, pivot_start=pivot, pivot_end=pivot, seed=seed)
    if not isinstance(pilots, Mapping):
        raise ValueError(
            f"the pilots are a {type(pilots).__name__}: expected a dictionary from tasks to "
            "(successes, rollouts)"
        )
    for key, counts in pilots.items():
        try:
            successes, rollouts = counts
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"task {key!r} has the pilots {counts!r}: expected (successes, rollouts), (0, 0) "
                "without pilots"
            ) from error
        ptgs.update(key, successes, rollouts)
    return dict(zip(pilots, ptgs.assign(list(pilots)), strict=True))
