"""The form of messages that a chat template takes, which is probed rather than known by name.

Templates differ: one has no system role, one wants user and assistant to alternate, one writes a
single call a message, one takes arguments as JSON text, one knows no tools at all. What a template
refuses, or leaves out of the prompt, is seen from a few short conversations.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from lib.rollouts.call_formats.thoughts import said
from lib.rollouts.policies.protocol import PromptRefused
from lib.rollouts.prompts.harness import render_calls
from lib.trajectories.schema import Message, ToolCall

Chat = list[dict[str, Any]]
Render = Callable[[Chat, "Form"], str]


@dataclass(frozen=True)
class Form:
    """How a conversation is written as messages of a chat.

    calls: calls are in the field tool_calls. If not, they are a block in the text.
    answers: a tool's answer has the role tool. If not, it is a message of the user.
    merged: neighbours of one role are one message, since roles must alternate. What a user says
        right after a tool's answer is added to it.
    as_text: arguments are JSON text. If not, they are objects.
    single: a message holds a single call, followed by its answer.
    ids: of calls: as they are, nine letters and digits, or functions.NAME:NUMBER.
    lifted: calls that the policy wrote in its text are taken out of it into the field.
    """

    calls: bool = True
    answers: bool = True
    merged: bool = False
    as_text: bool = False
    single: bool = False
    ids: Literal["plain", "short", "named"] = "plain"
    lifted: bool = False


def write_messages(
    messages: Sequence[Message],
    form: Form,
    without_calls: Callable[[Message], str | None],
    apart: Callable[[Message], bool] = lambda message: False,
) -> Chat:
    """The messages of a conversation in a form.

    without_calls: the content of a reply without the calls that it holds; None where only the text
        can show them. No call is written twice.
    apart: whether a reply is written in its parts (thought, text, calls) in any case.
    """
    numbers, ids, chat = itertools.count(), iter(()), []
    for message in messages:
        written: dict[str, Any] = {"role": message.role, "content": message.content}
        parted = message.role == "assistant" and apart(message)
        if parted:
            written["content"] = said(message)
        if message.thought and (parted or message.thought not in message.content):
            written["reasoning_content"] = message.thought
        if message.tool_calls:
            names = [_id(call, next(numbers), form) for call in message.tool_calls]
            ids = iter(names)
            rest = without_calls(message)
            if form.calls and (rest is not None or form.lifted or parted):
                rest = _before_calls(message.content) if rest is None else rest
                written["content"] = said(replace(message, content=rest)) if parted else rest
                pairs = zip(names, message.tool_calls, strict=True)
                written["tool_calls"] = [_call(name, call, form) for name, call in pairs]
            elif rest == message.content:  # a server had split them off
                block = render_calls(message.tool_calls)
                written["content"] = f"{message.content}\n{block}" if message.content else block
        elif message.role == "tool":
            if form.answers:
                sent = message.tool_call_id
                sent = _id(ToolCall("", id=sent), 0, form) if sent else None
                written["tool_call_id"] = sent or next(ids, "call00000")
                if message.name:
                    written["name"] = message.name
            else:
                written["role"] = "user"
        chat.append(written)
    chat = _singly(chat) if form.single else chat
    return merge(chat) if form.merged else chat


def without_blanks(chat: Chat) -> Chat:
    """The messages with a space for each reply that is empty, which some templates refuse."""
    return [
        m | {"content": " "} if m["role"] == "assistant" and not m["content"] else m for m in chat
    ]


def described(tools: Chat) -> Chat:
    """The tools with a description of each parameter, which some templates ask for."""
    made = json.loads(json.dumps(tools))
    for tool in made:
        properties = tool["function"]["parameters"].get("properties")
        for schema in properties.values() if isinstance(properties, dict) else ():
            if isinstance(schema, dict):
                schema.setdefault("description", "")
    return made


def first_with(text: str, chat: Chat) -> Chat:
    """The messages with a system prompt in the first message of the user."""
    chat = [m | {"role": "user"} if m["role"] == "system" else m for m in chat]
    if not chat or chat[0]["role"] != "user":
        return [{"role": "user", "content": text}, *chat]
    return [chat[0] | {"content": f"{text}\n\n{chat[0]['content']}"}, *chat[1:]]


def _id(call: ToolCall, number: int, form: Form) -> str:
    if form.ids == "named" and call.name:
        return f"functions.{call.name}:{number}"
    name = call.id or f"call{number:05}"
    if form.ids == "short" and not re.fullmatch("[A-Za-z0-9]{9}", name):
        return hashlib.sha256(name.encode()).hexdigest()[:9]
    return name


def _call(name: str, call: ToolCall, form: Form) -> dict[str, Any]:
    arguments = call.arguments
    if form.as_text:
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": arguments}}


_CALL_BEGINS = re.compile(r"```|<\||<｜|<tool|<function|\[TOOL|\[\w*\(|[\[{]")


def _before_calls(text: str) -> str:
    """What a policy said before its first call."""
    begins = _CALL_BEGINS.search(text)
    return text[: begins.start()].rstrip() if begins else text


def _singly(chat: Chat) -> Chat:
    """Each call in a message of its own, followed by its answer."""
    made: Chat = []
    at = 0
    while at < len(chat):
        message, at = chat[at], at + 1
        calls = message.get("tool_calls", ())
        if len(calls) < 2:
            made.append(message)
            continue
        answers = list(itertools.takewhile(lambda m: m["role"] == "tool", chat[at:]))
        at += len(answers)
        for number, call in enumerate(calls):
            lead = message if number == 0 else {"role": "assistant", "content": ""}
            made.append(lead | {"tool_calls": [call]})
            its = [m for m in answers if m.get("tool_call_id") == call["id"]] or answers[:1]
            made += its[:1]
            answers = [m for m in answers if m not in its[:1]]
        made += answers
    return made


def merge(chat: Chat) -> Chat:
    """Neighbours of one role as one message, and what a user adds to a tool's answer with it."""
    made: Chat = []
    for message in chat:
        last = made[-1] if made else {"role": None}
        same = last["role"] == message["role"] != "tool"
        if same or (last["role"], message["role"]) == ("tool", "user"):
            contents = filter(None, (last["content"], message["content"]))
            made[-1] = message | last | {"content": "\n\n".join(contents)}
            calls = [*last.get("tool_calls", ()), *message.get("tool_calls", ())]
            made[-1] |= {"tool_calls": calls} if calls else {}
        else:
            made.append(message)
    return made


