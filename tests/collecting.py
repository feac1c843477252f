"""Collections of the tiny environment of `tests.buttons`."""

import random

from lib.rollouts.collection import collect
from lib.rollouts.policies import ScriptedPolicy
from tests import buttons

BUTTONS = buttons.Buttons()


def guess(context, key):
    """Press a button that depends on the key and the turn alone."""
    return buttons.press(random.Random(f"{key}{len(context.messages)}").randrange(4))


class Counting(ScriptedPolicy):
    """Guesses, and keeps the keys of the attempts it was asked for."""

    def __init__(self, script=guess, name="guess"):
        super().__init__(script, name)
        self.started = []

    def start(self, keys):
        self.started += keys
        return super().start(keys)


def run(out, n=4, policy=None, environment=BUTTONS, **settings):
    settings = {"pair": "p", "arm": "a", "tasks": environment.tasks(), **settings}
    return collect(policy or Counting(), environment, n=n, out=out, **settings)


def lines(out):
    files = sorted(out.glob("rollouts-*"))
    return [line for file in files for line in file.read_bytes().splitlines(keepends=True)]


def ran(policy):
    return [(key.task, key.attempt) for key in policy.started]
