"""The gate in front of BFCL, whose executor and checker evaluate the text of calls.

Only the text of a single call of a tool on offer, with literal arguments, passes.
"""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Collection
from typing import Any

from lib.trajectories.schema import Tool, ToolCall

MAX_DEPTH = 32
"""Deeper arguments are refused; Python's own parser gives up near 100."""

_LIMITS = {
    ("power", "exponent"): 1_000,
    ("logarithm", "precision"): 1_000,
    ("square_root", "precision"): 1_000,
    ("round_number", "decimal_places"): 1_000,
}
"""Larger numbers make a call run for hours or take all memory; gold calls use far smaller ones."""


class RefusedCall(ValueError):
    """A call that may not reach BFCL; the message says why."""


def admit(call: ToolCall, names: Collection[str]) -> str:
    """The text that BFCL may evaluate for a call; raises RefusedCall if there is none.

    The text is written from names that are identifiers and from JSON values, and then parsed. It is
    refused unless its syntax tree is a single call of that name with the same literals.
    """
    if call.name not in names:
        raise RefusedCall(f"there is no tool {call.name[:80]!r}")
    for key, value in call.arguments.items():
        if not isinstance(key, str) or not key.isidentifier() or keyword.iskeyword(key):
            raise RefusedCall(f"{call.name} has no argument {str(key)[:80]!r}")
        _check_value(value, MAX_DEPTH)
        limit = _LIMITS.get((call.name, key))
        # Only a number passes: a tool may read the string "2_000_000" as a number.
        if limit and not (type(value) in (int, float) and abs(value) <= limit):
            raise RefusedCall(f"{key} of {call.name} must be a number of {limit} at most")
    arguments = ", ".join(f"{key}={_literal(value)}" for key, value in call.arguments.items())
    text = f"{call.name}({arguments})"
    if _read(text) != (call.name, call.arguments):
        raise RefusedCall(f"{call.name[:80]} is not one call with literal arguments")
    return text


def _check_value(value: Any, depth: int) -> None:
    """Raise RefusedCall unless ``value`` is plain JSON, of these very types."""
    if depth == 0:
        raise RefusedCall(f"arguments nest deeper than {MAX_DEPTH}")
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise RefusedCall(f"{key!r} is no key of a JSON object")
            _check_value(item, depth - 1)
    elif type(value) is list:
        for item in value:
            _check_value(item, depth - 1)
    elif value is not None and type(value) not in (str, int, float, bool):
        raise RefusedCall(f"a {type(value).__name__} is no JSON value")
    elif type(value) is float and not math.isfinite(value):
        raise RefusedCall(f"{value} is no JSON value")
    elif type(value) is int and abs(value) >= 10**300:
        raise RefusedCall("a number of more than 300 digits")


def _literal(value: Any) -> str:
    """Write a JSON value in Python.

    BFCL puts the name of an object before every tool's name that a bracket follows, also within
    strings; an escaped bracket protects the strings.
    """
    return repr(value).replace("(", r"\x28")


def _read(text: str) -> tuple[str, dict[str, Any]] | None:
    """The name and arguments of a text that is a single call, None for any other text."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            return None
        arguments = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None
    return call.func.id, arguments


def read_gold(text: str, parameters: dict[str, list[str]]) -> ToolCall:
    """Read a gold call; ``parameters`` of each tool name the arguments given by position."""
    call = ast.parse(text, mode="eval").body
    names = [*parameters[call.func.id][: len(call.args)], *(word.arg for word in call.keywords)]
    values = [*call.args, *(word.value for word in call.keywords)]
    pairs = zip(names, map(ast.literal_eval, values), strict=True)
    return ToolCall(call.func.id, dict(pairs))


_TYPES = {"dict": "object", "float": "number", "tuple": "array"}


def to_tool(raw: dict[str, Any]) -> Tool:
    """Convert a function description of BFCL, whose types are Python's, to a tool."""
    return Tool(raw["name"], raw["description"], _to_schema(raw["parameters"]))


def _to_schema(raw: dict[str, Any]) -> dict[str, Any]:
    schema = {key: value for key, value in raw.items() if key not in ("type", "optional")}
    if raw.get("type", "any") != "any":
        schema["type"] = _TYPES.get(raw["type"], raw["type"])
    if "items" in raw:
        schema["items"] = _to_schema(raw["items"])
    if "properties" in raw:
        schema["properties"] = {name: _to_schema(each) for name, each in raw["properties"].items()}
    return schema
