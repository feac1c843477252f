"""A policy that asks a recorded server, and what it replies."""

from lib.rollouts.policies import ServerPolicy
from lib.rollouts.prompts import Harness
from lib.trajectories.schema import RolloutKey
from tests.conversations import ASKED


def server_policy(address, prompt_format=None, **settings):
    quick = {"first_wait": 0.001, "longest_wait": 0.002, "timeout": 5.0}
    sampling = {"temperature": 0.7, "max_new_tokens": 9}
    return ServerPolicy(address, "m", prompt_format or Harness(), **(quick | sampling | settings))


def ask(policy, count=1, context=ASKED):
    session = policy.start([RolloutKey(0, "t", attempt) for attempt in range(count)])
    return session.reply(range(count), [context] * count)
