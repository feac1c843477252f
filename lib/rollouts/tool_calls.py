"""Read tool calls from a policy's text, by three parsers: robust, the paper's, and exact.

A model's text is data. Only the JSON readers of the standard library and of
:mod:`lib.rollouts.lenient_json` read it; it is never evaluated. No text makes a parser raise an
error or run for long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from lib.rollouts.lenient_json import MAX_DEPTH, Effort, Torn, read_value, to_number
from lib.trajectories.schema import Tool, ToolCall

Parser = Literal["native", "robust", "paper", "exact"]
PARSERS: tuple[Parser, ...] = ("native", "robust", "paper", "exact")

_LONGEST = 200_000
"""The paper's and the exact parser read so many characters, far more than a reply has."""


class Parsed(NamedTuple):
    """The calls in a text, in order, and the repairs that were made to read them."""

    calls: tuple[ToolCall, ...]
    repairs: tuple[str, ...]


def parse_tool_calls(text: str, tools: Sequence[Tool], parser: Parser = "robust") -> Parsed:
    """Read the tool calls that a policy wrote; a text without calls is a final answer.

    Parameters
    ----------
    text : str
        A completion. Its closing fence may be missing, since it may be the stop string.
    tools : sequence of Tool
        Calls of other tools are dropped. The schemas tell which strings to cast.
    parser : {"native", "robust", "paper", "exact"}
        - native reads the formats of :mod:`lib.rollouts.call_formats`; where none of them shows,
          it reads as robust does. It is for replies of post-trained models in their own chat
          template.
        - robust reads what the policy meant. It looks into all blocks labelled tool_call; if they
          hold no call, into all other fenced blocks; if these hold none, at the first run of JSON
          in the text. It reads JSON by :func:`.lenient_json.read_value`, and casts strings to the
          types of the schema at every depth. It drops calls of which only the start is there.
        - paper is as lenient as METHODS section 2. It reads the fenced blocks, or else the first
          balanced JSON value. It repairs a block as a whole, in few ways, and casts strings to the
          scalar types of the schema at the top level only.
        - exact repairs nothing. A single block labelled tool_call, or the whole text, must be valid
          JSON: an object, or an array of objects, with a known "name", "arguments" and no more.

    Returns
    -------
    Parsed
        ``(calls, repairs)``.

    Raises
    ------
    ValueError
        For an unknown parser.
    """
    known = {tool.name: tool for tool in tools}
    if parser == "robust":
        return _parse_robust(text, known)
    if parser == "paper":
        return _parse_paper(text, known)
    if parser == "exact":
        return _parse_exact(text, known)
    if parser == "native":
        from lib.rollouts.call_formats.replies import read_native  # which reads by this module

        return Parsed(*read_native(text, tools))
    listed = ", ".join(map(repr, PARSERS))
    raise ValueError(f"parser must be one of {listed}, got {parser!r}")


# ------------------------------------------------------------------------------------ robust

# Each alternative begins with a literal character, which makes the search much faster.
_MARK = re.compile(r"```[`]*+[ \t]*+([\w+-]*+)|\[|\{")
_TOOL_BLOCK = re.compile(r"```[ \t]*+tool")
_FENCE_LINE = re.compile(r"\n[ \t]*+```")
_BETWEEN_VALUES = re.compile(r"(?:[\s,;]|</?tool_calls?>)*+")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "kwargs", "input")
_COST_OF_A_START = 32  # in characters of a string: three steps
_WRAPPERS = ("function", "tool_call", "tool_calls", "function_call", "calls")


class Value(NamedTuple):
    """A JSON value in a text that holds calls; `label` is its block's, None outside blocks."""

    label: str | None
    start: int
    end: int
    calls: list[dict[str, Any]]
    repairs: dict[str, None]


def _parse_robust(text: str, known: dict[str, Tool]) -> Parsed:
    effort = Effort()
    values = robust_values(text, effort)
    effort.repairs = {repair: None for value in values for repair in value.repairs}
    calls = [finish_call(raw, known, effort) for value in values for raw in value.calls]
    if effort.steps <= 0:
        effort.note("text too long to read to its end")
    return Parsed(tuple(call for call in calls if call), tuple(effort.repairs))


def robust_values(text: str, effort: Effort) -> list[Value]:
    """Find the values that hold calls: in labelled blocks, else in others, else outside blocks."""
    return _labelled(text, effort) or _fenced(text, effort) or _bare(text, effort)


def _labelled(text: str, effort: Effort) -> list[Value]:
    """Find calls in all blocks labelled tool_call; the text before the first block is not read."""
    first = _TOOL_BLOCK.search(text)
    values = _values(text, first.start(), effort) if first else ()
    return [value for value in values if value.label and value.label.startswith("tool")]


def _fenced(text: str, effort: Effort) -> list[Value]:
    """Find calls in all fenced blocks; the text before the first block is not read."""
    first = text.find("```")
    values = _values(text, first, effort) if first >= 0 else ()
    return [value for value in values if value.label is not None]


