"""Failure attribution: which step of a failed trajectory was the decisive mistake."""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.bootstrap import UNDEFINED, Band, scalar_band, task_weights
from lib.metrics.validation import labels, numbers, one_each

Prediction = int | Sequence[int] | None
"""The step that is blamed, several that are equally likely, or None."""
Rule = Literal["lowest running sum", "lowest score", "sharpest drop"]
RULES: tuple[Rule, ...] = get_args(Rule)


def predict_step(scores: ArrayLike, rule: Rule) -> int | None:
    """The step to blame for a failure, by step scores [steps]: counted from 0, the first of equals.

    rule : "lowest running sum" blames the step at which the sum so far is lowest; "lowest score"
        the step with the lowest score (the paper's sharpest negative step, except that the score
        may be positive); "sharpest drop" the step furthest below the one before it.

    Steps without a score (NaN) are skipped. None if no step has a score.
    """
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}: expected one of {', '.join(RULES)}")
    scores = numbers(scores, "scores")
    one_each("steps", scores=scores)
    scored = np.flatnonzero(~np.isnan(scores))
    if not len(scored):
        return None
    values = scores[scored]
    if rule == "lowest running sum":
        values = np.cumsum(values)
    elif rule == "sharpest drop" and len(values) > 1:
        values = np.r_[np.inf, np.diff(values)]
    return int(scored[np.argmin(values)])


class Attribution(NamedTuple):
    """How well predictions find the decisive step.

    accuracy: share of trajectories whose decisive step was predicted.  distance: mean of
    |predicted - actual|, in steps.  counted: number of trajectories with a prediction, over which
    both are taken.  unpredicted: number of those without.
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

    predicted, actual : [trajectories], steps counted in the same way; strings of digits will do, as
        in Who & When. A list of steps stands for a random one of them, and the exact expectation is
        taken. Trajectories with a prediction of None are left out, and counted.
    tasks : [trajectories], the task of each, resampled with all its trajectories; None takes each
        trajectory as a task. Intervals are NaN with fewer than `FEWEST_TASKS`.

    Without any prediction, accuracy and distance are NaN.
    Raises ValueError for lengths that differ, and for values that are no steps.
    """
    predicted, actual, tasks = _checked({"predicted": predicted}, actual, tasks)
    rows = [i for i, steps in enumerate(predicted) if steps is not None]
    unpredicted = len(predicted) - len(rows)
    if not rows:
        return Attribution(UNDEFINED, UNDEFINED, 0, unpredicted)
    columns = np.array([_hit_and_error(predicted[i], actual[i]) for i in rows])
    accuracy, distance = _means(columns, rows, tasks, n_boot, rng)
    return Attribution(accuracy, distance, len(rows), unpredicted)


def attribution_lead(
    predicted: Sequence[Prediction],
    other: Sequence[Prediction],
    actual: Sequence[int | str],
    *,
    tasks=None,
    n_boot=1000,
    rng=0,
) -> Band:
    """Step accuracy minus that of other predictions, over trajectories for which both have a step.

    Both use the same resamples, so what they have in common does not widen the interval. Arguments
    as in `attribution`. NaN, with a warning, if no trajectory has both.
    """
    steps = {"predicted": predicted, "other": other}
    predicted, other, actual, tasks = _checked(steps, actual, tasks)
    rows = [i for i in range(len(actual)) if predicted[i] is not None and other[i] is not None]
    if not rows:
        warnings.warn("the lead is undefined: no trajectory has both predictions", stacklevel=2)
        return UNDEFINED
    hits = [[_hit_and_error(steps[i], actual[i])[0] for steps in (predicted, other)] for i in rows]
    (lead,) = _means(-np.diff(hits), rows, tasks, n_boot, rng)
    return lead


def _checked(predictions, actual, tasks):
    """The steps of each prediction, the steps of `actual`, and the numbers of the tasks.

    [trajectories] each.
    """
    checked = [
        [None if step is None else _steps(step, f"{name}[{i}]") for i, step in enumerate(steps)]
        for name, steps in predictions.items()
    ]
    actual = [_step(step, f"actual[{i}]") for i, step in enumerate(actual)]
    for name, steps in zip(predictions, checked, strict=True):
        if len(steps) != len(actual):
            raise ValueError(
                f"{len(steps)} steps in {name} and {len(actual)} in actual: expected one for each "
                "trajectory"
            )
    if tasks is None:
        tasks = np.arange(len(actual))
    return *checked, actual, labels(tasks, "tasks", len(actual), "trajectories")[1]


def _steps(value, what) -> NDArray[np.int64]:
    several = isinstance(value, range | list | tuple | np.ndarray)
    if several and len(value) == 0:
        raise ValueError(f"{what} is {value!r}: expected a step, several, or None")
    return np.array([_step(step, what) for step in (value if several else [value])])


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
    """The mean of each column of [rows, columns], with an interval that resamples whole tasks.

    rows: the trajectories of the rows.  tasks: the tasks of all trajectories. All columns use the
    same resamples.
    """
    _, number = np.unique(tasks[rows], return_inverse=True)
    weights = task_weights(number.max() + 1, n_boot, rng)[:, number]
    means = weights @ columns / weights.sum(1)[:, None]
    return [scalar_band(column) for column in means.T]
