"""Read a server's answers with care: no part of them need have the shape that it should."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lib.rollouts.call_formats import read_arguments
from lib.rollouts.tool_calls import Parser, load_json
from lib.trajectories.schema import Message, Tool, ToolCall


class Malformed(ValueError):
    """An answer with a success status but without a usable completion; says why."""


class Nothing(Malformed):
    """A message that holds nothing. The same request, with its seed, would be answered alike."""


class CutOff(Malformed):
    """The server ended a reply that the model had not finished."""


class Withheld(ValueError):
    """The server keeps a reply to itself, as a filter of contents does."""


_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|exceed_context_size_error"
    r"|exceeds the available context size|longer than the maximum model length"
    r"|longer than the model's context length",
    re.IGNORECASE,
)
"""Errors of vLLM, llama.cpp, SGLang and OpenAI for a prompt longer than the model's context."""


def says_too_long(status: int, error: Mapping[str, Any]) -> bool:
    """Whether an error says that the request does not fit the model's context.

    Only the message, type and code of the error are searched: the rest may repeat the request.
    """
    fields = (error.get(name) for name in ("code", "type", "message"))
    return status in (400, 413, 422) and any(
        isinstance(text, str) and _TOO_LONG.search(text) for text in fields
    )


_TEMPLATE = re.compile(
    r"\broles?\b.{0,60}(?:not supported|supported|alternate|unknown|unexpected)|must alternate"
    r"|Only user and assistant|single tool-calls? at once|Tool call IDs? should"
    r"|jinja|chat.?template|TemplateError|raise_exception",
    re.IGNORECASE | re.DOTALL,
)


def says_template_refuses(status: int, text: str) -> bool:
    """Whether an error says that the model's chat template refuses the messages.

    The same messages in another form may then be taken.
    """
    return status in (400, 422, 500) and bool(_TEMPLATE.search(text))


_CUT_OFF = ("error", "abort", "aborted", "cancelled", "canceled", "failed")
_WITHHELD = ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii")


def first_choice(answer: Any) -> dict[str, Any]:
    """The first choice in an answer.

    Raises Malformed if there is none, CutOff or Withheld if the server did not let it end.
    """
    answer = answer if isinstance(answer, dict) else {}
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        cause = answer.get("error") or answer.get("detail")
        raise Malformed("it holds no completion" + (f" but {_brief(cause)}" if cause else ""))
    finish = str(choices[0].get("finish_reason")).lower()
    if finish in _WITHHELD:
        raise Withheld(f"the server withheld the reply ({finish})")
    if finish in _CUT_OFF:
        cause = choices[0].get("error")
        raise CutOff(f"the server cut the reply off ({_brief(cause) if cause else finish})")
    return choices[0]


def _brief(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:200]


def finish_of(choice: dict[str, Any]) -> str | None:
    """Why a reply ended; None if the answer does not tell."""
    finish = choice.get("finish_reason")
    return finish if isinstance(finish, str) else None


def likely_of(choice: dict[str, Any]) -> tuple[tuple[str, dict[str, float]], ...]:
    """Each token of a reply with the log-probs of the likeliest tokens in its place, or ().

    The forms of chat and of completions are read; what has another shape is left out.
    """
    log_probs = choice.get("logprobs")
    if not isinstance(log_probs, dict):
        return ()
    if isinstance(log_probs.get("content"), list):
        entries = [entry for entry in log_probs["content"] if isinstance(entry, dict)]
        return tuple(
            (str(entry.get("token", "")), _log_probs(entry.get("top_logprobs") or [entry]))
            for entry in entries
        )
    tokens, tops = (log_probs.get(name) for name in ("tokens", "top_logprobs"))
    if not isinstance(tokens, list) or not isinstance(tops, list):
        return ()
    return tuple((str(token), _log_probs(top)) for token, top in zip(tokens, tops, strict=False))


