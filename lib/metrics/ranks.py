"""Rank statistics: Spearman correlation, plain and partial, and AUROC."""

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman rank correlation of x and y, [points] each, average ranks for ties.

    NaN, with a warning, where one of them is constant or there are fewer than three points.
    """
    return _correlation(rankdata(x), rankdata(y))


def partial_spearman(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> float:
    """Spearman correlation of x and y with the linear effect of z's ranks taken out of both.

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2)), each r a Spearman correlation. x, y, z:
    [points]. NaN, with a warning, where undefined (x or y is a monotone function of z, too).
    """
    x, y, z = rankdata(x), rankdata(y), rankdata(z)
    xy, xz, yz = _correlation(x, y), _correlation(x, z), _correlation(y, z)
    left = (1 - xz**2) * (1 - yz**2)
    if not left > 1e-12:
        warnings.warn(
            "partial Spearman is undefined: z alone determines a rank order", stacklevel=2
        )
        return np.nan
    return float((xy - xz * yz) / np.sqrt(left))


def _correlation(x, y) -> float:
    if len(x) != len(y):
        raise ValueError(f"{len(x)} points against {len(y)}: both need one value a point.")
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        warnings.warn(
            "Spearman is undefined: fewer than three points, or a constant one", stacklevel=3
        )
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


def auroc(scores: ArrayLike, passed: ArrayLike) -> float:
    """Area under the ROC curve of scores against success, [attempts] each.

    The chance that a random success scores above a random failure, ties counting half. NaN, with a
    warning, where only one class is present.
    """
    from sklearn.metrics import roc_auc_score  # a second to import, and only this function needs it

    passed = np.asarray(passed, bool)
    if passed.all() or not passed.any():
        warnings.warn("AUROC is undefined: all attempts have the same outcome", stacklevel=2)
        return np.nan
    return float(roc_auc_score(passed, scores))
