"""Chat: a model's own template, filled in here or by the server that runs the model."""

import itertools
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lib.rollouts.policies.protocol import Context, PolicyError
from lib.rollouts.prompts.harness import CONTRACT
from lib.rollouts.prompts.protocol import BREAK, digest, read_message, without_calls
from lib.rollouts.tool_calls import Parser
from lib.trajectories.schema import Message, Tool


class ChatTemplate:
    """A model's own chat template, for post-trained models.

    A template that cannot show tools gets them in the system prompt: as JSON, with the harness's
    description of a call. A template without a system prompt gets its text in the first message. A
    `BREAK` breaks up what looks like a special token in any content, so that no tool's answer can
    end its message and begin another.

    parser: reads the calls of a reply, see `lib.rollouts.tool_calls`. "native" reads the model's
        format: first by the response template of its tokenizer, if it has one, else by what the
        text shows. A special token is kept in the text of a reply, so that it can show.
    thinking: let the model reason before it replies, where its template has this switch.

    Raises ValueError if the tokenizer has no template, and PolicyError where the template refuses
    a conversation.
    """

    special_tokens = False

    def __init__(self, tokenizer, *, parser: Parser = "native", thinking: bool = False):
        if not tokenizer.chat_template:
            raise ValueError(
                "this tokenizer has no chat template; base models have none. Choose the "
                "prompt_format harness, or words for the lab's models."
            )
        self.tokenizer, self.parser, self.thinking = tokenizer, parser, thinking
        added = tokenizer.added_tokens_decoder.values()
        self.special = tuple(token.content for token in added if token.special)
        # A lookahead, to find also a special token that begins inside another.
        names = "|".join(re.escape(name) for name in self.special if len(name) > 1)
        self._start_of_special = re.compile(rf"(?=(?:{names or '(?!)'}))(.)", re.DOTALL)
        self.knows_tools = "tools" in str(tokenizer.chat_template)
        self.knows_system = self._takes_system()
        self.stops = self._end_of_turn()

    @property
    def settings(self):
        # The hash is of the template's text, not of a prompt: some templates write the date.
        wording = str(self.tokenizer.chat_template) + ("" if self.knows_tools else CONTRACT)
        return {
            "dialect": "chat template",
            "wording": digest(wording),
            "parser": self.parser,
            "thinking": self.thinking,
        }

    def prompt(self, context):
        tools = self._escape(_chat_tools(context.tools))
        system = self._escape(context.system)
        if tools and not self.knows_tools:
            listed = json.dumps([tool["function"] for tool in tools], ensure_ascii=False)
            system = f"{system}\n\n{listed}\n\n{CONTRACT}"
        # Templates write the arguments of calls themselves, and take them as objects.
        messages = _chat_messages(context, self.parser, write=lambda arguments: arguments)
        messages = self._escape(messages)
        if not self.knows_tools:  # such a template has no tool messages either
            messages = [{"role": _spoken(m["role"]), "content": m["content"]} for m in messages]
        if self.knows_system:
            messages = [{"role": "system", "content": system}, *messages]
        else:
            messages[0] = messages[0] | {"content": f"{system}\n\n{messages[0]['content']}"}
        return self._render(
            messages, tools=tools if self.knows_tools else None, add_generation_prompt=True
        )

    def read(self, text, context):
        return read_message(
            text, context, self.parser, tokenizer=self.tokenizer, prompt=self._opening
        )

    @cached_property
    def _opening(self) -> str:
        """A short prompt; its end, where a thought may be open, is that of all prompts."""
        try:
            return self._render([{"role": "user", "content": "?"}], add_generation_prompt=True)
        except PolicyError:
            return ""

    def _escape(self, value):
        """The same JSON value with a `BREAK` in all text that looks like a special token."""
        if isinstance(value, str):
            return self._start_of_special.sub(rf"\1{BREAK}", value.replace(BREAK, "\ufffd"))
        if isinstance(value, dict):
            return {self._escape(name): self._escape(part) for name, part in value.items()}
        return list(map(self._escape, value)) if isinstance(value, list | tuple) else value

    def _render(self, messages, **options) -> str:
        from jinja2 import TemplateError

        try:
            return self.tokenizer.apply_chat_template(
                messages, tokenize=False, enable_thinking=self.thinking, **options
            )
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise PolicyError(
                f"the model's chat template refuses a conversation of {roles} ({error}). Choose "
                "the prompt_format harness."
            ) from error

    def _takes_system(self) -> bool:
        try:
            prompt = self._render([{"role": r, "content": f"<{r}>"} for r in ("system", "user")])
        except PolicyError:
            return False
        return "<system>" in prompt

    def _end_of_turn(self) -> tuple[str, ...]:
        """The special token that the template writes after a reply, unless it is the end token."""
        example = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "<reply>"}]
        rest = self._render(example).rpartition("<reply>")[2].lstrip()
        first = max((name for name in self.special if rest.startswith(name)), key=len, default=None)
        return () if first in (None, self.tokenizer.eos_token) else (first,)


@dataclass(frozen=True)
class ServerChat:
    """The chat interface of a server, which fills in the model's template.

    parser: reads calls that the server left in the text of a reply.
    thinking: let the model reason before it replies, where its template has this switch.
    """

    parser: Parser = "native"
    thinking: bool = False

    @property
    def settings(self):
        return {"dialect": "server chat", "parser": self.parser, "thinking": self.thinking}

    def request(self, context: Context) -> dict[str, Any]:
        """The fields of a chat request that hold the context."""
        messages = _chat_messages(context, self.parser, write=json.dumps)
        tools = _chat_tools(context.tools)
        return {"messages": [{"role": "system", "content": context.system}, *messages]} | (
            {"tools": tools} if tools else {}
        )

    def read(self, text: str, context: Context) -> Message:
        """The message of a reply in whose text the server found no calls."""
        return read_message(text, context, self.parser)


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
    """The messages in the form of chat APIs; `write` turns the arguments of a call into its form.

    Each call appears once. Calls that a reply holds in its model's own format are passed on apart,
    as a template or a server writes them itself; of calls in another form, only the text is.
    """
    numbers, ids, messages = itertools.count(), iter(()), []
    for message in context.messages:
        fields: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            names = [call.id or f"call_{next(numbers)}" for call in message.tool_calls]
            ids = iter(names)
            content = without_calls(message, context, parser)
            if content is not None:
                fields["content"] = content
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
        messages.append(fields)
    return messages
