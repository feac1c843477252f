"""Per-task estimators of coverage and consistency, their curves, and categories of tasks."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.validation import one_each, one_number, together, whole_numbers


class Counts(NamedTuple):
    """The counts of one cell.

    c: [rows] successes.  n: [rows] scored rollouts.
    tasks: [rows] how many tasks a row stands for, if only a histogram is known; None if every row
        is one task. Row i of two cells is the same task only if `tasks` is None in both, so
        histograms are never paired.
    names: [rows] names of the tasks, for error messages.
    """

    c: ArrayLike
    n: ArrayLike
    tasks: ArrayLike | None = None
    names: Sequence[str] | None = None


def pass_at_k(c: ArrayLike, n: ArrayLike, k: ArrayLike, names: Sequence[str] | None = None):
    """Coverage: the chance that at least one of k rollouts succeeds, 1 - C(n-c, k) / C(n, k).

    c, n: [tasks]; k: a budget or [budgets]. Returns [tasks] or [tasks, budgets], unbiased per task.
    Raises ValueError, naming the task and its counts, if k exceeds the rollouts of a task.

    >>> float(pass_at_k(2, 5, 3)), float(pass_at_k(1, 10_000, 5_000))
    (0.9, 0.5)
    """
    c, n = checked_counts(c, n, names)
    return 1 - _all_drawn_from(n - c, c, n, checked_budget(k, c, n, names))


def pass_hat_k(c: ArrayLike, n: ArrayLike, k: ArrayLike, names: Sequence[str] | None = None):
    """Consistency (pass^k): the chance that all of k rollouts succeed, C(c, k) / C(n, k).

    Shapes and errors as in `pass_at_k`.

    >>> float(pass_hat_k(2, 5, 3)), float(pass_hat_k(2, 5, 2))
    (0.0, 0.1)
    """
    c, n = checked_counts(c, n, names)
    return _all_drawn_from(c, n - c, n, checked_budget(k, c, n, names))


def _all_drawn_from(inside, outside, n, k):
    """C(inside, k) / C(n, k): the chance that k draws without replacement all fall inside."""
    if k.ndim:  # the product over draws gives every budget up to the largest in one pass
        draw = np.arange(k.max())
        left = np.clip(inside[..., None] - draw, 0, None)
        return np.cumprod(left / (n[..., None] - draw), axis=-1)[..., k - 1]
    # A single budget: the ratio is symmetric in `outside` and k. The product with fewer factors is
    # faster and more exact.
    short, long = np.minimum(outside, k), np.maximum(outside, k)
    ratio = np.ones(n.shape)
    for j in range(int(short.max(initial=0))):
        if not ratio.any():
            break
        ratio = ratio * np.where(
            j < short, np.clip(n - long - j, 0, None) / np.maximum(n - j, 1), 1
        )
    return ratio


def checked_counts(c, n, names):
    c, n = together(c=whole_numbers(c, "successes c"), n=whole_numbers(n, "rollouts n"))
    if names is not None and len(names) != c.size:
        raise ValueError(f"{len(names)} names of {c.size} tasks: expected one for each")
    bad = (c < 0) | (n < 0) | (c > n)
    if bad.any():
        raise ValueError(
            f"{_first(bad, c, n, names)}: successes must lie between 0 and the rollouts of the "
            "task. Count a missing outcome in neither."
        )
    return c, n


def checked_budget(k, c, n, names):
    k = whole_numbers(k, "budget k")
    if k.size == 0 or k.min() < 1 or k.ndim > 1:
        raise ValueError(
            f"budget k = {k.tolist()}: expected a whole number of at least 1, or [budgets] of them."
        )
    short = n < k.max()
    if short.any():
        remedy = f"use k <= {n.min()}" if n.min() else "drop tasks without a scored rollout"
        raise ValueError(
            f"k = {k.max()} needs at least {k.max()} rollouts of every task, but {short.sum()} of "
            f"{short.size} tasks have fewer, first {_first(short, c, n, names)}. "
            f"Collect more rollouts or {remedy}."
        )
    return k


def _first(bad, c, n, names) -> str:
    i = int(np.flatnonzero(bad)[0])
    names = [] if names is None else list(names)
    name = repr(str(names[i])) if i < len(names) else i
    return f"task {name} with n = {n.ravel()[i]}, c = {c.ravel()[i]}"


def coverage_curve(cell: Counts, K: int) -> NDArray[np.float64]:
    """Mean pass@k over tasks, for k = 1..K: [K]. All tasks have the same weight, whatever n."""
    return _mean_over_tasks(pass_at_k, Counts(*cell), K)


def consistency_curve(cell: Counts, K: int) -> NDArray[np.float64]:
    """Mean pass^k over tasks, for k = 1..K: [K]."""
    return _mean_over_tasks(pass_hat_k, Counts(*cell), K)


def _mean_over_tasks(estimator, cell, K):
    K = one_number(K, "largest budget K")
    checked_budget(K, *checked_counts(cell.c, cell.n, cell.names), cell.names)
    (c, n), weight, _ = distinct_rows(cell)
    return weight @ estimator(c, n, np.arange(1, K + 1)) / weight.sum()


def distinct_rows(*cells):
    """The distinct rows of counts (c, n) of cells side by side.

    Estimators depend on counts alone, so tasks with equal counts are computed once.
    Returns the rows [2 * cells, rows], the number of tasks of each [rows], and the row of each task
    [tasks] in the order given (of a histogram, the row of each of its rows).
    """
    columns = np.stack(
        [
            np.atleast_1d(column)
            for cell in cells
            for column in checked_counts(cell.c, cell.n, cell.names)
        ]
    )
    if columns.ndim != 2:
        raise ValueError(
            f"counts {columns.shape[1:]}: expected one c and one n for each task, [tasks]"
        )
    if columns.shape[1] == 0:
        raise ValueError("no tasks: a curve needs at least one task with scored rollouts.")
    rows, inverse = np.unique(columns, axis=1, return_inverse=True)
    row_of_task, weights = inverse.ravel(), None
    if cells[0].tasks is not None:
        weights = checked_tasks(cells[0].tasks, columns.shape[1])
    tasks = np.bincount(row_of_task, weights, minlength=rows.shape[1])
    return rows, tasks.astype(float), row_of_task


def checked_tasks(tasks, rows) -> NDArray[np.int64]:
    tasks = whole_numbers(tasks, "tasks of a row")
    if tasks.shape != (rows,) or tasks.min(initial=0) < 0 or tasks.sum() == 0:
        raise ValueError(
            f"tasks = {tasks.tolist()}: a histogram needs one non-negative number of tasks for "
            f"each of its {rows} rows, and at least one task in all."
        )
    return tasks


class Categories(NamedTuple):
    """How many tasks passed in none, some, and all of their n *observed* rollouts.

    This describes n rollouts: a task that never passed in them need not be impossible.
    """

    always_fail: int
    given_compute: int
    always_pass: int

    @property
    def shares(self) -> NDArray[np.float64]:
        """The three as shares of all tasks: [3]."""
        return np.array(self) / sum(self)

    @property
    def extremes(self) -> float:
        """The share of tasks that passed in none or all of their rollouts (bimodality)."""
        return float(1 - self.shares[1])


def task_categories(c: ArrayLike, n: ArrayLike, tasks: ArrayLike | None = None) -> Categories:
    """Count tasks with c = 0, 0 < c < n and c = n.

    c, n: [rows]; tasks: [rows] how many tasks each row stands for; None if each is one task.
    """
    c, n = checked_counts(np.atleast_1d(c), np.atleast_1d(n), None)
    one_each("tasks", c=c, n=n)
    if not len(c):
        raise ValueError("no tasks: there are none to count.")
    checked_budget(1, c, n, None)
    weight = np.ones(len(c), int) if tasks is None else checked_tasks(tasks, len(c))
    never, always = int(weight[c == 0].sum()), int(weight[c == n].sum())
    return Categories(never, int(weight.sum()) - never - always, always)
