"""Chat: a model's own template, filled in here or by the server that runs the model."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from lib.rollouts.policies.protocol import Context, PolicyError, PromptRefused
from lib.rollouts.prompts.forms import (
    SYSTEM,
    TOOL,
    Chat,
    Form,
    described,
    find_form,
    first_with,
    merge,
    without_blanks,
    write_messages,
)
from lib.rollouts.prompts.harness import CONTRACT
from lib.rollouts.prompts.protocol import BREAK, digest, read_message, without_calls
from lib.rollouts.prompts.rendering import render
from lib.rollouts.prompts.trial import trouble_of
from lib.rollouts.tool_calls import Parser
from lib.trajectories.schema import Message, Tool


class ChatTemplate:
    """A model's own chat template, for post-trained models.

    A template that cannot show tools gets them in the system prompt: as JSON, with the harness's
    description of a call; calls and answers are then text. A template without a system prompt gets
    its text in the first message. How else a template wants its messages is probed: see
    `lib.rollouts.prompts.forms`. A `BREAK` breaks up what looks like a special token in any
    content, so that no tool's answer can end its message and begin another.

    parser: reads the calls of a reply, see `lib.rollouts.tool_calls`. "native" reads the model's
        format: first by the response template of its tokenizer, if it has one, else by what the
        text shows. A special token is kept in the text of a reply, so that it can show.
    thinking: let the model reason before it replies, where its template has this switch.

    Raises ValueError if the tokenizer has no template, PolicyError if the template refuses any
    conversation at all, and PromptRefused from `prompt` where it refuses one.
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
        self._options: dict[str, Any] = {"enable_thinking": thinking}
        named = tokenizer.chat_template
        if isinstance(named, dict) and "default" not in named:
            self._options["chat_template"] = next(iter(named.values()))
        for template in named.values() if isinstance(named, dict) else [named]:
            if trouble := trouble_of(template):
                raise PolicyError(
                    f"this model's chat template cannot be used: {trouble}. Choose the "
                    "prompt_format harness."
                )
        self._no_tools: list | None = None
        self.tools_are = self._place_of_tools()
        self._manners: dict[bool, _Manner] = {}
        self.stops, self._verbatim = self._around_a_reply()

    @property
    def knows_tools(self) -> bool:
        """Whether the template shows tools."""
        return self.tools_are != "text"

    @property
    def settings(self):
        # The hash is of the template's text, not of a prompt: some templates write the date.
        added = {"argument": "", "field": "tools in a field", "text": CONTRACT}[self.tools_are]
        return {
            "dialect": "chat template",
            "wording": digest(str(self.tokenizer.chat_template) + added),
            "parser": self.parser,
            "thinking": self.thinking,
        }

    def prompt(self, context):
        tools = self._escape(_chat_tools(context.tools))
        system = self._escape(context.system)
        if tools and not self.knows_tools:
            listed = json.dumps([tool["function"] for tool in tools], ensure_ascii=False)
            system = f"{system}\n\n{listed}\n\n{CONTRACT}"
        manner = self._manner(bool(tools))
        messages = write_messages(
            context.messages,
            manner.form,
            lambda message: without_calls(message, context, self.parser),
            lambda message: not self._verbatim and self._holds_special(message.content),
        )
        messages = self._escape(messages)
        try:
            return self._whole(manner, messages, system, tools)
        except PromptRefused:
            fuller = without_blanks(messages), described(tools)
            if fuller == (messages, tools):
                raise
            return self._whole(manner, fuller[0], system, fuller[1])

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

    def _holds_special(self, text: str) -> bool:
        return bool(self._start_of_special.search(text))

    def _render(self, messages: Chat, *, tools: list | None = None, **options: Any) -> str:
        tools = self._no_tools if tools is None else tools
        return render(self.tokenizer, messages, tools=tools, **self._options, **options)

    def _whole(self, manner: "_Manner", messages: Chat, system: str, tools: list) -> str:
        """The prompt of messages with their system prompt and tools."""
        if manner.system:
            first = {"role": "system", "content": system}
            if tools and self.tools_are == "field":
                first["tools"] = json.dumps([tool["function"] for tool in tools])
            messages = [first, *messages]
        else:
            messages = first_with(system, messages)
            messages = merge(messages) if manner.form.merged else messages
        shown = tools if tools and self.tools_are == "argument" else None
        return self._render(messages, tools=shown, add_generation_prompt=True)

    def _place_of_tools(self) -> Literal["argument", "field", "text"]:
        """Where the template takes tools from; "text" if from nowhere."""
        if "tools" not in str(self.tokenizer.chat_template):
            return "text"
        ask = {"role": "user", "content": "probe"}
        listed = json.dumps([TOOL["function"]])
        system = {"role": "system", "content": "probe"}
        for place, messages, tools in (
            ("argument", [system, ask], [TOOL]),
            ("argument", [ask], [TOOL]),
            ("field", [system | {"tools": listed}, ask], None),
        ):
            try:
                if TOOL["function"]["name"] in self._render(messages, tools=tools):
                    return place
            except PromptRefused:
                continue
        return "text"

    def _manner(self, tools: bool) -> "_Manner":
        """How messages are written, with tools or without; a tokenizer may have two templates."""
        if tools not in self._manners:
            shown = [TOOL] if tools else []

            def find(system: bool):
                def whole(messages, form):
                    return self._whole(_Manner(system, form), messages, SYSTEM, shown)

                return find_form(whole, tools=tools and self.knows_tools, acts=tools)

            moved = find(False)
            own = find(True) if self._takes_system(shown) else None
            # Mistral's templates have a system role, but drop it where a tool has answered last.
            system = own is not None and own.rank >= moved.rank
            self._manners[tools] = _Manner(system, own.form if system else moved.form)
        return self._manners[tools]

    def _takes_system(self, tools: list) -> bool:
        messages = [{"role": "user", "content": "<user>"}]
        try:
            return "<system>" in self._whole(_Manner(True, Form()), messages, "<system>", tools)
        except PromptRefused:
            return False

    def _around_a_reply(self) -> tuple[tuple[str, ...], bool]:
        """What ends a reply, and whether a reply is in later prompts just as it was written.

        A reply ends with the special token that the template writes after it, unless it is the end
        token.
        """
        example = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "<reply>"}]
        try:
            try:
                whole = self._render(example)
            except PromptRefused:  # a template for tools alone, which goes through a list of them
                self._no_tools = []
                whole = self._render(example)
            before = self._render(example[:1], add_generation_prompt=True)
        except PromptRefused as error:
            raise PolicyError(f"this model's chat template cannot be used: {error}") from error
        rest = whole.rpartition("<reply>")[2].lstrip()
        first = max((name for name in self.special if rest.startswith(name)), key=len, default=None)
        stops = () if first in (None, self.tokenizer.eos_token) else (first,)
        return stops, whole.startswith(f"{before}<reply>")


