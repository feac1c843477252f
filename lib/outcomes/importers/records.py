"""Records of a log as they are in its files: JSON, checked field by field."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lib.outcomes import OutcomesError, contents
from lib.outcomes.values import shown

_LONGEST_NUMBER = 300
"""Digits of a whole number that a float can still hold."""


def json_lines(path: Path) -> Iterator[tuple[int, dict]]:
    """The objects of a file of JSON lines (packed by gzip, too) with their line numbers.

    Raises OutcomesError naming file and line for anything else, a torn last line included.
    """
    for number, raw in contents.lines(path):
        if not raw.isspace():
            yield number, parsed(raw, f"{path}, line {number}")


def json_rows(path: Path) -> tuple[Iterable[tuple[int, Any]], str]:
    """The values of a file that is one JSON list, or the objects of JSON lines, and what to call
    their numbers: "row" or "line".
    """
    if contents.starts_with(path, b"["):
        return enumerate(json_document(path), 1), "row"
    return json_lines(path), "line"


def json_document(path: Path) -> Any:
    """The one JSON value that a file holds."""
    return parsed(contents.document(path), str(path), kind=(dict, list))


def parsed(raw: bytes, place: str, kind=dict) -> Any:
    """JSON as Python values, NaN allowed; OutcomesError naming the place for anything else."""
    try:
        text = raw.decode("utf-8-sig")
        value = _JSON.decode(text)
        if not isinstance(value, kind):
            raise ValueError(f"{type(value).__name__} where an object was expected")
    except (ValueError, RecursionError) as error:
        start = repr(raw.strip()[:60].decode("utf-8", "backslashreplace"))
        raise OutcomesError(
            f"{place}: expected JSON, got {start} ({error}). Mend or delete it, or fetch the file "
            "again if it was cut short."
        ) from error
    return value


def _whole(digits):
    """A whole number; one beyond all floats is no score, count or setting, and is refused."""
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


_JSON = json.JSONDecoder(object_pairs_hook=contents.json_object, parse_int=_whole)


def get(record: dict, name: str, kinds: tuple[type, ...], place: str, what: str = "") -> Any:
    """record[name], which must be there and of one of those very types (True is no int)."""
    if name not in record:
        have = ", ".join(map(repr, record)) or "nothing"
        raise OutcomesError(f"{place}: no {name!r}; it has {have}.")
    value = record[name]
    if type(value) not in kinds:
        expected = what or " or ".join("null" if k is NONE else k.__name__ for k in kinds)
        raise OutcomesError(f"{place}, {name!r}: got {shown(value)}, expected {expected}.")
    return value


NONE = type(None)


class Alike:
    """Rows that must be of one kind: each of some fields in all or in none, some of one type."""

    def __init__(self, *names: str, typed: Iterable[str] = ()):
        self.typed, self.names = tuple(typed), (*names, *typed)
        self._untyped = names
        self.first, self.place = None, ""

    def check(self, record: dict, place: str) -> None:
        """Raises OutcomesError where a row is unlike the first: a field was renamed or lost."""
        kinds = [name in record for name in self._untyped]
        kinds += [name in record and type(record[name]).__name__ for name in self.typed]
        if self.first is None:
            self.first, self.place = kinds, place
        elif kinds != self.first:
            trios = zip(self.names, kinds, self.first, strict=True)
            name, here, there = next(trio for trio in trios if trio[1] != trio[2])
            words = {True: "there", False: "missing"}
            raise OutcomesError(
                f"{place}: {name!r} is {words.get(here, here)}, and in {self.place} it is "
                f"{words.get(there, there)}; expected the same in all rows. Is a field renamed, or "
                "are these two logs in one file?"
            )
