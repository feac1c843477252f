"""Rollouts, messages and tools refuse what is not valid."""

from dataclasses import replace

import pytest

from lib.trajectories.schema import Message, Tool, TrajectoryError, Turn, offered_tools, tools_key
from tests.stored_rollouts import PWD, rollout


def test_offered_tools():
    assert offered_tools([PWD], rollout().messages) == (PWD, Tool("ls"))


def test_tools_key_depends_on_the_tools():
    assert tools_key([PWD]) == tools_key([replace(PWD)])
    assert tools_key([PWD]) != tools_key([replace(PWD, description="")])


def test_tool_reads_the_wrapped_form():
    raw = {"name": "pwd", "description": "d", "parameters": {"type": "object"}}
    wrapped = {"type": "function", "function": raw}
    assert Tool.from_dict(wrapped) == Tool.from_dict(raw) == Tool("pwd", "d", {"type": "object"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"passed": None}, "outcome is missing needs a reason"),
        ({"passed": 1}, "passed must be True, False or None, got 1"),
        ({"attempt": -1}, "attempt must be an integer from 0 up, got -1"),
        ({"task": 3}, "task must be a string, got 3"),
        ({"messages": ()}, "belongs to message 1, but there are 0 messages"),
        ({"turns": (Turn(0),)}, "belongs to message 0, which is not an assistant's"),
    ],
)
def test_bad_rollouts_are_refused(changes, message):
    with pytest.raises(TrajectoryError, match=message):
        rollout(**changes)


def test_bad_messages_are_refused():
    with pytest.raises(TrajectoryError, match=r"role must be one of system, .* got 'bot'"):
        Message("bot", "")
    with pytest.raises(TrajectoryError, match="content must be a string, got NoneType"):
        Message("user", None)


def test_logprobs_match_their_tokens():
    with pytest.raises(TrajectoryError, match="logprobs has 1 values for 2 action tokens"):
        Turn(0, (1,), (2, 3), (-1.0,))
    with pytest.raises(TrajectoryError, match="must be finite"):
        Turn(0, (1,), (2,), (float("nan"),))
