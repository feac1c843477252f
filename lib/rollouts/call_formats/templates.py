"""Replies read by the tokenizer's own response template, where a checkpoint brings it."""

from collections.abc import Sequence
from typing import Any

from lib.trajectories.schema import Tool, ToolCall

_LONGEST = 10_000
"""Longer replies are not read so: patterns of a checkpoint may take quadratic time,
which is 0.4 s here for those that transformers has for Qwen 3.5."""


def read_by_template(
    tokenizer: Any, text: str, prompt: str, tools: Sequence[Tool]
) -> tuple[ToolCall, ...]:
    """The calls that the response template of a tokenizer reads; () if it has none, or fails.

    prompt: what the reply continues, from which the template learns whether a thought was open.
    Calls of tools that were not offered are dropped.
    """
    if getattr(tokenizer, "response_template", None) is None or len(text) > _LONGEST:
        return ()
    offered = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]
    try:
        read = tokenizer.parse_response(text, prefix=prompt, tools=offered)
    except Exception:  # whatever a template meets in a model's text, the text is read otherwise
        return ()
    sent = read.get("tool_calls") if isinstance(read, dict) else None
    known = {tool.name for tool in tools}
    calls = []
    for call in sent if isinstance(sent, list) else ():
        function = call.get("function", call) if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        arguments = function.get("arguments", {}) if isinstance(function, dict) else None
        if name in known and isinstance(arguments, dict):
            calls.append(ToolCall(name, arguments))
    return tuple(calls)
