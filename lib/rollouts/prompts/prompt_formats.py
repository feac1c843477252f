"""How a model is spoken to: what it reads, where it stops, and how its text becomes a message."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lib.rollouts.policies.protocol import Context, PolicyError
from lib.rollouts.prompts.harness import (
    CONTRACT,
    STOPS_PAST_PROSE,
    parse_tool_calls,
    plain_prompt,
    render_prompt,
)
from lib.rollouts.tool_calls import Parser
from lib.trajectories.schema import Message, Tool, ToolCall

BREAK = "\ufdd0"
"""Parts what looks like a special token but is something that was said, a tool's "<|im_end|>" say.

It is no character of any text. The text on either side of it is turned to tokens apart, so that
the model reads the same characters, none of them as a special token.
"""


def after(prompt: str, count: int) -> str:
    """What is left of a prompt past its first `count` characters, each `BREAK` not counted."""
    parts = prompt.split(BREAK)
    while count > len(parts[0]):
        count -= len(parts.pop(0))
    return BREAK.join([parts[0][count:], *parts[1:]])


def check_understood(prompt: Sequence[int], tokenizer) -> None:
    """Refuse a model that does not know the words it is spoken to in, by a conversation's start.

    Raises PolicyError where more than half of the tokens are the unknown one.
    """
    unknown = 0 if tokenizer.unk_token_id is None else list(prompt).count(tokenizer.unk_token_id)
    if unknown > len(prompt) / 2:
        raise PolicyError(
            f"{unknown} of the {len(prompt)} tokens of a prompt are unknown to the model: choose "
            "the prompt_format that it was trained with, words for the lab's models"
        )


class PromptFormat(Protocol):
    """A way of speaking by plain text.

    stops: strings that end a reply.  special_tokens: whether the tokenizer adds its own (a first
    token, say) to a prompt, or the prompt already holds them. Where it adds them, all of a prompt
    is text, even what looks like a special token; where the prompt holds them, a `BREAK` stands in
    what looks like one and was only said.
    """

    stops: tuple[str, ...]
    special_tokens: bool

    @property
    def settings(self) -> dict[str, Any]:
        """The prompt format's name, a hash of its words and its options, as JSON values."""

    def prompt(self, context: Context) -> str:
        """The text that the model completes, and any `BREAK` in it."""

    def read(self, text: str, context: Context) -> Message:
        """The message that a completion stands for."""


_SAMPLE = Context(
    "System.",
    (Tool("f", "Does it.", {"properties": {"x": {"type": "integer"}}, "required": ["x"]}),),
    (
        Message("user", "Ask."),
        Message("assistant", "", (ToolCall("f", {"x": 1}),)),
        Message("tool", "Told.", name="f"),
    ),
)
"""A conversation with all there is to word; the hash of its prompt tells wordings apart."""


@dataclass(frozen=True)
class _Text:
    """A prompt of plain text, whose completions are read by a parser."""

    parser: Parser = "robust"
    stops: tuple[str, ...] = ()
    special_tokens = True

    @property
    def settings(self):
        return {
            "dialect": type(self).__name__.lower(),
            "wording": _digest(self.prompt(_SAMPLE)),
            "parser": self.parser,
            "stops": list(self.stops),
        }

    def read(self, text, context):
        return _read(text, context, self.parser)


@dataclass(frozen=True)
class Harness(_Text):
    """The text harness of :mod:`.harness`, for base models: the cue of the ablation."""

    stops: tuple[str, ...] = STOPS_PAST_PROSE

    def prompt(self, context):
        # Tools that came with a message are told there, so that a prompt only grows at its end.
        later = [tool for message in context.messages for tool in message.tools]
        first = [tool for tool in context.tools if tool not in later]
        return render_prompt(context.system, first, context.messages)


@dataclass(frozen=True)
class Plain(_Text):
    """A prompt without any cue: system text, tools as JSON, what was said."""

    def prompt(self, context):
        return plain_prompt(context.system, context.tools, context.messages)


