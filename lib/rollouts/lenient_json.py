"""A forgiving JSON reader for text that a language model wrote.

It reads every valid JSON text as JSON does, and the usual near misses as they were meant: Python's
literals and quotes, curly quotes as delimiters, quotes and line breaks inside a string that were
not escaped, commas too many or too few, brackets too many or too few, bare words. It never
completes what was torn off: an object whose end is not there comes back as :class:`Torn`.

Why not json-repair 0.64: it takes 71 s over one megabyte of open braces, and it completes torn
values, so that half a file name would be acted on. This reader does not recurse, and it stops when
its :class:`Effort` is spent, so hostile text costs no more than long text does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

MAX_DEPTH = 64
"""Deeper nesting is not read: no call needs it, and recursive code downstream could not bear it."""

_CHARACTERS_A_STEP = 16


class Torn(dict):
    """An object of which only the start is there."""


@dataclass(slots=True)
class Effort:
    """What reading may still cost, in steps of about a microsecond, and the repairs it made.

    One step reads one token or 16 characters of a string. The default is several times what the
    longest reply of a policy (a few thousand tokens) needs.
    """

    steps: int = 16_000
    repairs: dict[str, None] = field(default_factory=dict)

    def spend(self, characters: int = 0) -> None:
        """Take one step, and those for the characters of a string."""
        self.steps -= 1 + characters // _CHARACTERS_A_STEP

    def note(self, repair: str) -> None:
        """Record a repair, once however often it was made."""
        self.repairs[repair] = None


class Reading(NamedTuple):
    """A value, where its text ends, and whether all of it was there and well formed enough."""

    value: Any
    end: int
    whole: bool


_SPACE = re.compile(r"\s*")
_COLON = re.compile(r"\s*:")
_BARE_KEY = re.compile(r"([A-Za-z_$][\w$.-]*+)\s*:")
_ATOM = re.compile(r"[\w.+/~-]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS = {"true": True, "false": False, "null": None}
_PYTHON_LITERALS = {"True": True, "False": False, "None": None}
_CLOSERS = {'"': '"', "'": "'", **dict.fromkeys("“”„", '“”"'), **dict.fromkeys("‘’", "‘’'")}

# A quote ends a string only if what follows it can follow a string in that place. In valid JSON
# the first unescaped quote always passes; in the rest, inner quotes that were not escaped do not.
# A fence at the start of a line ends the block, so a string that reaches one was never closed.
_AFTER_STRING = {
    "key": r"\s*:",
    "member": r"\s*(?:[}\]]|[,;]\s*(?:[\"'“”‘’}\]{]|[\w$.-]++\s*:)|```|[\"'][\w$.-]++[\"']\s*:)",
    "item": r"\s*(?:[}\]]|[,;]\s*(?:[\"'“”‘’}\]{\[]|[\w.+/~-]++\s*[,;}\]])|```)",
}


@cache
def _string_pattern(quote: str, place: str) -> re.Pattern[str]:
    end, after = _CLOSERS[quote], _AFTER_STRING[place]
    inside = rf"[^\\\n{end}]++|\\.|\n(?![ \t]*```)|[{end}](?!{after})"
    return re.compile(f"((?:{inside})*+)[{end}]", re.DOTALL)


class _Stuck(Exception):
    """Reading cannot go on; carries where the search for the next value should begin."""


def read_value(text: str, start: int, effort: Effort) -> Reading:
    """Read the object or array whose opening bracket is ``text[start]``.

    What cannot be read ends the value: ``whole`` is then False, the objects that were still open
    are :class:`Torn`, and ``end`` (always beyond ``start``) is where to look for the next value.
    """
    reader = _Reader(text, effort)
    reader.push(text[start])
    at = start + 1
    try:
        while reader.open:
            at = reader.step(at)
        return Reading(reader.value, at, True)
    except _Stuck as stuck:
        return Reading(reader.abandon(), max(stuck.args[0], start + 1), False)


class _Reader:
    """The stack of open containers; ``keys`` are the keys that wait for their values."""

    def __init__(self, text: str, effort: Effort):
        self.text, self.effort = text, effort
        self.open: list[Any] = []
        self.keys: list[str | None] = []
        self.after_value = False
        self.value: Any = None

    def push(self, bracket: str) -> None:
        self.open.append([] if bracket == "[" else {})
        self.keys.append(None)
        self.after_value = False

    def put(self, value: Any) -> None:
        """Add a finished value to the innermost open container, or finish if there is none."""
        if not self.open:
            self.value = value
        elif isinstance(self.open[-1], list):
            self.open[-1].append(value)
        else:
            self.open[-1][self.keys[-1]] = value
            self.keys[-1] = None
        self.after_value = True

    def pop(self) -> None:
        value = self.open.pop()
        self.keys.pop()
        self.put(value)

    def abandon(self) -> Any:
        """Close all that is open; what is unfinished in an object marks it as torn."""
        while self.open:
            if isinstance(self.open[-1], dict):
                self.open[-1] = Torn(self.open[-1])
            self.pop()
        return self.value

    def step(self, at: int) -> int:
        """Read one token at ``at`` and return where the next begins."""
        self.effort.spend()
        at = _SPACE.match(self.text, at).end()
        char = self.text[at : at + 1]
        if not char or self.effort.steps <= 0:
            raise _Stuck(at)
        waiting = self.keys[-1] is not None
        if char in "]}" and not waiting:
            return self.close(char, at)
        if char in ",;" and not waiting:
            if char == ";" or not self.after_value:
                self.effort.note("stray separator")
            self.after_value = False
            return at + 1
        if self.after_value:
            return self.go_on_without_comma(char, at)
        if isinstance(self.open[-1], dict) and not waiting:
            return self.read_key(char, at)
        return self.read_item(char, at)

    def close(self, bracket: str, at: int) -> int:
        kind = list if bracket == "]" else dict
        if not self.after_value and self.open[-1]:
            self.effort.note("trailing comma")
        if not any(isinstance(container, kind) for container in self.open):
            self.effort.note("surplus bracket")
            self.after_value = True
            return at + 1
        while not isinstance(self.open[-1], kind):
            self.effort.note("missing bracket")
            self.pop()
        self.pop()
        return at + 1

    def go_on_without_comma(self, char: str, at: int) -> int:
        if self.text.startswith("```", at):
            self.effort.note("missing bracket")
            while self.open:
                self.pop()
        elif char in _CLOSERS or char in "[{":
            self.effort.note("missing comma")
            self.after_value = False
        else:
            raise _Stuck(at)
        return at

    def read_key(self, char: str, at: int) -> int:
        if char in _CLOSERS:
            key, end = self.read_string(char, at, "key")
            end = _COLON.match(self.text, end).end()
        elif bare := _BARE_KEY.match(self.text, at):
            self.effort.note("bare word")
            key, end = bare[1], bare.end()
        elif char == "{" and len(self.open) > 1 and isinstance(self.open[-2], list):
            self.effort.note("missing bracket")
            self.pop()
            self.after_value = False
            return at
        else:
            raise _Stuck(at)
        self.keys[-1] = key
        return end

    def read_item(self, char: str, at: int) -> int:
        if char in "[{":
            if len(self.open) == MAX_DEPTH:
                self.effort.note(f"nesting deeper than {MAX_DEPTH} not read")
                raise _Stuck(at)
            self.push(char)
            return at + 1
        if char in _CLOSERS:
            place = "item" if isinstance(self.open[-1], list) else "member"
            value, end = self.read_string(char, at, place)
        elif atom := _ATOM.match(self.text, at):
            self.effort.spend(len(atom[0]))
            value, end = self.read_atom(atom[0]), atom.end()
        else:
            raise _Stuck(at)
        self.put(value)
        return end

    def read_string(self, quote: str, at: int, place: str) -> tuple[str, int]:
        limit = at + 1 + self.effort.steps * _CHARACTERS_A_STEP
        found = _string_pattern(quote, place).match(self.text, at + 1, limit)
        self.effort.spend((found.end() if found else min(limit, len(self.text))) - at)
        if not found:
            raise _Stuck(at + 1)
        if quote != '"':
            self.effort.note("quotes that JSON does not have")
        return self.unescape(found[1]), found.end()

    def unescape(self, body: str) -> str:
        plain = _ESCAPE.sub("", body) if "\\" in body else body
        if _FORBIDDEN.search(plain):
            self.effort.note("character inside a string that JSON escapes")
        if plain is body:
            return body
        text = _ESCAPE.sub(_unescape, body)
        # Joins the two halves of characters beyond 16 bits; a half alone could not be written.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def read_atom(self, atom: str) -> Any:
        if atom in _LITERALS:
            return _LITERALS[atom]
        if atom in _PYTHON_LITERALS:
            self.effort.note("Python literal")
            return _PYTHON_LITERALS[atom]
        number = to_number(atom)
        if number is None:
            self.effort.note("bare word")
            return atom
        return number


_FORBIDDEN = re.compile(r"[\x00-\x1f\"\\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"'\\/bfnrt]))")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescape(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return _ESCAPED.get(escape[2], escape[2])


def to_number(text: str) -> int | float | None:
    """Return the number that ``text`` writes in JSON's notation, None if none that is finite.

    More than 300 digits are refused as well: Python's conversions are quadratic, and limited.
    """
    number = _NUMBER.fullmatch(text) if len(text) <= 300 else None
    if not number:
        return None
    if number[1] or number[2]:
        value = float(text)
        return value if abs(value) != float("inf") else None
    return int(text)