class _Manner(NamedTuple):
    """Whether there is a system role, and the form of the messages."""

    system: bool
    form: Form


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

    def requests(self, context: Context) -> Iterator[dict[str, Any]]:
        """The fields of a chat request that hold the context, the usual form first.

        Each further form is for templates that refuse those before it.
        """
        tools = _chat_tools(context.tools)
        made: list[dict[str, Any]] = []
        for manner in _SERVER_MANNERS:
            messages = write_messages(
                context.messages,
                manner.form,
                lambda message: without_calls(message, context, self.parser),
            )
            if manner.system:
                messages = [{"role": "system", "content": context.system}, *messages]
            else:
                messages = first_with(context.system, messages)
                messages = merge(messages) if manner.form.merged else messages
            fields = {"messages": messages} | ({"tools": tools} if tools else {})
            if fields not in made:
                made.append(fields)
                yield fields

    def read(self, text: str, context: Context) -> Message:
        """The message of a reply in whose text the server found no calls."""
        return read_message(text, context, self.parser)


_SERVER_MANNERS = (
    _Manner(True, Form(as_text=True)),
    _Manner(True, Form(as_text=True, single=True)),
    _Manner(True, Form(as_text=True, merged=True, lifted=True)),
    _Manner(False, Form(as_text=True)),
    _Manner(False, Form(as_text=True, merged=True, lifted=True)),
    _Manner(True, Form(calls=False, answers=False, merged=True)),
    _Manner(False, Form(calls=False, answers=False, merged=True)),
)


def _chat_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    nothing = {"type": "object", "properties": {}}
    functions = [
        {"name": t.name, "description": t.description, "parameters": t.parameters or nothing}
        for t in tools
    ]
    return [{"type": "function", "function": function} for function in functions]
