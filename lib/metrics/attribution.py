"""Failure attribution: which step of a failed trajectory was the decisive mistake."""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.bootstrap import UNDEFINED, Band, scalar_band, task_weights
from lib.metrics.validation import labels, numbers, one_each

Prediction = int | Sequence[int] | None
"""What is named: a step, one of several that are equally likely, or none."""
Rule = Literal["lowest running sum", "lowest score", "sharpest drop"]
RULES: tuple[Rule, ...] = get_args(Rule)


def predict_step(scores: ArrayLike, rule: Rule) -> int | None:
    """The step, counted from 0, that step scores [steps] blame; the first of equals.

    rule : "lowest running sum" blames the step at which the sum so far is lowest, "lowest score"
        that of the lowest score (the paper's sharpest negative step, though no score need be
        negative), "sharpest drop" that which is furthest below the step before it.

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
    predicted: Sequence[Prediction],
    actual: Sequence[int | str],
    *,
    tasks: ArrayLike | None = None,
    n_boot: int = 1000,
    rng: int | np.random.Generator = 0,
) -> Attribution:
    """Step accuracy and mean absolute error, with intervals that resample trajectories, or tasks.

    predicted, actual : [trajectories], steps in the same count; digits may come as strings, as in
        Who & When. Several steps in the place of one are a draw from them, of which the exact
        expectation is taken; a prediction of None is left out and counted. NaN where none is left,
        which `counted` then tells.
    tasks : [trajectories], to be resampled with all their trajectories; None takes each as its own.
        Intervals are NaN with fewer than `FEWEST_TASKS`.

    Raises ValueError for lengths that differ, and for what is no step.
    """
    predicted, actual, tasks = _checked({"predicted": predicted}, actual, tasks)
    there = [i for i, one in enumerate(predicted) if one is not None]
    unpredicted = len(predicted) - len(there)
    if not there:
        return Attribution(UNDEFINED, UNDEFINED, 0, unpredicted)
    columns = np.array([_hit_and_error(predicted[i], actual[i]) for i in there])
    accuracy, distance = _means(columns, there, tasks, n_boot, rng)
    return Attribution(accuracy, distance, len(there), unpredicted)


def attribution_lead(
    predicted: Sequence[Prediction],
    rival: Sequence[Prediction],
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
    rows = [i for i in range(len(actual)) if predicted[i] is not None and rival[i] is not None]
    if not rows:
        warnings.warn("the lead is undefined: both name a step of no trajectory", stacklevel=2)
        return UNDEFINED
    hits = [[_hit_and_error(who[i], actual[i])[0] for who in (predicted, rival)] for i in rows]
    (lead,) = _means(-np.diff(hits), rows, tasks, n_boot, rng)
    return lead


def _checked(predictions, actual, tasks):
    """Of each prediction its steps, of `actual` its step, [trajectories] each; numbers of tasks."""
    found = [
        [None if one is None else _steps(one, f"{name}[{i}]") for i, one in enumerate(steps)]
        for name, steps in predictions.items()
    ]
    actual = [_step(one, f"actual[{i}]") for i, one in enumerate(actual)]
    for name, steps in zip(predictions, found, strict=True):
        if len(steps) != len(actual):
            raise ValueError(
                f"{len(steps)} steps in {name} and {len(actual)} in actual: expected one for each "
                "trajectory"
            )
    if tasks is None:
        tasks = np.arange(len(actual))
    return *found, actual, labels(tasks, "tasks", len(actual), "trajectories")[1]


def _steps(value, what) -> NDArray[np.int64]:
    several = isinstance(value, range | list | tuple | np.ndarray)
    if several and len(value) == 0:
        raise ValueError(f"{what} is {value!r}: expected a step, several, or None")
    return np.array([_step(one, what) for one in (value if several else [value])])


def _step(value, what) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    number = isinstance(value, int | float | np.integer | np.floating)
    if number and not isinstance(value, bool) and value >= 0 and value % 1 == 0:
        return int(value)
    raise ValueError(f"{what} is {value!r}: expected a step, a whole number from 0 on")


def _hit_and_error(steps, actual) -> tuple[float, float]:
    return np.mean(steps == actual), np.mean(np.abs(steps - actual))


def _means(columns, rows, tasks, n_boot, rng) -> list[Band]:
    """Of each column of [rows, columns] the mean, with an interval that resamples tasks whole.

    rows: numbers of these trajectories.  tasks: numbers of the tasks of all trajectories. All
    columns meet the same resamples.
    """
    _, number = np.unique(tasks[rows], return_inverse=True)
    weights = task_weights(number.max() + 1, n_boot, rng)[:, number]
    means = weights @ columns / weights.sum(1)[:, None]
    return [scalar_band(column) for column in means.T]