def _bare(text: str, effort: Effort) -> list[Value]:
    """Find the first run of values outside blocks that hold calls."""
    run: list[Value] = []
    for value in _values(text, 0, effort):
        if value.label is None:
            if run and not _BETWEEN_VALUES.fullmatch(text, run[-1].end, value.start):
                break
            run.append(value)
    return run


def _values(text: str, at: int, effort: Effort) -> Iterator[Value]:
    """Yield the values from ``at`` on that hold an object in the shape of a call."""
    label = None
    while effort.steps > 0 and (mark := _MARK.search(text, at)):
        effort.spend(_COST_OF_A_START)
        if mark[1] is not None:
            label = None if label is not None and not mark[1] else mark[1]
            at = mark.end()
            continue
        effort.repairs = {}
        reading = read_value(text, mark.start(), effort)
        calls = list(call_objects(reading.value))
        if calls:
            yield Value(label, mark.start(), reading.end, calls, effort.repairs)
        if reading.whole:
            at = reading.end
        elif calls:
            # What follows may be inside a string that is torn: no call may be read from it.
            fence = _FENCE_LINE.search(text, reading.end)
            at = fence.start() if fence else len(text)
        else:
            at = mark.end()


def call_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in the shape of a call, also from lists and the usual wrappers."""
    if isinstance(value, list):
        for item in value:
            yield from call_objects(item)
    elif isinstance(value, dict):
        if _name(value) is not None:
            yield value
            return
        inside = value if isinstance(value, Torn) else [key for key in _WRAPPERS if key in value]
        for key in inside:
            yield from call_objects(value[key])


def _name(value: dict[str, Any]) -> str | None:
    """Return the tool's name in an object in the shape of a call, None for other objects."""
    name = value.get("name", value.get("function"))
    has_arguments = any(key in value for key in _ARGUMENTS)
    if isinstance(value, Torn) and (has_arguments or "name" in value):
        return str(name)
    if isinstance(name, str) and (has_arguments or set(value) <= {"name", "type", "id"}):
        return name
    return None


def finish_call(raw: dict[str, Any], known: dict[str, Tool], effort: Effort) -> ToolCall | None:
    """Turn an object in the shape of a call into a call; None, with a note, if it is dropped."""
    key = next((key for key in _ARGUMENTS if key in raw), None)
    arguments = raw.get(key, {})
    if isinstance(raw, Torn) and (key is None or isinstance(arguments, Torn)):
        effort.note("torn call dropped")
        return None
    name = _name(raw)
    if name not in known:
        effort.note(f"unknown tool {name[:40]!r} dropped")
        return None
    if isinstance(raw, Torn):
        effort.note("missing bracket")
    if key != "arguments":
        effort.note(f"{key} for arguments" if key else "no arguments")
    if isinstance(arguments, str) and arguments.strip():
        effort.note("arguments as a string")
        arguments = _read_whole(arguments, dict, effort)
    elif not arguments and not isinstance(arguments, dict):
        effort.note("empty arguments")
        arguments = {}
    properties = _properties(known[name].parameters)
    if not isinstance(arguments, dict):
        effort.note("arguments that are no object: call dropped")
        return None
    if key == "parameters" and "properties" in arguments and "properties" not in properties:
        effort.note("echo of a tool's definition dropped")
        return None
    return ToolCall(name, _cast_members(arguments, properties, effort))


def _read_whole(text: str, kind: type, effort: Effort) -> Any:
    """Read all of ``text`` as a JSON value of type ``kind``; None if it is anything else."""
    text = text.strip()
    if not text.startswith("{" if kind is dict else "["):
        return None
    reading = read_value(text, 0, effort)
    whole = reading.whole and reading.end == len(text) and isinstance(reading.value, kind)
    return reading.value if whole else None


# ------------------------------------------------------------------------------------- casts


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _types(schema: Any) -> tuple[str, ...]:
    """Return the JSON types that a schema names."""
    types = schema.get("type", ()) if isinstance(schema, dict) else ()
    types = (types,) if isinstance(types, str) else types
    return tuple(kind for kind in types if isinstance(kind, str))


def effective_types(schema: Any) -> tuple[str, ...]:
    """Return the JSON types that a schema names, also in anyOf and oneOf."""
    types = list(_types(schema))
    for name in ("anyOf", "oneOf"):
        choices = schema.get(name) if isinstance(schema, dict) else None
        for choice in choices if isinstance(choices, list) else ():
            types += _types(choice)
    if isinstance(schema, dict) and schema.get("nullable") is True:
        types.append("null")
    return tuple(types)


def cast_arguments(arguments: dict[str, Any], tool: Tool, effort: Effort) -> dict[str, Any]:
    """Cast strings to the types of a tool's schema, at every depth."""
    return _cast_members(arguments, _properties(tool.parameters), effort)


def _cast_members(arguments: dict, properties: dict[str, Any], effort: Effort) -> dict:
    return {key: _cast(value, properties.get(key), effort, key) for key, value in arguments.items()}


