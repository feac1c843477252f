"""Intervals: resampling and percentiles, and t-intervals over seeds. No other module does either.

Tasks are resampled, not attempts, since attempts at one task are alike. Every function draws from
the generator it is given, in a fixed order: the same seed gives the same intervals for good.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.validation import numbers

FEWEST_TASKS = 10
"""With fewer tasks, resampling them gives no trustworthy interval."""

FEWEST_RESAMPLES = 40
"""With fewer resamples there is no 2.5 % quantile."""

FEWEST_SEEDS = 3
"""With fewer seeds a t-interval is too wide to be of use, and none is given."""

_LEVEL = 0.95


class Band(NamedTuple):
    """An estimate and its 95 % interval: arrays over budgets, or numbers for a single budget."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def at(self, k: int) -> "Band":
        """The band at budget k. Raises ValueError unless k is 1, 2, ... or the largest budget."""
        if k not in range(1, len(self.value) + 1):
            raise ValueError(
                f"Expected a budget k from 1 to {len(self.value)}, the largest measured; got {k}."
            )
        return Band(*(float(part[int(k) - 1]) for part in self))


UNDEFINED = Band(np.nan, np.nan, np.nan)


def checked_resamples(n_boot: int) -> int:
    """`n_boot` as an int. Raises ValueError for numbers of resamples that give no interval."""
    if n_boot != 0 and not FEWEST_RESAMPLES <= n_boot == int(n_boot):
        raise ValueError(
            f"n_boot = {n_boot}: expected 0 for no intervals, or at least {FEWEST_RESAMPLES}; "
            "1000 is usual."
        )
    return int(n_boot)


def task_weights(tasks: int, n_boot: int, rng: int | np.random.Generator) -> NDArray[np.float64]:
    """How often each resample draws each task: [1 + n_boot, tasks].

    Row 0 is the sample as observed, each task once. Fewer than `FEWEST_TASKS` tasks are not
    resampled, and row 0 is all there is.
    """
    rng, n_boot = np.random.default_rng(rng), checked_resamples(n_boot)
    n_boot = n_boot if tasks >= FEWEST_TASKS else 0
    drawn = rng.multinomial(tasks, np.full(tasks, 1 / max(tasks, 1)), size=n_boot)
    return np.concatenate([np.ones((1, tasks)), drawn])


def row_weights(
    tasks_per_row: NDArray[np.float64],
    n_boot: int,
    rng: np.random.Generator,
    row_of_task: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """How many tasks of each row a resample holds, where tasks with equal counts share a row.

    tasks_per_row: [rows].  row_of_task: [tasks], the row of each task; None for a histogram, whose
    tasks have no names. Returns [1 + n_boot, rows]; row 0 is the sample as observed.

    Named tasks are drawn by their place, so equal seeds draw the same tasks in every comparison
    of as many tasks. A histogram is drawn row by row, as often as its tasks would be
    (multinomial), at a cost that does not grow with the number of tasks.
    """
    weights = np.empty((1 + n_boot, len(tasks_per_row)))
    weights[0] = tasks_per_row
    if row_of_task is None:
        total = tasks_per_row.sum()
        weights[1:] = rng.multinomial(int(total), tasks_per_row / total, size=n_boot)
        return weights
    for i in range(1, 1 + n_boot):
        drawn = row_of_task[rng.integers(len(row_of_task), size=len(row_of_task))]
        weights[i] = np.bincount(drawn, minlength=len(tasks_per_row))
    return weights


def cluster_resamples(
    clusters: Sequence, n_boot: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Resamples of whole clusters: the positions [drawn items] of each, `n_boot` times.

    clusters: [items], the label of each item's cluster. Draws happen one resample at a time, so a
    caller may use the same generator in between.
    """
    clusters = np.asarray(clusters)
    members = [np.flatnonzero(clusters == name) for name in dict.fromkeys(clusters.tolist())]
    for _ in range(n_boot):
        drawn = rng.choice(len(members), len(members))
        yield np.concatenate([members[i] for i in drawn])


def percentile_interval(samples: ArrayLike, level: float = _LEVEL) -> tuple[float, float]:
    """The ends of the percentile interval of replicates [n_boot], undefined ones (NaN) left out.

    Both ends are NaN where no replicate is defined.

    >>> percentile_interval([float("nan"), *range(101)])
    (2.5, 97.5)
    """
    samples = np.asarray(samples, dtype=float)
    samples = samples[~np.isnan(samples)]
    if not len(samples):
        return np.nan, np.nan
    low, high = np.quantile(samples, _tails(level))
    return float(low), float(high)


def band(replicates: NDArray[np.float64]) -> Band:
    """The observed values with 95 % percentile intervals, undefined replicates (NaN) left out.

    replicates: [1 + n_boot, K], the observed values in row 0. Intervals are NaN without replicates.
    """
    value, samples = replicates[0], np.sort(replicates[1:].T, axis=-1)  # NaN sorts last
    defined = np.sum(~np.isnan(samples), axis=-1)
    return Band(value, *(_sorted_quantile(samples, defined, q) for q in _tails(_LEVEL)))


def scalar_band(replicates: NDArray[np.float64]) -> Band:
    """`band` of a single quantity, [1 + n_boot]: three numbers."""
    return band(replicates[:, None]).at(1)


def _sorted_quantile(samples, defined, q):
    """Interpolated quantile of the first `defined` of sorted samples, [K, n_boot]: [K].

    np.nanquantile would loop over K in Python, and is many times slower.
    """
    if samples.shape[1] == 0:
        return np.full(len(samples), np.nan)
    position = q * np.maximum(defined - 1, 0)
    below = np.floor(position).astype(int)
    above = np.minimum(below + 1, np.maximum(defined - 1, 0))
    rows = np.arange(len(samples))
    return samples[rows, below] + (position - below) * (samples[rows, above] - samples[rows, below])


def outward_interval(samples: ArrayLike) -> tuple[float, float]:
    """The 95 % percentile interval of replicates that must not be interpolated, [n_boot].

    Its ends are replicates, the next ones outwards: whole budgets stay whole, and infinite ones
    infinite. Both ends are NaN without replicates.
    """
    samples = np.sort(samples)
    if not len(samples):
        return np.nan, np.nan
    low, high = (q * (len(samples) - 1) for q in _tails(_LEVEL))
    return float(samples[int(np.floor(low))]), float(samples[int(np.ceil(high))])


def t_interval(differences: ArrayLike, level: float = 0.95) -> Band:
    """The mean of differences, one for each seed, and its two-sided t-interval.

    mean +- t(level, seeds - 1) sd / sqrt(seeds). (Bootstrap percentiles of so few under-cover.)

    differences: [seeds]. The ends are NaN with fewer than `FEWEST_SEEDS` seeds; all is NaN if a
    difference is.
    """
    from scipy import stats  # slow to import, and only this function needs it

    values = numbers(differences, "differences")
    if values.ndim != 1:
        raise ValueError(f"differences have shape {values.shape}: expected one a seed, [seeds]")
    if not 0 < level < 1:
        raise ValueError(f"level = {level}: expected a share between 0 and 1, such as 0.95")
    mean = float(values.mean()) if len(values) else np.nan
    if len(values) < FEWEST_SEEDS:
        return Band(mean, np.nan, np.nan)
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values))
    return Band(mean, mean - half, mean + half)


def _tails(level) -> tuple[float, float]:
    tail = round((1 - level) / 2, 12)  # (1 - 0.95) / 2 is not 0.025 in floating point
    return tail, 1 - tail
