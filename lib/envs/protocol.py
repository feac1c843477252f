"""The protocol of every environment: the lab's own and the real benchmarks.

An environment names its tasks and starts episodes; an episode takes the messages of the assistant
one after another and answers each. Episodes share nothing, so a collector may keep thousands of
them, step them in any order and from any thread, and batch only what costs time: the policy.

    episode = environment.reset(task, attempt)
    messages = list(episode.messages)
    while not episode.done:
        reply = ...  # from (episode.system, episode.tools, messages)
        messages += [reply, *episode.step(reply)]
    episode.outcome
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from lib.trajectories.schema import Message, Tool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended.

    ``passed`` is None, with a ``reason``, if the episode could not be graded: it is then missing,
    not a failure. The ``reason`` of a failure says what the grader missed. ``info``
    holds JSON values (rewards, rounds).
    """

    passed: bool | None
    reason: str = ""
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        if self.passed is None and not self.reason:
            raise ValueError("an outcome that is missing needs a reason")


@runtime_checkable
class Episode(Protocol):
    """One attempt at one task.

    The policy starts from ``system``, ``tools`` and ``messages``; later messages may bring further
    tools (:attr:`Message.tools`). The environment drew its random numbers from ``seeds``. An
    episode may have an ``info`` of its own: that of its outcome so far, which is kept if the
    attempt is cut short.
    """

    system: str
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]
    seeds: Mapping[str, int]

    @property
    def outcome(self) -> Outcome | None:
        """The outcome once the episode is done, None before."""

    @property
    def done(self) -> bool:
        """Whether the episode takes no more messages."""

    def step(self, reply: Message) -> tuple[Message, ...]:
        """Take the assistant's message and return the answers to it, none at the end.

        An environment acts on ``reply.tool_calls`` or, if it has no tools, on ``reply.content``. No
        message makes ``step`` raise, but a call after the end of the episode does.
        """

    def close(self) -> None:
        """Free what the episode holds; it may be closed early and more than once."""


@runtime_checkable
class Environment(Protocol):
    """A set of tasks; ``name`` is the benchmark in the table of outcomes."""

    name: str

    def tasks(self) -> Sequence[str]:
        """The ids of the tasks, in a fixed order; an id means the same task for ever."""

    def reset(self, task: str, attempt: int) -> Episode:
        """Start attempt number ``attempt``; the same attempt at a task always goes the same way."""

    def oracle(self, episode: Episode) -> Message:
        """The reply that leads to a solution from the episode's present state, if one is known."""


def null(episode: Episode) -> Message:
    """An empty reply, as the weakest policy gives."""
    return Message("assistant", "")


def play(episode: Episode, reply: Callable[[Episode], Message]) -> tuple[list[Message], Outcome]:
    """Run an episode to its end, reply after reply, and close it; its messages and its outcome.

    ``reply`` makes the assistant's message: :func:`null`, or the ``oracle`` of the environment.
    """
    messages = list(episode.messages)
    try:
        while not episode.done:
            message = reply(episode)
            messages += [message, *episode.step(message)]
        return messages, episode.outcome
    finally:
        episode.close()
