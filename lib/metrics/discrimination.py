"""How well a score separates successes from failures: AUROC and Spearman, pooled or within strata.

Intervals resample *tasks* with all their attempts, since attempts at one task are alike. A score
may owe its AUROC to separating easy tasks from hard ones, or short attempts from long ones. Within
strata, only attempts at the same task, or of the same length, are compared.
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.bootstrap import UNDEFINED, Band, scalar_band, task_weights
from lib.metrics.validation import attempts, labels, numbers, one_each

_AT_ONCE = 2**20  # weights of resamples held in memory at once


def auroc_band(
    scores: ArrayLike, passed: ArrayLike, tasks: ArrayLike, *, strata=None, n_boot=1000, rng=0
) -> Band:
    """The chance that a success scores above a failure of the same stratum; ties count half.

    Every pair of a success and a failure in one stratum has the same weight.

    scores, passed, tasks : [attempts].
    strata : [attempts], such as the tasks or the numbers of turns; None pools all attempts.

    NaN, with a warning, if no stratum holds both outcomes. The interval is NaN with fewer than
    `FEWEST_TASKS` tasks.
    """
    replicates = auroc_replicates(scores, passed, tasks, strata=strata, n_boot=n_boot, rng=rng)
    if np.isnan(replicates[0]):
        warnings.warn(
            "AUROC is undefined: no two attempts with different outcomes can be compared",
            stacklevel=2,
        )
        return UNDEFINED
    return scalar_band(replicates)


def auroc_difference(
    scores: ArrayLike,
    baseline: ArrayLike,
    passed: ArrayLike,
    tasks: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    n_boot: int = 1000,
    rng: int | np.random.Generator = 0,
) -> Band:
    """AUROC of `scores` minus AUROC of `baseline`, both of the same attempts, ties counting half.

    Paired: each resample of tasks gives both. The axes, strata and undefined cases are those of
    `auroc_band`.

    scores, baseline, passed, tasks : [attempts].
    """
    seed = np.random.default_rng(rng).integers(2**32) if not isinstance(rng, int) else rng
    ours, theirs = (
        auroc_replicates(each, passed, tasks, strata=strata, n_boot=n_boot, rng=seed)
        for each in (scores, baseline)
    )
    if np.isnan(ours[0]):
        warnings.warn(
            "the difference of AUROCs is undefined: no two attempts with different outcomes can "
            "be compared",
            stacklevel=2,
        )
        return UNDEFINED
    return scalar_band(ours - theirs)


def auroc_replicates(
    scores: ArrayLike,
    passed: ArrayLike,
    tasks: ArrayLike,
    *,
    strata=None,
    n_boot=1000,
    rng=0,
) -> NDArray[np.float64]:
    """AUROC as observed, then of each resample of tasks: [1 + n_boot], NaN where undefined.

    Equal seeds draw the same tasks whatever the scores, so replicates may be subtracted. The
    arguments are those of `auroc_band`; fewer than `FEWEST_TASKS` tasks are not resampled.
    """
    scores, passed = attempts(scores, passed)
    names, number = labels(tasks, "tasks", len(scores))
    wins, pairs, nested = _pairs(scores, passed, number, len(names), strata)
    if not pairs.sum():
        return np.array([np.nan])
    weights = task_weights(len(names), n_boot, rng)
    if nested:  # copies of a task are different tasks, whose attempts are not compared
        above, all_pairs = weights @ wins.diagonal(), weights @ pairs.diagonal()
    else:
        above = np.einsum("bt,ts,bs->b", weights, wins, weights, optimize=True)
        all_pairs = np.einsum("bt,ts,bs->b", weights, pairs, weights, optimize=True)
    return np.divide(above, all_pairs, out=np.full(len(above), np.nan), where=all_pairs > 0)


def _pairs(scores, passed, number, tasks, strata):
    """For successes at task t and failures at task s: pairs won, and pairs, [tasks, tasks] each.

    Also whether each stratum lies within one task.
    """
    strata = _strata(strata, len(scores))
    wins, pairs = np.zeros((tasks, tasks)), np.zeros((tasks, tasks))
    order = np.argsort(strata, kind="stable")
    nested = True
    for stratum in np.split(order, np.flatnonzero(np.diff(strata[order])) + 1):
        success, failure = stratum[passed[stratum] == 1], stratum[passed[stratum] == 0]
        failed_tasks, task_of_failure = np.unique(number[failure], return_inverse=True)
        nested &= len(np.unique(number[stratum])) == 1
        if not len(success) or not len(failure):
            continue
        successes = np.bincount(number[success], minlength=tasks)
        for i, task in enumerate(failed_tasks):
            failed = np.sort(scores[failure[task_of_failure == i]])
            below = np.searchsorted(failed, scores[success], "left")
            below = (below + np.searchsorted(failed, scores[success], "right")) / 2
            wins[:, task] += np.bincount(number[success], weights=below, minlength=tasks)
            pairs[:, task] += successes * len(failed)
    return wins, pairs, nested


def spearman_band(
    x: ArrayLike, y: ArrayLike, tasks: ArrayLike, *, strata=None, n_boot=1000, rng=0
) -> Band:
    """Spearman correlation of x and y, such as a score and success, and its interval.

    Within strata, an attempt's rank is its rank in the stratum, divided by the number of attempts
    there, minus the stratum's mean; the correlation is over all attempts. With a single stratum
    this is Spearman's.

    x, y, tasks : [attempts].  strata : [attempts]; None pools all attempts.

    NaN, with a warning, if x or y is constant in every stratum.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    one_each("attempts", x=x, y=y)
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError(
            f"x has {np.isnan(x).sum()} and y {np.isnan(y).sum()} undefined values (NaN) of "
            f"{len(x)} attempts: leave those attempts out, and report how many"
        )
    names, number = labels(tasks, "tasks", len(x))
    strata = _strata(strata, len(x))
    if not len(x):
        warnings.warn("Spearman is undefined: there are no attempts", stacklevel=2)
        return UNDEFINED
    weights = task_weights(len(names), n_boot, rng)
    step = max(1, _AT_ONCE // max(len(x), 1))
    rhos = np.concatenate(
        [
            _weighted_spearman(x, y, strata, weights[low : low + step].T[number])
            for low in range(0, len(weights), step)
        ]
    )
    if np.isnan(rhos[0]):
        warnings.warn(
            "Spearman is undefined: a variable is constant in every stratum", stacklevel=2
        )
    return scalar_band(rhos)


def _weighted_spearman(x, y, strata, weights):
    """The correlation of attempts that count `weights` [attempts, b] times: [b], or NaN."""
    x, y = (_relative_ranks(values, strata, weights) for values in (x, y))
    weighted = weights * x
    both, spread = np.einsum("ab,ab->b", weighted, y), np.einsum("ab,ab->b", weighted, x)
    spread = np.sqrt(spread * np.einsum("ab,ab,ab->b", weights, y, y))
    return np.divide(both, spread, out=np.full(len(both), np.nan), where=spread > 1e-9)


def _relative_ranks(values, strata, weights):
    """The share of its stratum below each attempt (ties half), minus a half: [attempts, b]."""
    order = np.lexsort((values, strata))
    values, strata = values[order], strata[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(strata) != 0) | (values[1:] != values[:-1])])
    ties = np.add.reduceat(weights[order], starts, axis=0)  # attempts of each group of equal values
    groups = np.flatnonzero(np.r_[True, np.diff(strata[starts]) != 0])
    size = np.add.reduceat(ties, groups, axis=0)
    runs = np.diff(np.r_[groups, len(starts)])
    before = np.repeat(np.cumsum(size, axis=0) - size, runs, axis=0)
    below = np.cumsum(ties, axis=0) - ties / 2 - before
    size = np.repeat(size, runs, axis=0)
    ranks = np.divide(below, size, out=np.full(size.shape, 0.5), where=size > 0) - 0.5
    place = np.empty(len(values), int)
    place[order] = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(values)]))
    return ranks[place]


def _strata(strata, attempts: int):
    return np.zeros(attempts, int) if strata is None else labels(strata, "strata", attempts)[1]
