"""Posterior-tempered group sampling (PTGS): a sampling temperature for each training task.

The sampler keeps what it has seen of each task as a discounted posterior over its success rate,
draws one rate from it, and samples the task's group hot if the draw says hard and cold if it says
easy (arXiv 2610.01509). At step t of T:

    pivot        p~ = p_start (p_end / p_start)^(t / T)
    posterior    Beta(2 p~ + s, 2 (1 - p~) + f)
    temperature  T_x = T_ref tau^h,  h = (p~ - p^) / p~  or, above the pivot,  (p~ - p^) / (1 - p~)
    update       s <- gamma s + successes,  f <- gamma f + failures

A trainer of any kind calls, at each step,

    sampler.set_progress(step, total)
    temperatures = sampler.assign(tasks)             # one a group, before its rollouts
    heat = sampler.per_row(task_of_each_row)         # for sampling, and for every log-prob
    sampler.observe(task_of_each_row, passed)        # every group, before any filter

Only numpy is needed. Tasks are named by ids that recur, strings or whole numbers, never by the
text of a prompt.
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
    """A row whose task was given no temperature in this step."""


class PTGS:
    """The temperatures of one training run.

    Parameters
    ----------
    tau : largest ratio of a temperature to ``t_ref``, at least 1; 1 leaves all at ``t_ref``.
    gamma : what a count is worth one update later, in (0, 1].
    t_ref : temperature of a task whose drawn success rate is the pivot.
    pivot_start, pivot_end : the success rate in the middle, at the beginning and end of training.
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
        """The success rate that is sampled at ``t_ref`` now."""
        return self.pivot_start * (self.pivot_end / self.pivot_start) ** self.progress

    def set_progress(self, step: int, total: int) -> None:
        """Begin step ``step`` of ``total``, counted from 1; before it the pivot is at its start."""
        if not all(isinstance(one, Real) for one in (step, total)) or not (
            0 <= step <= total and 1 <= total < math.inf
        ):
            raise ValueError(f"step {step} of {total}: expected 1 to the total, at least 1")
        self.progress = step / total

    def posterior(self, key: TaskId) -> tuple[float, float]:
        """The two parameters of the Beta distribution of a task's success rate."""
        successes, failures = self.counts.get(_task_id(key), (0.0, 0.0))
        pivot = self.pivot
        return PRIOR_MASS * pivot + successes, PRIOR_MASS * (1 - pivot) + failures

    def heat(self, rate: float) -> float:
        """The temperature of a task whose success rate is ``rate``, in [t_ref / tau, t_ref tau]."""
        if not 0 <= rate <= 1:
            raise ValueError(f"the success rate is {rate}: expected a number from 0 to 1")
        pivot = self.pivot
        exponent = (pivot - rate) / (pivot if rate <= pivot else 1 - pivot)
        return self.t_ref * self.tau**exponent

    def temperature(self, key: TaskId) -> float:
        """Draw a success rate of the task from its posterior; the temperature that goes with it."""
        return self.heat(float(self.generator.beta(*self.posterior(key))))

    def update(self, key: TaskId, successes: int, rollouts: int) -> None:
        """Count the outcomes of one group of the task; missing ones are in neither number."""
        counted = all(isinstance(one, Real) and one == one // 1 for one in (successes, rollouts))
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
        """One temperature for each group of this step; those of the last step are forgotten.

        Raises ValueError for a task that comes twice, or whose id is no string or whole number.
        """
        keys = [_task_id(key) for key in keys]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ValueError(f"task {twice!r} has two groups in one step: give each task one group")
        self.assigned = {key: self.temperature(key) for key in keys}
        return list(self.assigned.values())

    def per_row(self, keys: Iterable[TaskId]) -> np.ndarray:
        """The temperature of each row, from the task of each row, [rows]."""
        keys = [_task_id(key) for key in keys]  # True and 1.0 would find what is kept of 1
        missing = next((key for key in keys if key not in self.assigned), None)
        if missing is not None:
            raise MissingTemperature(
                f"a row of task {missing!r} has no temperature in this step. Its log-probs would be"
                " taken at another temperature than it was sampled at: assign() all tasks of a "
                "step before their rollouts"
            )
        return np.array([self.assigned[key] for key in keys])

    def observe(self, keys: Sequence[TaskId], passed: Sequence[bool | float | None]) -> None:
        """Count the outcomes of all rows, whichever the update will use.

        ``keys[i]`` is the task of row i and ``passed[i]`` whether it was solved, as a bool, 0 or 1;
        None or NaN is missing and counts neither way, as does a group without any outcome. Raises
        ValueError for any other value, before anything is counted.
        """
        if len(keys) != len(passed):
            raise ValueError(
                f"{len(keys)} tasks and {len(passed)} outcomes: expected one of each a row"
            )
        groups: dict[TaskId, list[bool]] = {}
        for key, one in zip(keys, passed, strict=True):
            outcome = _outcome(key, one)
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
        """All that it has become, as JSON values; :meth:`restore` goes on from it exactly."""
        return {
            "settings": self.settings,
            "progress": self.progress,
            # Pairs, since the names of a JSON object are strings and a task's id may be a number.
            "counts": [[key, list(pair)] for key, pair in self.counts.items()],
            "assigned": [[key, heat] for key, heat in self.assigned.items()],
            "generator": self.generator.bit_generator.state,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become the sampler that :meth:`state` was taken of; its settings must be the same.

        Raises ValueError that names the setting, or what the state lacks; the sampler is then as
        it was.
        """
        parts = ("settings", "progress", "counts", "assigned", "generator")
        lacking = [part for part in parts if not isinstance(state, Mapping) or part not in state]
        if lacking:
            raise ValueError(f"the saved state has no {', '.join(lacking)}: PTGS.state() makes one")
        theirs = state["settings"] if isinstance(state["settings"], Mapping) else {}
        for name, value in self.settings.items():
            if theirs.get(name) != value:
                raise ValueError(
                    f"the saved state has {name} = {theirs.get(name)!r}, this sampler {value!r}: "
                    "make it with the settings it was saved with"
                )
        # All of it is read before any of it is taken over.
        generator = np.random.default_rng(self.seed)
        try:
            progress = _within(float(state["progress"]), 0, 1)
            counts = {
                _task_id(key): (_within(float(s), 0), _within(float(f), 0))
                for key, (s, f) in _pairs(state["counts"])
            }
            assigned = {
                _task_id(key): _within(float(heat), 0) for key, heat in _pairs(state["assigned"])
            }
            generator.bit_generator.state = state["generator"]
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(
                f"the saved state is damaged ({error}): take a whole one, PTGS.state() makes it"
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
        "which a saved state keeps as it is"
    )


def _within(value: float, low: float, high: float = sys.float_info.max) -> float:
    if not low <= value <= high:
        raise ValueError(f"it holds {value} where a number from {low} to {high:g} belongs")
    return value


def _outcome(key: TaskId, value: Any) -> bool | None:
    if value is None or type(value).__name__ == "NAType":  # pandas' own NaN equals nothing
        return None
    try:
        if value != value:
            return None
        if value in (0, 1):
            return bool(value)
    except (TypeError, ValueError):  # nothing that compares to a number
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

    ``pilots`` maps a task to its successes and rollouts, both whole; (0, 0) where there are none,
    so that its temperature is drawn from the prior. A pilot without an outcome is in neither.
    Raises ValueError that names the task whose counts are none.
    """
    sampler = PTGS(tau=tau, t_ref=t_ref, pivot_start=pivot, pivot_end=pivot, seed=seed)
    if not isinstance(pilots, Mapping):
        raise ValueError(
            f"the pilots are a {type(pilots).__name__}: expected a dictionary, task to (successes, "
            "rollouts)"
        )
    for key, counts in pilots.items():
        try:
            successes, rollouts = counts
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"task {key!r} has the pilots {counts!r}: expected (successes, rollouts), (0, 0) "
                "where there are none"
            ) from error
        sampler.update(key, successes, rollouts)
    return dict(zip(pilots, sampler.assign(list(pilots)), strict=True))
