"""Messages of chat logs."""

import pytest

from lib.outcomes.importers.messages import read_messages

CALL = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    "thought",
    [
        {"reasoning_content": CALL, "content": "Yes."},
        {"reasoning": CALL, "content": "Yes."},
        {"reasoning": CALL, "reasoning_content": CALL, "content": "Yes."},
        {"content": [{"type": "reasoning", "reasoning": CALL}, {"type": "text", "text": "Yes."}]},
        {"content": [{"type": "thinking", "thinking": CALL}, {"type": "text", "text": "Yes."}]},
    ],
)
def test_a_thought_is_kept_apart_and_no_call_is_read_from_it(thought):
    (message,) = read_messages([{"role": "assistant", **thought}], "log")
    assert (message.content, message.thought, message.tool_calls) == ("Yes.", CALL, ())
