"""Differences over seeds, where a seed, not a task, is what was repeated."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lib.metrics.bootstrap import Band
from lib.metrics.validation import numbers

FEWEST_SEEDS = 3
"""With fewer seeds a t-interval says next to nothing, and none is given."""


def t_interval(differences: ArrayLike, level: float = 0.95) -> Band:
    """Mean of per-seed differences, [seeds], and its t-interval.

    mean +- t(level, seeds - 1) sd / sqrt(seeds), two-sided. A bootstrap's percentiles of so few
    under-cover. The ends are NaN with fewer than FEWEST_SEEDS seeds, all is if a difference is.
    """
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
