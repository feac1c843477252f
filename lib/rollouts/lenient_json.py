"""A lenient JSON reader for text that a language model wrote.

It reads valid JSON as any JSON reader does. It also reads frequent mistakes as they were meant:
Python's literals and quotes, curly quotes, quotes and line breaks that are not escaped in a string,
commas or brackets too many or too few, words without quotes. It never completes a value: an object
whose end is missing is returned as :class:`Torn`.

The library json-repair (0.64) does not serve here: it takes 71 s for a megabyte of open braces, and
it completes torn values, so that an agent would act on half a file name. This reader does not
recurse, and it stops when its :class:`Effort` is spent: hostile text costs no more than long text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

MAX_DEPTH = 64
"""Deeper nesting is not read: no call needs it, and it would overflow recursive code elsewhere."""

_CHARACTERS_A_STEP = 16


class Torn(dict):
    """An object whose end is missing."""


@dataclass(slots=True)
class Effort:
    """How much work reading may still take, and the repairs made so far.

    steps: of about a microsecond each. A step reads a token, or 16 characters of a string. The
        default is several times what the longest reply of a policy, a few thousand tokens, needs.
    """

    steps: int = 16_000
    repairs: dict[str, None] = field(default_factory=dict)

    def spend(self, characters: int = 0) -> None:
        """Spend a step, and more for the characters of a string."""
        self.steps -= 1 + characters // _CHARACTERS_A_STEP

    def note(self, repair: str) -> None:
        """Record a repair; a repeated repair is recorded once."""
        self.repairs[repair] = None


class Reading(NamedTuple):
    """A value, where it ends in the text, and whether it could be read to its end."""

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

# A quote ends a string only if it is followed by what may follow a string in that place. In valid
# JSON this holds for the first quote that is not escaped. In other text it does not hold for quotes
# inside the string that should have been escaped.
# A fence at the start of a line ends the block, so a string never goes on past it.
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


@cache
def _triple_pattern(quote: str, place: str) -> re.Pattern[str]:
    after = rf"{quote * 2}(?={_AFTER_STRING[place]})"
    inside = rf"[^\\\n{quote}]++|\\.|\n(?![ \t]*```)|{quote}(?!{after})"
    return re.compile(f"((?:{inside})*+){quote * 3}", re.DOTALL)


class _Stuck(Exception):
    """Reading cannot go on. The argument is where to look for the next value."""


def read_value(text: str, start: int, effort: Effort) -> Reading:
    """Read the object or array whose opening bracket is ``text[start]``.

    If reading gets stuck, ``whole`` is False, the objects that are still open become :class:`Torn`,
    and ``end``, which is always beyond ``start``, is where to look for the next value.
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
    """A stack of open containers; ``keys`` holds, for each, the key that waits for its value."""

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
        """Add a finished value to the innermost open container; without one, it is the result."""
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
        """Close all open containers, and mark the objects among them as torn."""
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
        if quote in "\"'" and place != "key" and self.text.startswith(quote * 3, at):
            triple = _triple_pattern(quote, place).match(self.text, at + 3, limit)
            self.effort.spend((triple.end() if triple else min(limit, len(self.text))) - at)
            if triple:
                self.effort.note("quotes that JSON does not have")
                return self.unescape(triple[1]), triple.end()
        match = _string_pattern(quote, place).match(self.text, at + 1, limit)
        self.effort.spend((match.end() if match else min(limit, len(self.text))) - at)
        if not match:
            raise _Stuck(at + 1)
        if quote != '"':
            self.effort.note("quotes that JSON does not have")
        return self.unescape(match[1]), match.end()

    def unescape(self, body: str) -> str:
        plain = _ESCAPE.sub("", body) if "\\" in body else body
        if _FORBIDDEN.search(plain):
            self.effort.note("character inside a string that JSON escapes")
        if plain is body:
            return body
        text = _ESCAPE.sub(_unescape, body)
        # Joins surrogate pairs; half a pair could not be written, and is replaced.
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
    """Return the finite number that ``text`` is in JSON's notation, None if it is none.

    Numbers of more than 300 characters are not read: Python limits how many digits it converts, and
    takes time quadratic in their number.
    """
    number = _NUMBER.fullmatch(text) if len(text) <= 300 else None
    if not number:
        return None
    if number[1] or number[2]:
        value = float(text)
        return value if abs(value) != float("inf") else None
    return int(text)
