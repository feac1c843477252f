"""A conversation with the tiny environment of `tests.buttons`."""

from lib.rollouts.policies import Context
from lib.trajectories.schema import Message
from tests import buttons

CALL = '```tool_call\n[{"name": "press", "arguments": {"n": 3}}]\n```'
ASKED = Context("Be brief.", (buttons.PRESS,), (Message("user", "Press 3."),))


def continued(*messages):
    return ASKED._replace(messages=(*ASKED.messages, *messages))
