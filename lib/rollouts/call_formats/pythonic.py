"""Calls written as in Python, which are read and never evaluated."""

import re
from typing import Any

from lib.rollouts.call_formats.source import Found, RawCall, Source
from lib.rollouts.lenient_json import read_value, to_number

_HEAD = re.compile(r"([A-Za-z_][\w.:-]{0,199})\s*\(")
_KEY = re.compile(r"([A-Za-z_]\w{0,199})\s*=(?!=)\s*")
_ATOM = re.compile(r"[\w.+-]{1,300}")
_STRING = re.compile(r"[rRuUfF]{0,2}(\"\"\"|'''|\"|')")
_AFTER = r"(?=\s*(?:\)|,\s*(?:\)|\w+\s*=|['\"\[{]|[\w.+-]+\s*[,)])))"
_ENDS = {
    quote: re.compile(rf"((?:[^\\{quote[0]}]++|\\.|{quote[0]}(?!{more}{_AFTER}))*+){quote}", re.S)
    for quote, more in (('"', ""), ("'", ""), ('"""', '""'), ("'''", "''"))
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\n)|([\"'\\abfnrtv/]))")
_LETTERS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_CONSTANTS = {"true": True, "false": False, "none": None, "null": None}
_BETWEEN = re.compile(r"[\s,;]*")


class _Unreadable(Exception):
    """What is here is no call."""


def call_list(source: Source, at: int) -> Found | None:
    """Read `[name(key=value), ...]`."""
    if not source.text.startswith("[", at):
        return None
    found = call_run(source, source.skip(at + 1))
    if found is None or not found.calls:
        return found
    end = _BETWEEN.match(source.text, found.end).end()
    if not source.text.startswith("]", end):
        return Found([], len(source.text)) if end == len(source.text) else None
    return Found(found.calls, end + 1)


def call_run(source: Source, at: int) -> Found | None:
    """Read calls one after the other, between commas or on lines of their own."""
    calls: list[RawCall] = []
    end = None
    while source.effort.steps > 0 and _HEAD.match(source.text, at):
        try:
            call, end = _call(source, at)
        except _Unreadable:
            return Found([], len(source.text)) if calls else None
        calls.append(call)
        at = _BETWEEN.match(source.text, end).end()
    return None if end is None else Found(calls, end)


def _call(source: Source, at: int) -> tuple[RawCall, int]:
    head = _HEAD.match(source.text, at)
    source.effort.spend(head.end() - at)
    if head[1] == "print" and "print" not in source.known and _HEAD.match(source.text, head.end()):
        call, end = _call(source, head.end())  # no deeper: print itself is no tool
        end = source.skip(end)
        if call["name"] == "print" or not source.text.startswith(")", end):
            raise _Unreadable
        return call, end + 1
    name = source.name(head[1])
    tool = source.known.get(name)
    order = iter((tool.parameters.get("properties") or {}) if tool else ())
    arguments: dict[str, Any] = {}
    at = source.skip(head.end())
    while not source.text.startswith(")", at):
        if source.effort.steps <= 0:
            raise _Unreadable
        key = _KEY.match(source.text, at)
        word = key[1] if key else next(order, None)
        if word is None:
            raise _Unreadable
        arguments[word], at = _value(source, key.end() if key else at)
        at = source.skip(at)
        if source.text.startswith(",", at):
            at = source.skip(at + 1)
        elif not source.text.startswith(")", at):
            raise _Unreadable
    return {"name": name, "arguments": arguments}, at + 1


def _value(source: Source, at: int) -> tuple[Any, int]:
    source.effort.spend()
    if source.text[at : at + 1] in ("[", "{"):
        reading = read_value(source.text, at, source.effort)
        if not reading.whole:
            raise _Unreadable
        return reading.value, reading.end
    if quote := _STRING.match(source.text, at):
        limit = quote.end() + 16 * max(source.effort.steps, 0)
        body = _ENDS[quote[1]].match(source.text, quote.end(), limit)
        source.effort.spend((body.end() if body else min(limit, len(source.text))) - at)
        if not body:
            raise _Unreadable
        raw = "r" in quote[0].lower()
        text = body[1] if raw or "\\" not in body[1] else _ESCAPE.sub(_unescaped, body[1])
        # Joins surrogate pairs; half a pair could not be written, and is replaced.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), body.end()
    atom = _ATOM.match(source.text, at)
    if not atom:
        raise _Unreadable
    lower = atom[0].lower()
    if lower in _CONSTANTS:
        return _CONSTANTS[lower], atom.end()
    number = to_number(atom[0].removeprefix("+"))
    return (atom[0] if number is None else number), atom.end()


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1] or escape[2]:
        return chr(int(escape[1] or escape[2], 16))
    return "" if escape[3] else _LETTERS.get(escape[4], escape[4])
