"""Numbers and intervals as text: the one place that decides how they are written."""

import numpy as np

from lib.metrics.bootstrap import Band
from lib.metrics.tax import MARGIN, Crossover


def number(value: float, digits: int = 3) -> str:
    """A number as text; a dash where it is undefined, and no minus before a zero.

    >>> number(0.12345), number(float("nan")), number(-0.0001)
    ('0.123', '-', '0.000')
    """
    if np.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def decimals(low: float, high: float, least: int, bound: float = 0.0) -> int:
    """How many decimals an interval needs so that no end off the bound looks as if it were on it.

    At least `least`. An end within 1e-12 of the bound lies on it, and NaN is no end.

    >>> decimals(0.0002, 0.019, 3), decimals(0.0, 0.019, 3), decimals(0.498, 0.6, 2, bound=0.5)
    (4, 3, 3)
    """
    digits = least
    for end in (low, high):
        while abs(end - bound) > MARGIN and round(end, digits) == round(bound, digits):
            digits += 1
    return digits


def with_interval(band: Band, digits: int = 3) -> str:
    """An estimate and its interval as text; a dash where the estimate is undefined.

    digits: decimals, or more where an end of the interval would look like zero and is not.

    >>> with_interval(Band(0.0732, 0.0464, 0.1)), with_interval(Band(0.01, 0.0002, 0.019))
    ('0.073 [0.046, 0.100]', '0.0100 [0.0002, 0.0190]')
    """
    if np.isnan(band.value):
        return "-"
    digits = decimals(band.low, band.high, digits)
    value, low, high = (number(part, digits) for part in band)
    return value if np.isnan(band.low) else f"{value} [{low}, {high}]"


def signed_with_interval(band: Band) -> str:
    """A difference and its interval with their signs; zero has none.

    Two decimals, or as many as it takes to tell each number from zero.

    >>> signed_with_interval(Band(0.05, -0.004, 0.1))
    '+0.050 [-0.004, +0.100]'
    """
    off_zero = [abs(end) for end in band if abs(end) > MARGIN]
    digits = next(n for n in range(2, 14) if all(round(end, n) > 0 for end in off_zero))
    value, low, high = (
        f"{end:+.{digits}f}" if abs(end) > MARGIN else f"{0:.{digits}f}" for end in band
    )
    return value if np.isnan(band.low) else f"{value} [{low}, {high}]"


def crossover_with_interval(crossover: Crossover) -> str:
    """k* and its interval as text; "none" where the base does not overtake within K.

    >>> crossover_with_interval(Crossover(3.0, 2.0, float("inf"), 0.9))
    '3 [2, none]'
    """
    value, low, high = (f"{k:.0f}" if np.isfinite(k) else "none" for k in crossover[:3])
    return value if np.isnan(crossover.low) else f"{value} [{low}, {high}]"


def side(low: float, high: float, bound: float = 0.0) -> int:
    """1 where an interval lies wholly above the bound, -1 where wholly below it, otherwise 0.

    An end within 1e-12 of the bound lies on it; an interval with NaN ends is on neither side.

    >>> side(0.1, 0.2), side(-0.2, -0.1), side(0.0, 0.1)
    (1, -1, 0)
    """
    return int(low > bound + MARGIN) - int(high < bound - MARGIN)
