"""What a server answered, read with care: nothing in it need have the shape that it should."""

import json
import re
import time
from typing import Any

from lib.rollouts.tool_calls import load_json
from lib.trajectories.schema import ToolCall


class Malformed(ValueError):
    """An answer that claims success and holds no completion; says why."""


_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|exceed_context_size_error"
    r"|exceeds the available context size|longer than the maximum model length"
    r"|longer than the model's context length",
    re.IGNORECASE,
)
"""How vLLM, llama.cpp, SGLang and OpenAI say that a prompt does not fit the model's context."""


def says_too_long(error) -> bool:
    """Whether an `openai.APIStatusError` says that the request does not fit the model's context.

    Only the message, type and code of the error are looked at: the rest may repeat the request.
    """
    body = error.body if isinstance(error.body, dict) else {}
    said = (body.get(name) for name in ("code", "type", "message"))
    return error.status_code in (400, 413, 422) and any(
        isinstance(one, str) and _TOO_LONG.search(one) for one in said
    )


def read_body(response, deadline: float) -> bytes:
    """All bytes of a streamed response; openai's error if they break off or come too slowly.

    deadline: by `time.monotonic`, looked at with each piece that comes.
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
    """The first choice that an answer holds; Malformed if there is none."""
    try:
        answer = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON ({type(error).__name__}: {str(error)[:200]})") from error
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Malformed("it holds no completion")
    return choices[0]


def finish_of(choice: dict[str, Any]) -> str | None:
    """Why a reply ended, None if that is not said in a word."""
    finish = choice.get("finish_reason")
    return finish if isinstance(finish, str) else None


def likely_of(choice: dict[str, Any]) -> tuple[tuple[str, dict[str, float]], ...]:
    """The likeliest tokens at each token, with their log-probs; () where they were not given.

    Read as chat and as completions have them; what has another shape is left out.
    """
    told = choice.get("logprobs")
    if not isinstance(told, dict):
        return ()
    if isinstance(told.get("content"), list):
        entries = [one for one in told["content"] if isinstance(one, dict)]
        return tuple(
            (str(one.get("token", "")), _log_probs(one.get("top_logprobs") or [one]))
            for one in entries
        )
    tokens, tops = (told.get(name) for name in ("tokens", "top_logprobs"))
    if not isinstance(tokens, list) or not isinstance(tops, list):
        return ()
    return tuple((str(token), _log_probs(top)) for token, top in zip(tokens, tops, strict=False))


def _log_probs(told: Any) -> dict[str, float]:
    if isinstance(told, list):
        told = {one.get("token"): one.get("logprob") for one in told if isinstance(one, dict)}
    pairs = told.items() if isinstance(told, dict) else ()
    return {token: float(value) for token, value in pairs if isinstance(value, int | float)}


def text_of(fields: dict[str, Any], name: str) -> str:
    """The text that a field holds, "" for null; Malformed if it holds something else."""
    text = fields.get(name)
    if text is not None and not isinstance(text, str):
        raise Malformed(f"{name} is a {type(text).__name__}")
    return text or ""


def message_of(choice: dict[str, Any]) -> tuple[str, tuple[ToolCall, ...], bool]:
    """The text and the calls of a chat message, and whether the server split any call off.

    A call whose arguments the server tore, or that no JSON file can hold, stays text.
    """
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Malformed(f"message is a {type(message).__name__}")
    text, split = text_of(message, "content"), message.get("tool_calls") or []
    if not isinstance(split, list):
        raise Malformed(f"tool_calls is a {type(split).__name__}")
    calls = []
    for call in split:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise Malformed("a tool call names no function")
        name, arguments = function["name"], function.get("arguments")
        if isinstance(arguments, dict):  # as some servers have it
            arguments = json.dumps(arguments)
        elif arguments is not None and not isinstance(arguments, str):
            raise Malformed(f"the arguments of a tool call are a {type(arguments).__name__}")
        read = load_json(arguments or "{}")
        if isinstance(read, dict):
            known = call.get("id")
            calls.append(ToolCall(name, read, known if isinstance(known, str) else None))
        else:
            text += f"\n{name} {arguments}"
    return text, tuple(calls), bool(split)
