"""Failure attribution: which step of a failed trajectory was the decisive mistake."""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from lib.metrics.checks import labels, numbers, one_each
from lib.metrics.selection import task_resamples
from lib.metrics.tax import Band, band

Rule = Literal["lowest running sum", "sharpest negative step", "sharpest drop"]
RULES: tuple[Rule, ...] = get_args(Rule)


def predict_step(scores: ArrayLike, rule: Rule) -> int | None:
    """The step, counted from 0, that step scores [steps] blame; the first of equals.

    rule : "lowest running sum" blames the step at which the sum so far is lowest, "sharpest
        negative step" that of the lowest score, "sharpest drop" that which is furthest below the
        step before it.

    Steps without a score (NaN) are neither blamed nor compared with. None if no step has one.
    """
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}: expected one of {', '.join(RULES)}")
    scores = numbers(scores, "scores")
    one_each("steps", scores=scores)
    there = np.flatnonzero(~np.isnan(scores))
    if not len(there):
        return None
    values = scores[there]
    if rule == "lowest running sum":
        values = np.cumsum(values)
    elif rule == "sharpest drop" and len(values) > 1:
        values = np.r_[np.inf, np.diff(values)]
    return int(there[np.argmin(values)])


class Attribution(NamedTuple):
    """accuracy: share of trajectories whose decisive step was named.  distance: mean of |error|,
    in steps.  counted: trajectories that both are over.  unpredicted: those without a prediction.
    """

    accuracy: Band
    distance: Band
    counted: int
    unpredicted: int


def attribution(
    predicted: Sequence[int | None],
    actual: Sequence[int | str],
    *,
    tasks: ArrayLike | None = None,
    n_boot: int = 1000,
    rng: int | np.random.Generator = 0,
) -> Attribution:
    """Step accuracy and mean absolute error, with intervals that resample trajectories, or tasks.

    predicted, actual : [trajectories], steps in the same count; digits may come as strings, as in
        Who & When. A prediction of None is left out and counted. NaN where none is left, which
        `counted` then tells.
    tasks : [trajectories], to be resampled with all their trajectories; None takes each as its own.
        Intervals are NaN with fewer than `FEWEST_TASKS`.

    Raises ValueError for lengths that differ, and for what is no step.
    """
    predicted, actual, tasks = _checked({"predicted": predicted}, actual, tasks)
    there = [i for i, one in enumerate(predicted) if one is not None]
    kept = [(predicted[i], actual[i]) for i in there]
    unpredicted = len(predicted) - len(kept)
    if not kept:
        nothing = Band(np.nan, np.nan, np.nan)
        return Attribution(nothing, nothing, 0, unpredicted)
    errors = np.abs(np.subtract(*np.array(kept).T)).astype(float)
    columns = np.column_stack([errors == 0, errors])
    accuracy, distance = _means(columns, there, tasks, n_boot, rng)
    return Attribution(accuracy, distance, len(kept), unpredicted)


def attribution_lead(
    predicted: Sequence[int | None],
    rival: Sequence[int | None],
    actual: Sequence[int | str],
    *,
    tasks: ArrayLike | None = None,
    n_boot: int = 1000,
    rng: int | np.random.Generator = 0,
) -> Band:
    """Step accuracy minus a rival's, over the trajectories of which both name a step.

    Both meet the same resamples, so what they share does not widen the interval. Arguments as in
    `attribution`; NaN, with a warning, where no trajectory is left.
    """
    steps = {"predicted": predicted, "rival": rival}
    predicted, rival, actual, tasks = _checked(steps, actual, tasks)
    rows = [i for i, both in enumerate(zip(predicted, rival, strict=True)) if None not in both]
    if not rows:
        warnings.warn("the lead is undefined: both name a step of no trajectory", stacklevel=2)
        return Band(np.nan, np.nan, np.nan)
    leads = [(predicted[i] == actual[i]) - float(rival[i] == actual[i]) for i in rows]
    (lead,) = _means(np.array(leads)[:, None], rows, tasks, n_boot, rng)
    return lead


def _checked(predictions, actual, tasks):
    """Predicted and actual steps as integers, [trajectories] each, and numbers of tasks."""
    found = [_steps(steps, name, "a step or None") for name, steps in predictions.items()]
    actual = _steps(actual, "actual", "a step")
    for name, steps in zip(predictions, found, strict=True):
        if len(steps) != len(actual):
            raise ValueError(
                f"{len(steps)} steps in {name} and {len(actual)} in actual: expected one for each "
                "trajectory"
            )
    if tasks is None:
        tasks = np.arange(len(actual))
    return *found, actual, labels(tasks, "tasks", len(actual), "trajectories")[1]


def _steps(values, what, expected) -> list[int | None]:
    found = []
    for number, one in enumerate(values):
        step = _step(one)
        if step is None and (one is not None or "None" not in expected):
            raise ValueError(
                f"{what}[{number}] is {one!r}: expected {expected}, a whole number from 0 on"
            )
        found.append(step)
    return found


def _step(value) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return int(value) if value >= 0 and value % 1 == 0 else None
    return None


def _means(columns, rows, tasks, n_boot, rng) -> list[Band]:
    """Of each column of [rows, columns] the mean, with an interval that resamples tasks whole.

    rows: numbers of these trajectories.  tasks: numbers of the tasks of all trajectories. All
    columns meet the same resamples.
    """
    _, number = np.unique(tasks[rows], return_inverse=True)
    weights = task_resamples(number.max() + 1, n_boot, rng)[:, number]
    means = weights @ columns / weights.sum(1)[:, None]
    return [band(column[:, None]).at(1) for column in means.T]
