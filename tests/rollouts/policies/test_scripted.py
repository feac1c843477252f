"""A policy that follows a function."""

from lib.rollouts.policies import Reply, ScriptedPolicy
from lib.trajectories.schema import Message, RolloutKey, Turn
from tests import buttons
from tests.conversations import ASKED


def test_a_script_may_say_text_messages_or_whole_replies():
    said = iter(["text", buttons.press(1), Reply(Message("assistant", ""), Turn(0), "timeout")])
    session = ScriptedPolicy(lambda context, key: next(said), "three").start(
        [RolloutKey(0, "t", 0)]
    )
    one, two, three = (session.reply([0], [ASKED])[0] for _ in range(3))
    assert (one.message.content, two.message, three.trouble) == (
        "text",
        buttons.press(1),
        "timeout",
    )
