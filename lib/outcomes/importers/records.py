"""Records of a log as they are in its files: JSON, checked field by field."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, shown, start_of

NONE = type(None)

_LONGEST_NUMBER = 300
"""The most digits of a whole number that a float can hold."""


def json_lines(path: Path) -> Iterator[tuple[int, dict]]:
    """The objects of a file of JSON lines, packed by gzip or not, with their line numbers.

    Raises OutcomesError naming file and line for anything else, a torn last line included.
    """
    for number, raw in contents.lines(path):
        if not raw.isspace():
            yield number, parsed(raw, f"{path}, line {number}")


def placed_lines(path: Path) -> Iterator[tuple[str, dict]]:
    """As `json_lines`, with the place to name in errors instead of the number."""
    return ((f"{path}, line {number}", row) for number, row in json_lines(path))


def json_rows(path: Path) -> tuple[Iterable[tuple[int, Any]], str]:
    """The numbered values of a JSON list, or of JSON lines, and the noun for their numbers.

    The noun is "row" or "line".
    """
    if contents.starts_with(path, b"["):
        return enumerate(json_document(path), 1), "row"
    return json_lines(path), "line"


def json_document(path: Path) -> Any:
    """The object or list that a file holds as JSON. Raises OutcomesError for anything else."""
    return parsed(contents.document(path), str(path), kind=(dict, list))


def parsed(raw: bytes, place: str, kind=dict) -> Any:
    """JSON as Python values, NaN allowed. Raises OutcomesError naming the place otherwise."""
    try:
        text = raw.decode("utf-8-sig")
        value = _JSON.decode(text)
        if not isinstance(value, kind):
            raise ValueError(f"expected an object, got {type(value).__name__}")
    except (ValueError, RecursionError) as error:
        raise OutcomesError(
            f"{place}: expected JSON, got {start_of(raw)} ({error}). Correct or delete it, or "
            "fetch the file again if it was cut short."
        ) from error
    return value


def _whole(digits):
    """A whole number. One beyond all floats cannot be a score, a count or a setting."""
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


_JSON = json.JSONDecoder(object_pairs_hook=contents.json_object, parse_int=_whole)


def get(record: dict, name: str, kinds: tuple[type, ...], place: str) -> Any:
    """record[name]. Raises OutcomesError if it is absent or of another type.

    Types must match exactly: True is no int.
    """
    if name not in record:
        fields = ", ".join(map(repr, record)) or "none"
        raise OutcomesError(f"{place}: no {name!r}; the fields are {fields}.")
    value = record[name]
    if type(value) not in kinds:
        expected = " or ".join("null" if kind is NONE else kind.__name__ for kind in kinds)
        raise OutcomesError(f"{place}, {name!r}: expected {expected}, got {shown(value)}.")
    return value


def get_object(record: dict, name: str, place: str) -> dict:
    """The object record[name]; empty if it is null or absent."""
    return (get(record, name, (dict, NONE), place) if name in record else None) or {}


def as_object(value: Any, place: str) -> dict:
    """The value itself. Raises OutcomesError if it is no JSON object."""
    if not isinstance(value, dict):
        raise OutcomesError(f"{place}: expected an object, got {type(value).__name__}.")
    return value


class SameFields:
    """A check that all rows have the same fields: a field that only some have was renamed or lost.

    names: fields that all rows or none must have.  typed: fields that must also be of one type.
    """

    def __init__(self, *names: str, typed: Iterable[str] = ()):
        self._untyped, self._typed = names, tuple(typed)
        self._first, self._place = None, ""

    def check(self, record: dict, place: str) -> None:
        """Raises OutcomesError for a row that differs from the first one checked."""
        kinds = [name in record for name in self._untyped]
        kinds += [name in record and type(record[name]).__name__ for name in self._typed]
        if self._first is None:
            self._first, self._place = kinds, place
        elif kinds != self._first:
            trios = zip((*self._untyped, *self._typed), kinds, self._first, strict=True)
            name, kind, expected = next(trio for trio in trios if trio[1] != trio[2])
            words = {True: "there", False: "missing"}
            raise OutcomesError(
                f"{place}: {name!r} is {words.get(kind, kind)}, but in {self._place} it is "
                f"{words.get(expected, expected)}. Expected the same in all rows. Look for a "
                "renamed field, or for two logs in one file."
            )
