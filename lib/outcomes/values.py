"""Single values of a table of outcomes: names, counts, outcomes and texts."""

import re

import numpy as np
import pandas as pd

LARGEST = 2**53
"""The largest count. Readers that use floats cannot tell larger whole numbers apart."""

_WORDS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "pass", "passed", "correct"), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "fail", "failed", "incorrect"), False),
    **dict.fromkeys(("", "null", "none", "nan", "na", "n/a", "<na>"), pd.NA),
}


_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
"""Characters that steer a terminal or a page: controls, odd line breaks, directions of text."""


def visible(text: str) -> str:
    r"""The text with its hidden characters written out: they cannot steer a terminal or a page.

    Tabs and line feeds stay.

    >>> print(visible("red: \x1b[31m"))
    red: \x1b[31m
    """
    return _HIDDEN.sub(lambda match: ascii(match[0])[1:-1], text)


def as_name(value) -> str | None:
    """A value as the name of a task, pair, benchmark or arm; None if it cannot be a name.

    Text, without the blanks around it, and whole numbers are names. Hidden characters are written
    out, see `visible`.
    """
    if isinstance(value, str):
        name = value.strip()
        return visible(name) if name != "" and "\0" not in name and is_utf8(name) else None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return str(value) if whole else None


def as_whole(value) -> int | None:
    """A value as a whole number (4, 4.0 or "4"); None for any other value."""
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
    """True, False, or NA for a missing outcome; None for other values, such as scores and lists."""
    if value is None or value is pd.NA:
        return pd.NA
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    if isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        return pd.NA if value != value else {1: True, 0: False}.get(value)
    return None


def letters(values) -> dict[str, bool]:
    """The outcomes of the letters C (correct) and I (incorrect), if all texts are C, I or blank.

    Otherwise {}, since beside other letters they may be the options of a question.
    """
    meaning = {"C": True, "I": False}
    texts = {value.strip() for value in values if isinstance(value, str)}
    texts -= {text for text in texts if as_passed(text) is pd.NA}
    return meaning if texts and texts <= set(meaning) else {}


def as_text(value) -> str | None:
    """A value as text that every file format and page can hold; None for null and empty text."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    return visible(str(value).encode("utf-8", "replace").decode("utf-8")) or None


def is_utf8(text: str) -> bool:
    """Whether text can be encoded as UTF-8. Half of a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