# ------------------------------------------------------------------------------------- probes


def _ask(number: int) -> Message:
    return Message("user", f"probe-ask-{number}")


def _calling(*numbers: int, text: str = "", id: str | None = None) -> Message:
    calls = (ToolCall("probe_call", {"at": f"probe-value-{number}"}, id) for number in numbers)
    return Message("assistant", text, tuple(calls))


def _answering(number: int, id: str | None = None) -> Message:
    return Message("tool", f"probe-result-{number}", name="probe_back", tool_call_id=id)


_SAY = Message("assistant", "probe-say")
_TALK = (
    (_ask(1),),
    (_ask(1), _SAY, _ask(2)),
    (_ask(1), _ask(2)),
    (_ask(1), _SAY, _ask(2), _SAY, _ask(3), _ask(4)),
)
_ACT = (
    (_ask(1), _calling(1, id="chatcmpl-tool-1"), _answering(1, "chatcmpl-tool-1")),
    (_ask(1), _calling(1), _answering(1), _calling(2), _answering(2), _SAY, _ask(2)),
    (_ask(1), _calling(1, 2), _answering(1), _answering(2)),
    (_ask(1), _calling(1), _answering(1), _ask(2)),
    (
        *(_ask(1), _calling(1, text="probe-said-1"), _answering(1)),
        *(_calling(2, text="probe-said-2"), _answering(2)),
    ),
)
SYSTEM = "probe-system"
"""The system prompt of the probes."""

TOOL = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "Probes.",
        "parameters": {
            "type": "object",
            "properties": {"at": {"type": "string", "description": "Where."}},
            "required": ["at"],
        },
    },
}


def _without_calls(message: Message) -> str | None:
    return None if message.content.startswith("probe-said") else message.content


def _forms(tools: bool) -> Iterator[Form]:
    """Forms, those that differ least from the usual one first."""
    if not tools:  # such a template has no tool messages either
        yield from (Form(False, False, merged) for merged in (False, True))
        return
    options = [
        ((True, True), (False, True), (False, False)),  # calls, answers
        (False, True),
        (False, True),
        (False, True),
        ("plain", "short", "named"),
        (False, True),
    ]
    places = itertools.product(*(range(len(option)) for option in options))
    for place in sorted(places, key=lambda place: (place[0], sum(map(bool, place)))):
        (calls, answers), *rest = (option[at] for option, at in zip(options, place, strict=True))
        yield Form(calls, answers, *rest)


class Found(NamedTuple):
    """A form, and how many of the probes a template takes in it."""

    form: Form
    taken: int

    @property
    def rank(self) -> tuple[int, bool]:
        """What is better comes later; calls in their own field are better than in the text."""
        return self.taken, self.form.calls


def find_form(render: Render, tools: bool, acts: bool) -> Found:
    """The form in which a template takes all conversations, or else most of them.

    render: of messages that were written in a form, with the system prompt `SYSTEM`.
    tools: whether the template shows tools by itself.
    acts: whether there are any tools, so that conversations may hold calls.
    """
    talks = _TALK + (_ACT if acts else ())
    best = Found(Form(), -1)
    for form in _forms(tools):
        found = Found(form, sum(_takes(render, talk, form) for talk in talks))
        if found.taken == len(talks):
            return found
        best = max(best, found, key=lambda found: found.taken)
    return best


def _takes(render: Render, talk: Sequence[Message], form: Form) -> bool:
    """Whether a template takes a conversation in a form, and shows all of it."""
    try:
        prompt = render(write_messages(talk, form, _without_calls), form)
    except PromptRefused:
        return False
    if SYSTEM not in prompt:
        return False
    for message in talk:
        lifted = form.calls and form.lifted and message.tool_calls
        if message.content not in prompt and not lifted:
            return False
        if message.tool_calls and (lifted or _without_calls(message) is not None):
            values = [call.arguments["at"] for call in message.tool_calls]
            # A dict that was written as Python writes it has other quotes than JSON.
            wrong = [(f": '{v}'", f'\\"{v}') for v in values]  # nor is JSON text in JSON text right
            if any(v not in prompt for v in values) or any(w in prompt for ws in wrong for w in ws):
                return False
            if prompt.count("probe_call") < len(values):
                return False
    return True
