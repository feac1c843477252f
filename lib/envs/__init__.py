"""Environments that an agent acts in: one protocol, the lab's own environments, real benchmarks.

An environment names its tasks and starts episodes; an episode takes the assistant's messages one
after another and answers each. Episodes share nothing, so a collector may keep thousands of them,
step them in any order and from any thread.

    >>> from lib.envs import null, open_environment, play
    >>> environment = open_environment("sokoban:test", count=2)
    >>> environment.tasks()
    ['sokoban-test-00000', 'sokoban-test-00001']
    >>> episode = environment.reset("sokoban-test-00000", attempt=0)
    >>> messages, outcome = play(episode, environment.oracle)
    >>> outcome.passed
    True
    >>> messages, outcome = play(environment.reset("sokoban-test-00000", attempt=0), null)
    >>> outcome.passed, outcome.reason
    (False, 'not solved in 5 turns')
"""

from lib.envs.catalog import BENCHMARKS, ENVIRONMENTS, MissingBenchmark, open_environment, require
from lib.envs.protocol import Environment, Episode, Outcome, null, play

__all__ = [
    "BENCHMARKS",
    "ENVIRONMENTS",
    "Environment",
    "Episode",
    "MissingBenchmark",
    "Outcome",
    "null",
    "open_environment",
    "play",
    "require",
]
