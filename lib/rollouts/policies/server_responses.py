"""Read a server's answers with care: no part of them need have the shape that it should."""

import json
import re
import time
from typing import Any

from lib.rollouts.tool_calls import load_json
from lib.trajectories.schema import ToolCall


class Malformed(ValueError):
    """An answer with a success status but without a usable completion; says why."""


_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|exceed_context_size_error"
    r"|exceeds the available context size|longer than the maximum model length"
    r"|longer than the model's context length",
    re.IGNORECASE,
)
"""Errors of vLLM, llama.cpp, SGLang and OpenAI for a prompt longer than the model's context."""


def says_too_long(error) -> bool:
    """Whether an `openai.APIStatusError` says that the request does not fit the model's context.

    Only the message, type and code of the error are searched: the rest may repeat the request.
    """
    body = error.body if isinstance(error.body, dict) else {}
    fields = (body.get(name) for name in ("code", "type", "message"))
    return error.status_code in (400, 413, 422) and any(
        isinstance(text, str) and _TOO_LONG.search(text) for text in fields
    )


def read_body(response, deadline: float) -> bytes:
    """Read all bytes of a streamed response.

    deadline: on the clock of `time.monotonic`, checked after each piece.

    Raises openai's APITimeoutError past the deadline, and its APIConnectionError if the response
    breaks off.
    """
    import openai

    body = bytearray()
    try:
        for piece in response.iter_bytes():
            body += piece
            if time.monotonic() > deadline:
                raise TimeoutError
    except Exception as error:  # of whichever HTTP library openai uses
        slow = "Timeout" in type(error).__name__
        kind = openai.APITimeoutError if slow else openai.APIConnectionError
        raise kind(request=response.http_request) from error
    return bytes(body)


def first_choice(body: bytes) -> dict[str, Any]:
    """The first choice in an answer; raises Malformed if there is none."""
    try:
        answer = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON ({type(error).__name__}: {str(error)[:200]})") from error
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Malformed("it holds no completion")
    return choices[0]


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


def text_of(fields: dict[str, Any], name: str) -> str:
    """The text in a field, "" for null; raises Malformed for anything else."""
    text = fields.get(name)
    if text is not None and not isinstance(text, str):
        raise Malformed(f"{name} is a {type(text).__name__}")
    return text or ""


def message_of(choice: dict[str, Any]) -> tuple[str, tuple[ToolCall, ...], bool]:
    """The text and the calls of a chat message, and whether the server sent any calls.

    Calls whose arguments are not a valid JSON object are added to the text.
    """
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Malformed(f"message is a {type(message).__name__}")
    text, sent = text_of(message, "content"), message.get("tool_calls") or []
    if not isinstance(sent, list):
        raise Malformed(f"tool_calls is a {type(sent).__name__}")
    calls = []
    for call in sent:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise Malformed("a tool call names no function")
        name, arguments = function["name"], function.get("arguments")
        if isinstance(arguments, dict):  # as some servers send them
            arguments = json.dumps(arguments)
        elif arguments is not None and not isinstance(arguments, str):
            raise Malformed(f"the arguments of a tool call are a {type(arguments).__name__}")
        read = load_json(arguments or "{}")
        if isinstance(read, dict):
            number = call.get("id")
            calls.append(ToolCall(name, read, number if isinstance(number, str) else None))
        else:
            text += f"\n{name} {arguments}"
    return text, tuple(calls), bool(sent)
