"""What a score is worth as a selector: the exact success of the best of k attempts.

The best of k is the attempt with the highest score among k drawn without replacement from a task's
n scored attempts. Its expected success can fall anywhere from pass^k to pass@k.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.bootstrap import Band, band, task_weights
from lib.metrics.estimators import checked_budget, pass_at_k, pass_hat_k
from lib.metrics.tax import MARGIN
from lib.metrics.validation import attempts, labels, numbers, together


def best_of_k(scores: ArrayLike, passed: ArrayLike, tasks: ArrayLike, k: ArrayLike):
    """Expected success of the highest-scored of k attempts, over all k-subsets of each task's n.

    E = sum_i passed_(i) C(i-1, k-1) / C(n, k), attempts i = 1..n in ascending order of score.
    Attempts with the same score are equally likely to be picked. (A constant score gives pass@1, an
    oracle pass@k, an anti-oracle pass^k.)

    scores, passed, tasks: [attempts]; k: a budget or [budgets].
    Returns the distinct tasks, [tasks], in ascending order, and E, [tasks] or [tasks, budgets].

    Raises ValueError for a missing score or outcome, and if k exceeds a task's attempts.
    """
    scores, passed = attempts(scores, passed)
    names, number = labels(tasks, "tasks", len(scores))
    if not len(scores):
        raise ValueError("no attempts: expected at least one to pick from")
    n = np.bincount(number)
    c = np.bincount(number, weights=passed).astype(int)
    k = checked_budget(k, c, n, names)
    order = np.lexsort((scores, number))
    success = _mean_of_ties(passed[order], scores[order], number[order])
    expected = np.zeros((len(names), *k.shape))
    ends = np.cumsum(n)
    for size in np.unique(n):
        of_size = np.flatnonzero(n == size)
        places = ends[of_size][:, None] - size + np.arange(size)
        expected[of_size] = success[places] @ _weights(size, k)
    return names, expected


def _weights(n: int, k: NDArray) -> NDArray[np.float64]:
    """C(i-1, k-1) / C(n, k) for i = 1..n: [n] or [n, budgets].

    From the last, k / n, downwards by the ratio (i - k) / (i - 1), without large numbers.
    """
    i = np.arange(n, 1, -1)[(..., *(None,) * k.ndim)]
    falling = np.concatenate(
        [np.broadcast_to(k / n, (1, *k.shape)), np.maximum(i - k, 0) / (i - 1)]
    )
    return np.cumprod(falling, axis=0)[::-1]


def _mean_of_ties(values, scores, number):
    """Values in the order of (number, score), with ties in both replaced by their mean."""
    new = np.r_[True, (scores[1:] != scores[:-1]) | (number[1:] != number[:-1])]
    block = np.cumsum(new) - 1
    return (np.bincount(block, weights=values) / np.bincount(block))[block]


@dataclass(frozen=True)
class Selection:
    """The success of the best of k attempts by a score, and its limits; every Band over `ks`.

    success: of the best of k by the score.  accuracy: pass@1, the same at every k.
    coverage: pass@k.  consistency: pass^k. All are means over tasks.
    share: of the possible gain, as in `share_of_gain`.
    samples: replicates [n_boot, ks] of each, by name. Equal tasks, n_boot and rng give the same
        resamples, so replicates of two scores may be subtracted.
    """

    ks: NDArray[np.int64]
    success: Band
    accuracy: Band
    coverage: Band
    consistency: Band
    share: Band
    samples: dict[str, NDArray[np.float64]]


def selection(
    scores: ArrayLike, passed: ArrayLike, tasks: ArrayLike, ks: ArrayLike, *, n_boot=1000, rng=0
) -> Selection:
    """`best_of_k` over tasks, with 95 % intervals that resample tasks with all their attempts.

    scores, passed, tasks: [attempts]; ks: [budgets]. Fewer than `FEWEST_TASKS` tasks give no
    intervals. Errors as in `best_of_k`.
    """
    ks = np.atleast_1d(ks)
    names, success = best_of_k(scores, passed, tasks, ks)
    _, number = np.unique(np.asarray(tasks), return_inverse=True)
    n, c = np.bincount(number), np.bincount(number, weights=np.asarray(passed, float)).astype(int)
    weights = task_weights(len(names), n_boot, rng) / len(names)
    replicates = {
        "success": weights @ success,
        "accuracy": weights @ np.repeat((c / n)[:, None], len(ks), axis=1),
        "coverage": weights @ pass_at_k(c, n, ks),
        "consistency": weights @ pass_hat_k(c, n, ks),
    }
    replicates["share"] = share_of_gain(
        replicates["success"], replicates["accuracy"], replicates["coverage"]
    )
    return Selection(
        ks=ks,
        **{name: band(values) for name, values in replicates.items()},
        samples={name: values[1:] for name, values in replicates.items()},
    )


def share_of_gain(success: ArrayLike, accuracy: ArrayLike, coverage: ArrayLike):
    """(success - pass@1) / (pass@k - pass@1) of task means; NaN if there is nothing to gain.

    >>> float(share_of_gain(0.5, 0.25, 0.75)), float(share_of_gain(0.5, 0.5, 0.5))
    (0.5, nan)
    """
    success, accuracy, coverage = together(
        success=numbers(success, "success"),
        accuracy=numbers(accuracy, "accuracy"),
        coverage=numbers(coverage, "coverage"),
    )
    gain = coverage - accuracy
    return (success - accuracy) / np.where(gain > MARGIN, gain, np.nan)
