"""Messages of chat logs, converted to `lib.trajectories.Message`."""

import json
from typing import Any

from lib.outcomes.errors import OutcomesError, shown
from lib.trajectories.schema import Message, ToolCall

_ROLES = {"developer": "system", "function": "tool"}


def read_messages(raw: Any, place: str) -> list[Message]:
    """Convert a list of messages as chat APIs, Inspect, tau2 or verifiers write them.

    Content may be text or a list of parts. What a model thought, a field or a part of its own, is
    the message's `thought`. Calls are those that the log lists: none is read from text, so none
    from a thought. Raises OutcomesError naming the message that is not understood.
    """
    if not isinstance(raw, list):
        raise OutcomesError(f"{place}: expected a list of messages, got {type(raw).__name__}.")
    messages = []
    for number, message in enumerate(raw):
        if isinstance(message, dict) and isinstance(message.get("tool_messages"), list):
            messages += read_messages(message["tool_messages"], f"{place}, message {number}")
        else:
            messages.append(_message(message, f"{place}, message {number}"))
    return messages


def _message(raw, place) -> Message:
    if not isinstance(raw, dict) or not isinstance(raw.get("role"), str):
        raise OutcomesError(f"{place}: expected an object with a 'role'.")
    role = _ROLES.get(raw["role"], raw["role"])
    calls = raw.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise OutcomesError(
            f"{place}, 'tool_calls': expected a list of calls or null, got {shown(calls)}."
        )
    call_id = raw.get("tool_call_id") or (raw.get("id") if role == "tool" else None)
    name = raw.get("name") or raw.get("function")
    text, thoughts = _text(raw.get("content"), place)
    thoughts += [raw[field] for field in _THOUGHTS if isinstance(raw.get(field), str)]
    return Message(
        role,
        text,
        tuple(_call(call, place) for call in calls),
        name=name if isinstance(name, str) else None,
        tool_call_id=call_id if isinstance(call_id, str) else None,
        thought="\n\n".join(dict.fromkeys(filter(None, map(str.strip, thoughts)))),
    )


_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


def _text(content, place) -> tuple[str, list[str]]:
    """Text, or the texts of all parts, and the thoughts among them.

    A part that is neither becomes its type in brackets.
    """
    if content is None:
        return "", []
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        raise OutcomesError(
            f"{place}: expected content as text or parts, got {type(content).__name__}."
        )
    parts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif isinstance(part, dict) and isinstance(part.get("reasoning"), str):
            thoughts.append(part["reasoning"])
        elif isinstance(part, dict) and isinstance(part.get("thinking"), str):
            thoughts.append(part["thinking"])
        else:
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            parts.append(f"[{kind}]")
    return "\n".join(parts), thoughts


def _call(raw, place) -> ToolCall:
    """A call, flat or under `function` as in chat APIs; its arguments may be JSON text."""
    if isinstance(raw, str):  # verifiers keep calls as JSON text
        raw = _json(raw)
    inner = raw.get("function") if isinstance(raw, dict) else None
    call = {**raw, **inner} if isinstance(inner, dict) else raw
    if isinstance(call, dict) and isinstance(inner, str):
        call = {**raw, "name": inner}
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise OutcomesError(f"{place}: expected a tool call with a name, got {shown(raw)}.")
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        arguments = _json(arguments)
    if not isinstance(arguments, dict):  # a policy may write anything
        arguments = {"": call.get("arguments")} if call.get("arguments") else {}
    return ToolCall(
        call["name"], arguments, call.get("id") if isinstance(call.get("id"), str) else None
    )


def _json(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
