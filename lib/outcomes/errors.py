"""Errors and warnings about outcomes, and how they show values, lists and remedies."""

import reprlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80


class OutcomesError(ValueError):
    """Bad input: the message names the place, what was expected there, and what to do."""


class OutcomesWarning(UserWarning):
    """Input that could be read only in part, or may have been misunderstood."""


def warn(message: str) -> None:
    """Issue an OutcomesWarning."""
    warnings.warn(message, OutcomesWarning, stacklevel=4)


def shown(value: Any) -> str:
    """The repr of a value, shortened if it is long."""
    return _repr.repr(value.item() if isinstance(value, np.generic) else value)


def start_of(raw: bytes) -> str:
    """The repr of the first 60 bytes of a line or document, as text."""
    return repr(raw.strip()[:60].decode("utf-8", "backslashreplace"))


def cut(text: str) -> str:
    """The text, shortened to 80 characters."""
    return text if len(text) <= 80 else text[:77] + "..."


def first_few(names: Sequence[str]) -> str:
    """The first three names, and how many more there are.

    >>> first_few(["a.json", "b.json", "c.json", "d.json"])
    'a.json, b.json, c.json, and 1 more'
    """
    return ", ".join(names[:3]) + (f", and {len(names) - 3} more" if len(names) > 3 else "")


def count(n: int, noun: str) -> str:
    """A number with its noun in singular or plural.

    >>> count(1, "file"), count(2, "file")
    ('1 file', '2 files')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def option(name: str, value: Any) -> str:
    """A remedy: the argument to pass to a reader, in backticks.

    >>> option("scorer", "match"), option("threshold", 0.5)
    ('`scorer="match"`', '`threshold=0.5`')
    """
    written = f'"{value}"' if isinstance(value, str) else value
    return f"`{name}={written}`"
