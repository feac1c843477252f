"""From the text of a reply to its thought, what was said, and its calls."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lib.rollouts.call_formats.thoughts import split_thought
from lib.rollouts.lenient_json import Effort, read_value
from lib.rollouts.tool_calls import Parser, cast_arguments, load_json, parse_tool_calls
from lib.trajectories.schema import Tool, ToolCall


class ReadReply(NamedTuple):
    """A reply as it was read.

    thought: what the policy thought, without tags. No call in it was read.
    content: what it said, its calls included as they were written.
    calls: in order; none for a final answer.
    repairs: that were made to read them.
    """

    thought: str
    content: str
    calls: tuple[ToolCall, ...]
    repairs: tuple[str, ...] = ()


def read_reply(
    text: str,
    tools: Sequence[Tool],
    tokenizer=None,
    *,
    prompt: str = "",
    parser: Parser = "robust",
) -> ReadReply:
    """Read a reply that a model wrote, or that a server left in its text.

    tools: that were offered; calls of others are dropped.
    tokenizer: of the model, if it is known; its own response template is tried first.
    prompt: what the reply continues. Only its end counts, where a template may open a thought.
    parser: "robust" reads the formats of all models; the others read as
        :func:`lib.rollouts.tool_calls.parse_tool_calls` does.

    No text makes it raise an error or run for long.
    """
    thought, content = split_thought(text, prompt)
    parsed = parse_tool_calls(content, tools, parser)
    return ReadReply(thought, content, parsed.calls, parsed.repairs)


def read_arguments(sent: Any, tool: Tool | None = None) -> dict[str, Any] | None:
    """Read the arguments of a call as a server sent them; None if they are no object.

    sent: an object, or JSON text. Null, "" and "[]" are no arguments. Text that is encoded twice,
        quoted as in Python or followed by other text is read as the same text in a reply would be.
        An object whose end is missing is none.
    tool: whose schema tells which strings to cast; None casts nothing.
    """
    if sent is None:
        return {}
    effort = Effort()
    for _ in range(3):  # as often as text may be encoded
        if not isinstance(sent, str):
            break
        text = sent.strip()
        value = load_json(text)
        if value is None and text.startswith("{"):
            reading = read_value(text, 0, effort)
            value = reading.value if reading.whole else None
        sent = value if value is not None or text not in ("", "null", "None") else {}
    if sent == []:
        return {}
    if not isinstance(sent, dict):
        return None
    return sent if tool is None else cast_arguments(sent, tool, effort)
