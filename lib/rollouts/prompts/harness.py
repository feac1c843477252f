r"""The text harness: lets a base model act by plain completion, without a chat template.

The prompt is the task's system prompt, the tools as stubs of Python functions, what a call looks
like, and the transcript so far under three markers, ending with the assistant's. It holds no
demonstration and nothing made for one model or benchmark (METHODS section 2).

A policy completes ``render_prompt(system, tools, messages)`` until one of :data:`STOPS`, and
:func:`.tool_calls.parse_tool_calls` reads the calls. The next prompt begins with the last one and
what the policy wrote, character for character, so a cache of it stays good.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lib.rollouts.tool_calls import Parsed, parse_tool_calls
from lib.trajectories.schema import Message, Tool, ToolCall
from lib.trajectories.tokens import Span, Transcript

__all__ = [
    "ASSISTANT",
    "STOPS",
    "STOPS_PAST_PROSE",
    "TOOL_OUTPUT",
    "USER",
    "Parsed",
    "cut_at_stop",
    "parse_tool_calls",
    "plain_prompt",
    "render_calls",
    "render_prompt",
    "render_tool",
    "render_transcript",
]

USER = "### User:"
ASSISTANT = "### Assistant:"
TOOL_OUTPUT = "### Tool output:"

_TURN_MARKERS = (f"\n{USER}", f"\n{TOOL_OUTPUT}")

STOPS = (*_TURN_MARKERS, "\n```")
"""Stops for a policy that opens its block at once: the next fence at a line's start closes it."""

STOPS_PAST_PROSE = (*_TURN_MARKERS, "\n```\n")
"""Stops for a policy that writes prose first: an opening fence, which has a label, passes."""

_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)

CONTRACT = """\
To call tools, write one block like this and stop after it:

```tool_call
[{"name": "<tool>", "arguments": {"<parameter>": <value>}}]
```

The block holds a JSON array; more objects in it are more calls, made together. Text without such \
a block is taken as your final answer."""


def render_prompt(system: str, tools: Sequence[Tool], messages: Iterable[Message]) -> str:
    """Render what the policy completes: the transcript and the assistant's marker.

    ``messages`` are user, assistant and tool messages; of those with the role system the content
    joins ``system``. For a reply ``text`` to it, the prompt of any longer conversation with that
    reply begins with ``prompt + text``.
    """
    return f"{render_transcript(system, tools, messages).text}{ASSISTANT}\n"


def render_transcript(
    system: str, tools: Sequence[Tool], messages: Iterable[Message]
) -> Transcript:
    """Render a conversation, and say which characters of it the assistant wrote."""
    messages = list(messages)
    head = [system.strip(), *(m.content.strip() for m in messages if m.role == "system")]
    if tools:
        head.append("You can call these tools, described as Python functions:")
        head += [*map(render_tool, tools), CONTRACT]
    text = "".join(f"{part}\n\n" for part in head if part)
    actions = []
    for number, message in enumerate(messages):
        if message.role == "assistant":
            text += f"{ASSISTANT}\n"
            action = _action_text(message)
            actions.append(Span(number, len(text), len(text) + len(action)))
            # The stop string ate the fence that closed an open block.
            text += action + ("\n```\n\n" if len(_FENCE.findall(action)) % 2 else "\n\n")
        elif message.role != "system":
            marker = USER if message.role == "user" else TOOL_OUTPUT
            said = (*map(render_tool, message.tools), message.content)
            text += f"{marker}\n" + "".join(f"{part}\n\n" for part in said)
    return Transcript(text, tuple(actions))


def _action_text(message: Message) -> str:
    """Return the text as it was written; calls that a chat server split off are put back."""
    called = [Tool(call.name) for call in message.tool_calls]
    if not called or parse_tool_calls(message.content, called).calls:
        return message.content
    block = render_calls(message.tool_calls)
    return f"{message.content}\n{block}" if message.content else block


def render_calls(calls: Iterable[ToolCall]) -> str:
    """Write calls as the block that the prompt asks for."""
    array = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return f"```tool_call\n{json.dumps(array, ensure_ascii=False)}\n```"


def plain_prompt(system: str, tools: Sequence[Tool], messages: Iterable[Message]) -> str:
    """Render the prompt without the harness: the ablation's "cue off".

    The system text, the tools as JSON and what was said, with nothing that tells how to call.
    """
    array = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in tools
    ]
    said = [message.content for message in messages]
    parts = [system.strip(), json.dumps(array, ensure_ascii=False), *said]
    return "".join(f"{part}\n\n" for part in parts if part)


def cut_at_stop(text: str, stops: Iterable[str]) -> tuple[str, str | None]:
    """Return the text before the first stop string in it, and that stop; None if there is none."""
    found = [(text.find(stop), -len(stop), stop) for stop in stops if stop in text]
    if not found:
        return text, None
    at, _, stop = min(found)
    return text[:at], stop


# ------------------------------------------------------------------------------- tools as stubs

_PYTHON_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def render_tool(tool: Tool) -> str:
    """Write a tool as the stub of a Python function.

    Names stand as they are, even if Python could not have them, for the policy must repeat them.
    Parameters that may be left out come last, with their default or None.
    """
    properties = tool.parameters.get("properties") or {}
    required = tool.parameters.get("required") or ()
    names = sorted(properties, key=lambda name: name not in required)
    signature = ", ".join(_parameter(name, properties[name], name in required) for name in names)
    lines = [tool.description.strip()] if tool.description.strip() else []
    if names:
        lines += ["", "Args:"] if lines else ["Args:"]
        lines += [f"    {name}: {_explain(properties[name])}".rstrip() for name in names]
    stub = f"def {tool.name}({signature}):"
    if not lines:
        return f"{stub} ..."
    body = "\n".join(lines).replace('"""', "'''")
    indented = body.replace("\n", "\n    ").replace("\n    \n", "\n\n")
    return f'{stub}\n    """{indented}\n    """'


def _parameter(name: str, schema: Any, required: bool) -> str:
    default = schema.get("default") if isinstance(schema, dict) else None
    return f"{name}: {_python_type(schema)}" + ("" if required else f" = {default!r}")


def _python_type(schema: Any) -> str:
    """Write a JSON schema as a Python type."""
    if not isinstance(schema, dict):
        return "Any"
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(dict.fromkeys(map(_python_type, options)))
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(_python_type({**schema, "type": kind}) for kind in kinds) or "Any"
    if kinds == "array" and "items" in schema:
        return f"list[{_python_type(schema['items'])}]"
    return _PYTHON_TYPES.get(str(kinds), "Any")


def _explain(schema: Any) -> str:
    """Write what a schema says of a parameter, with its choices and the members of objects."""
    if not isinstance(schema, dict):
        return ""
    parts = [" ".join(str(schema.get("description", "")).split())]
    if "enum" in schema:
        parts.append("One of: " + ", ".join(map(repr, schema["enum"])) + ".")
    inner = schema["items"] if isinstance(schema.get("items"), dict) else schema
    members = inner.get("properties")
    if isinstance(members, dict):
        listed = "; ".join(
            f"{name} ({_python_type(member)}): {_explain(member)}".rstrip(": ")
            for name, member in members.items()
        )
        parts.append(f"Members: {listed}.")
    return " ".join(part for part in parts if part)
