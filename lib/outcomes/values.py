"""Single values of a table of outcomes: what passes for a name, a count, an outcome, a text."""

import reprlib

import numpy as np
import pandas as pd

LARGEST = 2**53
"""Counts beyond this are no counts, and other readers' floats no longer tell them apart."""

_WORDS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "pass", "passed", "correct"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "fail", "failed", "incorrect"), False),
    **dict.fromkeys(("", "null", "none", "nan", "na", "n/a", "<na>"), pd.NA),
}
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80


def as_name(value) -> str | None:
    """The name of a task, pair, benchmark or arm that a value is; None for what is no name.

    Names are text, without blanks around it, and whole numbers.
    """
    if isinstance(value, str):
        name = value.strip()
        return name if name != "" and "\0" not in name and is_utf8(name) else None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return str(value) if whole else None


def as_whole(value) -> int | None:
    """The whole number that a value is, or spells (4, 4.0, "4"); None for any other value."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, str):
        try:
            value = int(value) if len(value) < 20 else None
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return None
    if isinstance(value, float | np.floating):
        value = int(value) if np.isfinite(value) and value == int(value) else None
    if not isinstance(value, int | np.integer) or abs(int(value)) > LARGEST:
        return None
    return int(value)


def as_passed(value):
    """True, False, or NA for missing; None for what is no outcome (a score, a word, a list)."""
    if value is None or value is pd.NA:
        return pd.NA
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    if isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        return pd.NA if value != value else {1: True, 0: False}.get(value)
    return None


def letters(values) -> dict[str, bool]:
    """What C and I, correct and incorrect, stand for where texts are those or blank; {} elsewhere.

    Beside other letters they might be options of a question.
    """
    meaning = {"C": True, "I": False}
    told = {value.strip() for value in values if isinstance(value, str)}
    blank = {one for one in told if as_passed(one) is pd.NA}
    return meaning if told - blank and told - blank <= set(meaning) else {}


def as_text(value) -> str | None:
    """A text that every format can hold; None for null and for empty text."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    return str(value).encode("utf-8", "replace").decode("utf-8") or None


def shown(value) -> str:
    """A value as error messages show it: long ones shortened."""
    return _short.repr(value.item() if isinstance(value, np.generic) else value)


def is_utf8(text: str) -> bool:
    """Whether it can be written as UTF-8: half of a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
