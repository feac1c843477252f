"""The text of a reply as readers of call formats see it, and how the body of a call is read."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from lib.rollouts.lenient_json import Effort, Torn, read_value
from lib.rollouts.tool_calls import call_objects, effective_types, load_json
from lib.trajectories.schema import Tool

RawCall = dict[str, Any]
"""A call as it was written: {"name", "arguments"}, its name and its values not yet checked."""


class Found(NamedTuple):
    """The calls of a piece of text, and where it ends.

    No calls where the piece is of a call, but its end or its sense is missing.
    """

    calls: list[RawCall]
    end: int


class Source(NamedTuple):
    """A text to read, the tools that it may call, and how much work that may take."""

    text: str
    known: dict[str, Tool]
    effort: Effort

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """Search from `at` on, at the cost of the characters passed."""
        if self.effort.steps <= 0:
            return None
        match = pattern.search(self.text, at, at + 16 * self.effort.steps)
        self.effort.spend((match.end() if match else len(self.text)) - at)
        return match

    def skip(self, at: int) -> int:
        """The place of the next character that is no space."""
        end = _SPACE.match(self.text, at).end()
        self.effort.spend(end - at)
        return end

    def name(self, written: str) -> str:
        """The tool that a name stands for; models write some with a namespace or a number."""
        name = written.strip()
        for shorter in (name, _NUMBER.sub("", name), name.removesuffix(".call")):
            for known in (shorter, _NAMESPACE.sub("", shorter)):
                if known in self.known:
                    return known
        return name

    def typed(self, name: str, key: str, text: str) -> Any:
        """The value that a text without quotes stands for, by the schema of the parameter."""
        tool = self.known.get(name)
        properties = tool.parameters.get("properties") if tool else None
        schema = properties.get(key) if isinstance(properties, dict) else None
        types = effective_types(schema)
        if "string" in types:
            return text
        plain = text.strip()
        if plain in ("null", "None") and (not types or "null" in types):
            return None
        if plain in ("True", "False") and (not types or "boolean" in types):
            return plain == "True"
        value = load_json(plain)
        if value is None and plain[:1] in ("[", "{"):
            reading = read_value(plain, 0, self.effort)
            value = reading.value if reading.whole and reading.end == len(plain) else None
        return text if value is None or isinstance(value, str) else value


Reader = Callable[[Source, re.Match[str]], Found | None]
"""Reads what a marker opens; None if it opens no call."""

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r":\d{1,6}$")
_NAMESPACE = re.compile(r"^(?:(?:functions?|tools?|default_api|api)[.:/]|function(?=[A-Za-z_]))")


def json_calls(source: Source, at: int) -> Found | None:
    """Read a run of JSON values, each an object in the shape of a call or a list of them."""
    calls: list[RawCall] = []
    end = None
    while source.effort.steps > 0 and source.text[at : at + 1] in ("{", "["):
        reading = read_value(source.text, at, source.effort)
        if not reading.whole:
            return Found(calls, len(source.text))
        objects = list(_objects(reading.value, source.known))
        if not objects:
            break
        calls += objects
        end = reading.end
        at = _BETWEEN.match(source.text, end).end()
    return None if end is None else Found(calls, end)


_BETWEEN = re.compile(r"[\s,;]*")


def _objects(value: Any, known: dict[str, Tool]) -> Iterator[RawCall]:
    """Objects in the shape of a call, also under names that a few models use."""
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, dict) or isinstance(item, Torn):
            continue
        named = next((item[key] for key in _NAMES if isinstance(item.get(key), str)), None)
        (key, only), *more = item.items() or [(None, None)]
        if named is not None:
            parts = {key: part for key, part in item.items() if key not in _NAMES}
            yield {**parts, "name": named}
        elif key in known and not more and isinstance(only, dict):
            yield {"name": key, "arguments": only}
        else:
            yield from call_objects(item)


_NAMES = ("tool_name", "recipient_name")

NAME = r"[A-Za-z_][\w.:/-]{0,199}"
_SEPARATORS = (
    r"\[CALL_ID\]\w{1,40}|\[ARGS\]|<｜tool▁sep｜>|<\|tool_call_argument_begin\|>"
    r"|<\|tool_sep\|>|<\|content\|>|<\|message\|>"
)
_NAMED = re.compile(
    rf"(?:functions?<｜tool▁sep｜>)?(?P<name>{NAME}+)\s*(?:(?:{_SEPARATORS})\s*)*"
    r"(?:```(?:json)?\s*)?(?=\{)"
)
_CLOSING_FENCE = re.compile(r"\s*```")


def named_json(source: Source, at: int) -> Found | None:
    """Read a name and the JSON object of its arguments, as in `name[ARGS]{...}`."""
    match = _NAMED.match(source.text, at)
    if not match:
        return None
    reading = read_value(source.text, match.end(), source.effort)
    if not reading.whole:
        return Found([], len(source.text))
    fence = _CLOSING_FENCE.match(source.text, reading.end) if "```" in match[0] else None
    call = {"name": match["name"], "arguments": reading.value}
    return Found([call], fence.end() if fence else reading.end)
