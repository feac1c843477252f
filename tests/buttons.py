"""A tiny world."""

from lib.envs import Outcome
from lib.trajectories.schema import Message, Tool, ToolCall

PRESS = Tool("press", "Press a button.", {"properties": {"n": {"type": "integer"}}})


class Buttons:
    """Task "t3" is solved by pressing button 3; another button takes one of three tries."""

    name = "buttons"

    def __init__(self, count: int = 4):
        self.count = count

    def tasks(self):
        return [f"t{number}" for number in range(self.count)]

    def reset(self, task, attempt):
        return _Episode(int(task[1:]))

    def oracle(self, episode):
        return press(episode.wanted)


class _Episode:
    system, tools = "Press the right button.", (PRESS,)

    def __init__(self, wanted):
        self.wanted, self.tries, self.closed = wanted, 0, False
        self.messages = (Message("user", f"Find button {wanted}."),)
        self.seeds = {"world": wanted}
        self.outcome = None

    @property
    def done(self):
        return self.outcome is not None

    def step(self, reply):
        self.tries += 1
        pressed = [call.arguments.get("n") for call in reply.tool_calls]
        if self.wanted in pressed:
            self.outcome = Outcome(True, info={"tries": self.tries})
        elif self.tries == 3:
            self.outcome = Outcome(False, "three tries", {"tries": 3})
        return () if self.done else (Message("tool", f"not {pressed}", name="press"),)

    def close(self):
        self.closed = True


def press(number: int) -> Message:
    """The message that presses a button."""
    return Message("assistant", "", (ToolCall("press", {"n": number}),))
