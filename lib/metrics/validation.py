"""Checks of the metrics' arguments; a ValueError names the argument and its value."""

import reprlib

import numpy as np
from numpy.typing import ArrayLike, NDArray


def numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Values as floats, in their shape; None becomes NaN. Raises ValueError for text."""
    try:
        array = np.asarray(values)
        text = array.dtype.kind == "O" and any(isinstance(value, str) for value in array.flat)
        if array.dtype.kind in "biufO" and not text:
            return array.astype(float)
    except (TypeError, ValueError):  # rows of unequal length, or values such as dates
        pass
    raise ValueError(f"{what}: expected numbers, got {reprlib.repr(_plain(values))}")


def whole_numbers(values: ArrayLike, what: str) -> NDArray[np.int64]:
    """Values as whole numbers, in their shape. Raises ValueError for masked and other values."""
    if np.ma.is_masked(values):
        raise ValueError(f"{what}: some are masked; leave those tasks out first.")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what}: expected whole numbers, got {reprlib.repr(values)}") from error
    bad = np.ones(array.shape, bool)
    if array.dtype.kind in "iufb":
        bad = ~(np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2.0**53))
    if bad.any():
        got = ", ".join(str(v)[:40] for v in array[bad].ravel()[:3].tolist())
        raise ValueError(
            f"{what} must be whole numbers (counts, not rates) below 2**53, got {got}."
        )
    return array.astype(np.int64)


def one_number(value, what: str) -> int:
    """The value as a whole number of at least 1."""
    number = whole_numbers(value, what)
    if number.ndim or number < 1:
        raise ValueError(f"{what} = {_plain(value)}: expected one whole number, at least 1.")
    return int(number)


def together(**arrays: NDArray) -> list[NDArray]:
    """The arrays, broadcast to one shape."""
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError as error:
        raise ValueError(
            f"{shapes_of(arrays)}: expected as many in each, or a single number"
        ) from error


def one_each(of: str, **columns: NDArray) -> None:
    """Raise ValueError unless all columns are one-dimensional and of one length, [of]."""
    if len({column.shape for column in columns.values()}) > 1 or any(
        column.ndim != 1 for column in columns.values()
    ):
        raise ValueError(f"{shapes_of(columns)}: expected one for each of the {of}, [{of}]")


def labels(values: ArrayLike, what: str, count: int, of: str = "attempts"):
    """The distinct labels in ascending order, and the number of the label of each item, [count]."""
    array = np.asarray(values)
    if array.shape != (count,):
        raise ValueError(f"{what} {array.shape} of {count} {of}: expected one for each")
    missing = array.dtype.kind == "f" and np.isnan(array).any()
    try:
        if not missing:
            return np.unique(array, return_inverse=True)
    except TypeError:  # None, or text beside numbers
        pass
    raise ValueError(
        f"{what}: expected all text or all numbers and none missing, got "
        f"{reprlib.repr(array.tolist())}"
    )


def attempts(scores: ArrayLike, passed: ArrayLike) -> tuple[NDArray, NDArray]:
    """Scores and outcomes as floats, [attempts] each. Raises ValueError if one is missing."""
    scores, passed = numbers(scores, "scores"), _outcomes(passed)
    one_each("attempts", scores=scores, passed=passed)
    if np.isnan(scores).any():
        raise ValueError(
            f"{np.isnan(scores).sum()} of {len(scores)} attempts have no score (NaN) and cannot be "
            "ranked: leave them out, and report how many"
        )
    return scores, passed


def _outcomes(passed) -> NDArray[np.float64]:
    try:
        outcomes = numbers(passed, "passed")
    except ValueError:
        outcomes = np.array(np.nan)
    if not np.isin(outcomes, (0, 1)).all():
        raise ValueError(
            f"passed = {reprlib.repr(_plain(passed))}: expected true or false; leave attempts with "
            "a missing outcome out."
        )
    return outcomes


def _plain(values):
    return values.tolist() if isinstance(values, np.ndarray | np.generic) else values


def shapes_of(arrays) -> str:
    """Names and shapes of arrays, for messages."""
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
