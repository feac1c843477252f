"""Rank statistics: Spearman correlation, plain and partial, and AUROC."""

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from lib.metrics.validation import attempts, numbers, shapes_of


def spearman(x: ArrayLike, y: ArrayLike):
    """Spearman rank correlation of x and y along their first axis, with average ranks for ties.

    x, y: [points] or [points, columns]. Returns a number, or [columns]. NaN, with a warning, if x
    or y is constant or has an undefined value (NaN), or with fewer than three points.
    """
    return _correlation(*_ranks(x=x, y=y))


def partial_spearman(x: ArrayLike, y: ArrayLike, z: ArrayLike):
    """Spearman correlation of x and y without the linear effect of z's ranks on both.

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2)), where each r is a Spearman correlation.
    Shapes as in `spearman`. NaN, with a warning, if one of them is undefined, or if z alone
    determines the order of x or y.
    """
    x, y, z = _ranks(x=x, y=y, z=z)
    xy, xz, yz = _correlation(x, y), _correlation(x, z), _correlation(y, z)
    left = (1 - np.square(xz)) * (1 - np.square(yz))
    if np.any(left < 1e-12):
        warnings.warn(
            "partial Spearman is undefined: z alone determines a rank order", stacklevel=2
        )
    return (xy - xz * yz) / np.sqrt(np.where(left < 1e-12, np.nan, left))


def _ranks(**variables):
    arrays = {name: numbers(values, name) for name, values in variables.items()}
    if len({array.shape for array in arrays.values()}) > 1 or arrays["x"].ndim not in (1, 2):
        raise ValueError(
            f"{shapes_of(arrays)}: expected the same shape for each variable, [points] or "
            "[points, columns]"
        )
    return [rankdata(array, axis=0) for array in arrays.values()]


def _correlation(x, y):
    if not len(x):
        x = y = np.zeros((1, *x.shape[1:]))  # too few points, as for one, without an empty mean
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    spread = np.sqrt(np.sum(x * x, axis=0) * np.sum(y * y, axis=0))
    undefined = (spread == 0) | np.isnan(spread) | (len(x) < 3)
    if np.any(undefined):
        warnings.warn(
            "Spearman is undefined: fewer than three points, or a variable that is constant or has "
            "undefined values (NaN)",
            stacklevel=3,
        )
    return np.sum(x * y, axis=0) / np.where(undefined, np.nan, spread)


def auroc(scores: ArrayLike, passed: ArrayLike) -> float:
    """Area under the ROC curve of scores against success, [attempts] each.

    The chance that a random success scores above a random failure; ties count half. NaN, with a
    warning, if all outcomes are the same. Raises ValueError for a missing score or outcome.
    """
    from sklearn.metrics import roc_auc_score  # a second to import, and only this function needs it

    scores, passed = attempts(scores, passed)
    if passed.all() or not passed.any():
        warnings.warn("AUROC is undefined: all attempts have the same outcome", stacklevel=2)
        return np.nan
    return float(roc_auc_score(passed, rankdata(scores)))
