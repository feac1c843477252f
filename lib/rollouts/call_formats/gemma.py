"""The call syntax of Gemma 4 and FunctionGemma: `call:name{key:<|"|>text<|"|>,other:3}`."""

import re
from typing import Any

from lib.rollouts.call_formats.source import NAME, Found, Source
from lib.rollouts.lenient_json import MAX_DEPTH, to_number

_HEAD = re.compile(rf"call:\s*(?P<name>{NAME})\s*(?=\{{)")
_KEY = re.compile(r"\s*(?:<\|\"\|>|<escape>|[\"'])?([^\s:{}\[\],\"'<>|]{1,200}+)"
                  r"(?:<\|\"\|>|<escape>|[\"'])?\s*:\s*")  # fmt: skip
_QUOTES = ('<|"|>', "<escape>", '"')
# Where a server drops the quotes, a text in an object goes on to the next key.
_PLAIN = {
    dict: re.compile(r"(?:[^{}\[\]\n,]++|,(?!\s*+[\w.-]{1,200}+\s*+:))*+(?=[,}])"),
    list: re.compile(r"[^{}\[\],\n]*+(?=[,\]])"),
}
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "True": True}
_CONSTANTS |= {"False": False, "None": None}
_COMMA = re.compile(r"\s*,?\s*")


def gemma_calls(source: Source, at: int) -> Found | None:
    """Read `call:name{...}`."""
    head = _HEAD.match(source.text, at)
    if not head:
        return None
    arguments, end = _object(source, head.end())
    if arguments is None:
        return Found([], len(source.text))
    return Found([{"name": head["name"], "arguments": arguments}], end)


def _object(source: Source, at: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins at a place and its end; None if it cannot be read to its end."""
    text, effort = source.text, source.effort
    top: dict[str, Any] = {}
    open_: list[Any] = [top]
    at += 1
    while open_:
        effort.spend()
        if effort.steps <= 0:
            return None, at
        at = _COMMA.match(text, at).end()
        inner = open_[-1]
        if text.startswith("}" if isinstance(inner, dict) else "]", at):
            open_.pop()
            at += 1
            continue
        key = None
        if isinstance(inner, dict):
            match = _KEY.match(text, at)
            if not match:
                return None, at
            key, at = match[1], match.end()
        if text[at : at + 1] in ("{", "["):
            if len(open_) == MAX_DEPTH:
                return None, at
            value: Any = {} if text[at] == "{" else []
            at += 1
        else:
            read = _scalar(source, at, type(inner))
            if read is None:
                return None, at
            value, at = read
        if key is None:
            inner.append(value)
        else:
            inner[key] = value
        if isinstance(value, dict | list):
            open_.append(value)
    return top, at


def _scalar(source: Source, at: int, inside: type) -> tuple[Any, int] | None:
    text = source.text
    for quote in _QUOTES:
        if text.startswith(quote, at):
            end = text.find(quote, at + len(quote))
            source.effort.spend((end if end >= 0 else len(text)) - at)
            return (text[at + len(quote) : end], end + len(quote)) if end >= 0 else None
    limit = at + 16 * max(source.effort.steps, 0)
    plain = _PLAIN[inside].match(text, at, limit)
    source.effort.spend((plain.end() if plain else min(limit, len(text))) - at)
    if not plain:
        return None
    word = plain[0].strip()
    if word in _CONSTANTS:
        return _CONSTANTS[word], plain.end()
    number = to_number(word)
    return (word if number is None else number), plain.end()
