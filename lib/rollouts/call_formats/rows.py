"""What a row of the table of call formats is, and what its examples are made of."""

import json
from typing import Any, NamedTuple

from lib.rollouts.call_formats.source import Reader
from lib.trajectories.schema import Tool

EXAMPLE_TOOLS = (
    Tool(
        "get_weather",
        "The weather of a city.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "units": {"type": "string"},
            },
            "required": ["city"],
        },
    ),
    Tool("python", "", {"properties": {"code": {"type": "string"}}, "required": ["code"]}),
)
"""The tools of the examples."""


class Example(NamedTuple):
    """A reply, and the arguments of its calls of get_weather."""

    text: str
    calls: tuple[dict[str, Any], ...]


class Format(NamedTuple):
    """A format of calls.

    name: of the format, by the models that use it.
    marker: regular expression of what opens a call; it begins with a literal character.
    read: reads from there.
    examples: as public templates, documentation and tests of servers show the format.
    tags: the marker is plain text, so that a sentence may mention a call in this format.
    """

    name: str
    marker: str
    read: Reader
    examples: tuple[Example, ...]
    tags: bool = False


PARIS = {"city": "Paris"}
PARIS_3 = {"city": "Paris", "days": 3}
ROME = {"city": "Rome"}


def _json(key: str = "arguments", **arguments: Any) -> str:
    return json.dumps({"name": "get_weather", key: arguments})


ONE, TWO, THREE = _json(**PARIS), _json(**ROME), _json(**PARIS_3)
PARAMETERS = _json("parameters", **PARIS)
QWEN = "<function=get_weather>\n<parameter=city>\n{}\n</parameter>\n</function>"
INVOKE = (
    '<{0}invoke name="get_weather">\n<{0}parameter name="city">{1}</{0}parameter>\n</{0}invoke>'
)