def _log_probs(top: Any) -> dict[str, float]:
    """The tokens and log-probs of either form: a list of objects, or an object."""
    if isinstance(top, list):
        top = {item.get("token"): item.get("logprob") for item in top if isinstance(item, dict)}
    pairs = top.items() if isinstance(top, dict) else ()
    return {token: float(value) for token, value in pairs if isinstance(value, int | float)}


def text_of(choice: dict[str, Any]) -> str:
    """The text of a completion; raises Malformed if it has none."""
    if not isinstance(choice.get("text"), str):
        raise Malformed(f"its text is a {_kind(choice, 'text')}")
    return choice["text"]


def message_of(
    choice: dict[str, Any], tools: Sequence[Tool], parser: Parser = "native"
) -> tuple[Message, bool]:
    """A chat message, and whether the server sent any calls.

    tools: their schemas tell how arguments are cast.
    parser: of calls. "native" and "robust" repair broken arguments as they do in a text.

    What the model thought is in the message's `thought`. Calls whose arguments are no object are
    added to the text. Raises Malformed for a message that holds nothing at all.
    """
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Malformed(f"its message is a {_kind(choice, 'message')}")
    text, thought = _content(message)
    sent = message.get("tool_calls") or []
    if not sent and message.get("function_call"):  # as before there were tools
        sent = [{"function": message["function_call"]}]
    if not isinstance(sent, list):
        raise Malformed(f"tool_calls is a {_kind(message, 'tool_calls')}")
    if text is None and not sent and not thought:
        raise Nothing("its message holds neither content nor calls")
    text = text or ""
    calls = []
    for call in sent:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise Malformed("a tool call names no function")
        name, arguments = function["name"], function.get("arguments")
        if not (arguments is None or arguments == [] or isinstance(arguments, str | dict)):
            raise Malformed(f"the arguments of a tool call are a {_kind(function, 'arguments')}")
        read = _arguments(arguments, next((t for t in tools if t.name == name), None), parser)
        if read is not None:
            number = call.get("id")
            calls.append(ToolCall(name, read, number if isinstance(number, str) else None))
        else:
            text += f"\n{name} {arguments}"
    return Message("assistant", text, tuple(calls), thought=thought), bool(sent)


def _arguments(sent: Any, tool: Tool | None, parser: Parser) -> dict[str, Any] | None:
    if parser in ("native", "robust"):
        return read_arguments(sent, tool)
    text = json.dumps(sent) if isinstance(sent, dict) else sent
    value = load_json(text) if text else {}
    return value if isinstance(value, dict) else None


def _content(message: dict[str, Any]) -> tuple[str | None, str]:
    """The text of a message, None if it has none, and the thought."""
    named = (message.get(name) for name in ("reasoning_content", "reasoning", "thinking"))
    thoughts = [next((text for text in named if isinstance(text, str) and text), "")]
    content = message.get("content")
    if isinstance(content, list) and content:  # parts, as some servers send them
        texts = []
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind in ("text", "output_text") and isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif kind == "thinking" and isinstance(part.get("thinking"), str | list):
                inner = part["thinking"]
                inner = inner if isinstance(inner, list) else [{"text": inner}]
                thoughts += [str(piece["text"]) for piece in inner if "text" in piece]
            else:
                raise Malformed("its content is a list of what is not text")
        content = "".join(texts)
    if content is None and isinstance(message.get("refusal"), str):
        content = message["refusal"]
    if content is not None and not isinstance(content, str):
        raise Malformed(f"its content is a {_kind(message, 'content')}")
    return content, "\n\n".join(filter(None, thoughts)).strip()


def _kind(fields: dict[str, Any], name: str) -> str:
    """The type of a field, in words of JSON."""
    kinds = {type(None): "null", dict: "object", list: "list", str: "string", bool: "boolean"}
    if name not in fields:
        return "missing field"
    return kinds.get(type(fields[name]), "number")