class ChatTemplate:
    """A model's own chat template, for post-trained models.

    A template that knows no tools is given them in the system text: as JSON, with the harness's
    words on how to call. One that knows no system text is given it with the first message.
    What looks like a special token in anything said gets a `BREAK`, so that no tool's answer can
    end its message and begin another one.

    thinking: let the model reason first, where its template has the switch.
    """

    special_tokens = False

    def __init__(self, tokenizer, *, parser: Parser = "robust", thinking: bool = False):
        if not tokenizer.chat_template:
            raise ValueError(
                "this tokenizer has no chat template, as base models have none: choose "
                "the prompt_format harness, or words for the lab's models"
            )
        self.tokenizer, self.parser, self.thinking = tokenizer, parser, thinking
        added = tokenizer.added_tokens_decoder.values()
        self.special = tuple(token.content for token in added if token.special)
        # Wherever one begins, also within another one.
        names = "|".join(re.escape(name) for name in self.special if len(name) > 1)
        self._start_of_special = re.compile(rf"(?=(?:{names or '(?!)'}))(.)", re.DOTALL)
        self.knows_tools = "tools" in str(tokenizer.chat_template)
        self.knows_system = self._takes_system()
        self.stops = self._end_of_turn()

    @property
    def settings(self):
        # The template's text and not a prompt of it: some templates write the date.
        wording = str(self.tokenizer.chat_template) + ("" if self.knows_tools else CONTRACT)
        return {
            "dialect": "chat template",
            "wording": _digest(wording),
            "parser": self.parser,
            "thinking": self.thinking,
        }

    def prompt(self, context):
        tools = self._only_said(_chat_tools(context.tools))
        system = self._only_said(context.system)
        if tools and not self.knows_tools:
            listed = json.dumps([tool["function"] for tool in tools], ensure_ascii=False)
            system = f"{system}\n\n{listed}\n\n{CONTRACT}"
        # Templates write arguments themselves, and so take them as objects.
        said = _chat_messages(context, self.parser, write=lambda arguments: arguments)
        said = self._only_said(said)
        if not self.knows_tools:  # such a template knows no tool messages either
            said = [{"role": _spoken(m["role"]), "content": m["content"]} for m in said]
        if self.knows_system:
            said = [{"role": "system", "content": system}, *said]
        else:
            said[0] = said[0] | {"content": f"{system}\n\n{said[0]['content']}"}
        return self._render(
            said, tools=tools if self.knows_tools else None, add_generation_prompt=True
        )

    def read(self, text, context):
        return _read(text, context, self.parser)

    def _only_said(self, value):
        """The same JSON value with a `BREAK` in all that looks like a special token."""
        if isinstance(value, str):
            return self._start_of_special.sub(rf"\1{BREAK}", value.replace(BREAK, "\ufffd"))
        if isinstance(value, dict):
            return {self._only_said(name): self._only_said(part) for name, part in value.items()}
        return list(map(self._only_said, value)) if isinstance(value, list | tuple) else value

    def _render(self, messages, **options) -> str:
        from jinja2 import TemplateError

        try:
            return self.tokenizer.apply_chat_template(
                messages, tokenize=False, enable_thinking=self.thinking, **options
            )
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise PolicyError(
                f"the model's chat template refuses a conversation of {roles} ({error}); "
                "choose the prompt_format harness"
            ) from error

    def _takes_system(self) -> bool:
        try:
            told = self._render([{"role": r, "content": f"<{r}>"} for r in ("system", "user")])
        except PolicyError:
            return False
        return "<system>" in told

    def _end_of_turn(self) -> tuple[str, ...]:
        """The special token that the template writes after a reply, if it is not the end token."""
        said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "<reply>"}]
        rest = self._render(said).rpartition("<reply>")[2].lstrip()
        first = max((name for name in self.special if rest.startswith(name)), key=len, default=None)
        return () if first in (None, self.tokenizer.eos_token) else (first,)


@dataclass(frozen=True)
class ServerChat:
    """The chat interface of a server, which applies the model's template.

    parser: reads the calls from the text where the server did not split them off.
    thinking: let the model reason first, where its template has the switch.
    """

    parser: Parser = "robust"
    thinking: bool = False

    @property
    def settings(self):
        return {"dialect": "server chat", "parser": self.parser, "thinking": self.thinking}

    def request(self, context: Context) -> dict[str, Any]:
        """The fields of a chat request that hold the context."""
        said = _chat_messages(context, self.parser, write=json.dumps)
        tools = _chat_tools(context.tools)
        return {"messages": [{"role": "system", "content": context.system}, *said]} | (
            {"tools": tools} if tools else {}
        )

    def read(self, text: str, context: Context) -> Message:
        """The message of a reply from which the server split no call off."""
        return _read(text, context, self.parser)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(text, context, parser) -> Message:
    return Message("assistant", text, _calls_in(text, context, parser))


def _calls_in(text, context, parser) -> tuple[ToolCall, ...]:
    said = text.rpartition("</think>")[2]  # what a model only thought of is no call
    return parse_tool_calls(said, context.tools, parser).calls


def _spoken(role: str) -> str:
    return "user" if role == "tool" else role


def _chat_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    nothing = {"type": "object", "properties": {}}
    functions = [
        {"name": t.name, "description": t.description, "parameters": t.parameters or nothing}
        for t in tools
    ]
    return [{"type": "function", "function": function} for function in functions]


def _chat_messages(
    context: Context, parser: Parser, write: Callable[[dict[str, Any]], Any]
) -> list[dict[str, Any]]:
    """The messages as chat APIs have them; `write` turns the arguments of a call to what they take.

    A reply whose text holds its calls goes as that text, so that none is told twice.
    """
    numbers, ids, said = itertools.count(), iter(()), []
    for message in context.messages:
        fields: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            names = [call.id or f"call_{next(numbers)}" for call in message.tool_calls]
            ids = iter(names)
            if not _calls_in(message.content, context, parser):
                fields["tool_calls"] = [
                    {
                        "id": name,
                        "type": "function",
                        "function": {"name": call.name, "arguments": write(call.arguments)},
                    }
                    for name, call in zip(names, message.tool_calls, strict=True)
                ]
        elif message.role == "tool":
            fields["tool_call_id"] = message.tool_call_id or next(ids, "call_0")
            if message.name:
                fields["name"] = message.name
        said.append(fields)
    return said
