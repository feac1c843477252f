r"""The text harness, which lets a base model act by plain completion, without a chat template.

The prompt holds the task's system prompt, the tools as stubs of Python functions, what a call looks
like, and the transcript so far under three markers; it ends with the assistant's marker. It holds
no demonstration, and nothing made for a single model or benchmark (METHODS section 2).

A policy completes ``render_prompt(system, tools, messages)`` until one of :data:`STOPS`, and
:func:`lib.rollouts.tool_calls.parse_tool_calls` reads the calls. The next prompt begins with the
last prompt and what the policy wrote, character for character, so a KV cache of it stays valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lib.rollouts.policies.protocol import Context
from lib.rollouts.prompts.protocol import digest, read_message
from lib.rollouts.tool_calls import Parser, parse_tool_calls
from lib.trajectories.schema import Message, Tool, ToolCall
from lib.trajectories.tokens import Span, Transcript

USER = "### User:"
ASSISTANT = "### Assistant:"
TOOL_OUTPUT = "### Tool output:"

_TURN_MARKERS = (f"\n{USER}", f"\n{TOOL_OUTPUT}")

STOPS = (*_TURN_MARKERS, "\n```")
"""Stops for a policy that starts with its block: the next fence at the start of a line ends it."""

STOPS_PAST_PROSE = (*_TURN_MARKERS, "\n```\n")
"""Stops for a policy that writes prose first: they let an opening fence pass, which has a label."""

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

    The content of messages with the role system is added to ``system``. If the policy replies with
    ``text``, the prompt of every longer conversation begins with ``prompt + text``.
    """
    return f"{render_transcript(system, tools, messages).text}{ASSISTANT}\n"


def render_transcript(
    system: str, tools: Sequence[Tool], messages: Iterable[Message]
) -> Transcript:
    """Render a conversation, and mark the characters of it that the assistant wrote."""
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
            # If a block is still open, the stop string was the fence that closes it.
            text += action + ("\n```\n\n" if len(_FENCE.findall(action)) % 2 else "\n\n")
        elif message.role != "system":
            marker = USER if message.role == "user" else TOOL_OUTPUT
            parts = (*map(render_tool, message.tools), message.content)
            text += f"{marker}\n" + "".join(f"{part}\n\n" for part in parts)
    return Transcript(text, tuple(actions))


def _action_text(message: Message) -> str:
    """Return the text as the policy wrote it, with the calls that a chat server split off."""
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
    """Render a prompt without the harness, for the ablation's "cue off".

    It holds the system prompt, the tools as JSON and the contents of the messages, and nothing on
    how to call a tool.
    """
    array = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in tools
    ]
    contents = [message.content for message in messages]
    parts = [system.strip(), json.dumps(array, ensure_ascii=False), *contents]
    return "".join(f"{part}\n\n" for part in parts if part)


def cut_at_stop(text: str, stops: Iterable[str]) -> tuple[str, str | None]:
    """Return the text before its first stop string, and that stop string; None if there is none."""
    matches = [(text.find(stop), -len(stop), stop) for stop in stops if stop in text]
    if not matches:
        return text, None
    at, _, stop = min(matches)
    return text[:at], stop


# ----------------------------------------------------------------------------- prompt formats

_SAMPLE = Context(
    "System.",
    (Tool("f", "Does it.", {"properties": {"x": {"type": "integer"}}, "required": ["x"]}),),
    (
        Message("user", "Ask."),
        Message("assistant", "", (ToolCall("f", {"x": 1}),)),
        Message("tool", "Told.", name="f"),
    ),
)
"""A conversation with a message of each kind. The hash of its prompt identifies a wording, and is
in the manifests of collections: do not change it."""


@dataclass(frozen=True)
class _Text:
    """A prompt of plain text, whose completions `parser` reads."""

    parser: Parser = "robust"
    stops: tuple[str, ...] = ()
    special_tokens = True

    @property
    def settings(self):
        return {
            "dialect": type(self).__name__.lower(),
            "wording": digest(self.prompt(_SAMPLE)),
            "parser": self.parser,
            "stops": list(self.stops),
        }

    def read(self, text, context):
        return read_message(text, context, self.parser)


@dataclass(frozen=True)
class Harness(_Text):
    """The text harness, for base models: the ablation's "cue on".

    Its prompt asks for one form of calls, and its own parsers read it, with the leniency of METHODS
    section 2. The default does not read the native formats of post-trained models: a model that
    falls back on its own format did not take up the harness, which is what the ablation measures.
    """

    stops: tuple[str, ...] = STOPS_PAST_PROSE

    def prompt(self, context):
        # Tools that came with a message are shown there, so that a prompt only grows at its end.
        later = [tool for message in context.messages for tool in message.tools]
        first = [tool for tool in context.tools if tool not in later]
        return render_prompt(context.system, first, context.messages)


@dataclass(frozen=True)
class Plain(_Text):
    """A prompt without the harness: system prompt, tools as JSON, contents of the messages."""

    def prompt(self, context):
        return plain_prompt(context.system, context.tools, context.messages)


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

    Names are not changed, even those that are no Python names: the policy must repeat them.
    Optional parameters come last, with their default or None.
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
    """Write a parameter's description, with its choices and the members of objects."""
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
