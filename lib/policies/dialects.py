"""How a model is spoken to: what it reads, where it stops, and how its text becomes a message."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from lib.harness import CONTRACT, STOPS_PAST_PROSE, parse_tool_calls, plain_prompt, render_prompt
from lib.parsing import Parser
from lib.policies.protocol import Context
from lib.trajectory import Message


class Dialect(Protocol):
    """A way of speaking by plain text.

    stops: strings that end a reply.  special_tokens: whether the tokenizer adds its own (a first
    token, say) to a prompt, or the prompt already holds them.
    """

    stops: tuple[str, ...]
    special_tokens: bool

    @property
    def settings(self) -> dict[str, Any]:
        """The dialect's name and options, as JSON values."""

    def prompt(self, context: Context) -> str:
        """The text that the model completes."""

    def read(self, text: str, context: Context) -> Message:
        """The message that a completion stands for."""


@dataclass(frozen=True)
class Harness:
    """The text harness of `lib.harness`, for base models: the cue of the ablation."""

    parser: Parser = "robust"
    stops: tuple[str, ...] = STOPS_PAST_PROSE
    special_tokens: bool = True

    @property
    def settings(self):
        return {"dialect": "harness", "parser": self.parser, "stops": list(self.stops)}

    def prompt(self, context):
        return render_prompt(context.system, context.tools, context.messages)

    def read(self, text, context):
        return _read(text, context, self.parser)


@dataclass(frozen=True)
class Plain:
    """A prompt without any cue: system text, tools as JSON, what was said."""

    parser: Parser = "robust"
    stops: tuple[str, ...] = ()
    special_tokens: bool = True

    @property
    def settings(self):
        return {"dialect": "plain", "parser": self.parser, "stops": list(self.stops)}

    def prompt(self, context):
        return plain_prompt(context.system, context.tools, context.messages)

    def read(self, text, context):
        return _read(text, context, self.parser)


class ChatTemplate:
    """A model's own chat template, for post-trained models.

    A template that knows no tools is given them in the system message: as JSON, with the harness's
    words on how to call. thinking: let the model reason first, where its template has the switch.
    """

    stops: tuple[str, ...] = ()
    special_tokens = False

    def __init__(self, tokenizer, *, parser: Parser = "robust", thinking: bool = False):
        if not tokenizer.chat_template:
            raise ValueError(
                "this tokenizer has no chat template, as base models have none: use the harness"
            )
        self.tokenizer, self.parser, self.thinking = tokenizer, parser, thinking
        template = tokenizer.chat_template
        self.knows_tools = "tools" in (template if isinstance(template, str) else str(template))

    @property
    def settings(self):
        return {"dialect": "chat template", "parser": self.parser, "thinking": self.thinking}

    def prompt(self, context):
        tools = [_chat_tool(tool) for tool in context.tools]
        system = context.system
        if tools and not self.knows_tools:
            listed = json.dumps([tool["function"] for tool in tools], ensure_ascii=False)
            system = f"{system}\n\n{listed}\n\n{CONTRACT}"
        said = [_chat_message(message) for message in context.messages]
        if not self.knows_tools:  # such a template knows no tool messages either
            said = [{"role": _spoken(m["role"]), "content": m["content"]} for m in said]
        return self.tokenizer.apply_chat_template(
            [{"role": "system", "content": system}, *said],
            tools=tools if tools and self.knows_tools else None,
            add_generation_prompt=True,
            tokenize=False,
            enable_thinking=self.thinking,
        )

    def read(self, text, context):
        return _read(text, context, self.parser)


@dataclass(frozen=True)
class ServerChat:
    """The chat interface of a server, which applies the model's template and reads its calls."""

    thinking: bool = False

    @property
    def settings(self):
        return {"dialect": "server chat", "thinking": self.thinking}

    def request(self, context: Context) -> dict[str, Any]:
        """The fields of a chat request that hold the context."""
        fields = {
            "messages": [
                {"role": "system", "content": context.system},
                *map(_chat_message, context.messages),
            ]
        }
        return fields | (
            {"tools": [_chat_tool(tool) for tool in context.tools]} if context.tools else {}
        )


def _read(text, context, parser) -> Message:
    return Message("assistant", text, parse_tool_calls(text, context.tools, parser).calls)


def _spoken(role: str) -> str:
    return "user" if role == "tool" else role


def _chat_tool(tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": function}


def _chat_message(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        fields["tool_calls"] = [
            {
                "id": call.id or f"call_{i}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for i, call in enumerate(message.tool_calls)
        ]
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id or "call_0"
        if message.name:
            fields["name"] = message.name
    return fields