def _cast(value: Any, schema: Any, effort: Effort, name: str) -> Any:
    """Cast strings to the types of the schema, also inside lists and objects."""
    if isinstance(value, dict):
        return _cast_members(value, _properties(schema), effort)
    if isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        return [_cast(item, items, effort, name) for item in value]
    if not isinstance(value, str) or "string" in _types(schema):
        return value
    for kind in _types(schema):
        cast = _cast_scalar(value, kind)
        if cast is None and kind in ("array", "object"):
            cast = _read_whole(value, list if kind == "array" else dict, effort)
            cast = cast if cast is None else _cast(cast, schema, effort, name)
        if cast is not None:
            effort.note(f"{name[:40]} cast to {kind}")
            return cast
    return value


def _cast_scalar(text: str, kind: str) -> int | float | bool | None:
    """Return the integer, number or boolean that a string stands for, None if there is none."""
    text = text.strip()
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    number = to_number(text.removeprefix("+")) if kind in ("integer", "number") else None
    return None if kind == "integer" and isinstance(number, float) else number


# ------------------------------------------------------------------------------------- paper

_PAPER_BLOCK = re.compile(r"```(?:tool_call|json)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_PAPER_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<close>"?)|[\[\]{}]', re.DOTALL)
_PAPER_OPEN_STRINGS = 32
_PAPER_REPAIRS = (
    ("curly quotes", re.compile("[“”]"), '"'),
    ("trailing comma", re.compile(r",(?=\s*[}\]])"), ""),
    ("Python literal", re.compile(r"\bTrue\b"), "true"),
    ("Python literal", re.compile(r"\bFalse\b"), "false"),
    ("Python literal", re.compile(r"\bNone\b"), "null"),
)


def _parse_paper(text: str, known: dict[str, Tool]) -> Parsed:
    repairs: dict[str, None] = {}
    text = text[:_LONGEST]
    blocks = [block[1] for block in islice(_PAPER_BLOCK.finditer(text), 64)]
    values = [_load_repaired(block, repairs) for block in blocks or [_first_balanced(text)]]
    calls = []
    for raw in chain(*(value if isinstance(value, list) else [value] for value in values)):
        if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
            continue
        name, arguments = raw["name"], raw.get("arguments")
        if name not in known:
            repairs[f"unknown tool {name[:40]!r} dropped"] = None
        elif isinstance(arguments, dict):
            calls.append(ToolCall(name, _cast_top(arguments, known[name], repairs)))
    return Parsed(tuple(calls), tuple(repairs))


def _first_balanced(text: str) -> str:
    """Return the first part of a text from a bracket to the one that closes it, or nothing."""
    depth, start, at, unclosed = 0, 0, 0, 0
    for _ in range(20_000):
        token = _PAPER_TOKEN.search(text, at)
        if not token or unclosed > _PAPER_OPEN_STRINGS:  # each of them took all of the text
            break
        at = token.end()
        if token["close"] == "":
            at, unclosed = token.start() + 1, unclosed + 1
        elif token[0] in "[{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] in "]}" and depth:
            depth -= 1
            if depth == 0:
                return text[start : token.end()]
    return ""


def _load_repaired(block: str, repairs: dict[str, None]) -> Any:
    """Load a block, with repairs of its whole text if needed; None if they do not help."""
    value = load_json(block)
    for name, pattern, replacement in _PAPER_REPAIRS:
        if value is not None:
            break
        block, count = pattern.subn(replacement, block)
        if count:
            repairs[name] = None
            value = load_json(block)
    if value is None and '"' not in block and "'" in block:
        repairs["single quotes"] = None
        value = load_json(block.replace("'", '"'))
    return value


def _cast_top(arguments: dict, tool: Tool, repairs: dict[str, None]) -> dict[str, Any]:
    properties = _properties(tool.parameters)
    cast = dict(arguments)
    for key, value in arguments.items():
        for kind in _types(properties.get(key)) if isinstance(value, str) else ():
            scalar = _cast_scalar(value, kind)
            if scalar is not None:
                cast[key] = scalar
                repairs[f"{key[:40]} cast to {kind}"] = None
                break
    return cast


# ------------------------------------------------------------------------------------- exact

_EXACT_BLOCK = re.compile(r"```tool_call[ \t]*\n(.*?)(?:\n```[ \t]*(?:\n|\Z)|\Z)", re.DOTALL)


def _parse_exact(text: str, known: dict[str, Tool]) -> Parsed:
    text = text[:_LONGEST]
    block = _EXACT_BLOCK.search(text)
    value = load_json(block[1] if block else text)
    objects = value if isinstance(value, list) else [value]
    for raw in objects:
        if (
            not isinstance(raw, dict)
            or set(raw) != {"name", "arguments"}
            or not isinstance(raw["name"], str)
            or raw["name"] not in known
            or not isinstance(raw["arguments"], dict)
        ):
            return Parsed((), ())
    return Parsed(tuple(ToolCall(raw["name"], raw["arguments"]) for raw in objects), ())


def load_json(text: str) -> Any:
    """Load JSON; None if it is invalid, nests too deep, or holds what could not be written."""
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_finite)
        json.dumps(value, ensure_ascii=False).encode()  # fails for half a surrogate pair
    except (ValueError, RecursionError):
        return None
    return value if _depth(value) <= MAX_DEPTH else None


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise ValueError(f"{text} is not finite")
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return depth
