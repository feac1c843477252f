"""The protocol of every world an agent acts in: the lab's own worlds and the real benchmarks.

An environment names its tasks and starts episodes; an episode takes the assistant's messages one by
one and answers with what comes back. Episodes share nothing, so a collector may keep thousands of
them, step them in any order and from any thread, and batch only what costs time, the policy.

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

    ``passed`` is None, with a reason, if it could not be graded: that is missing, not a failure. A
    failure's ``reason`` says what the grader missed. ``info`` holds JSON values (rewards, rounds).
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

    ``system``, ``tools`` and ``messages`` are what the policy is told at the start; ``seeds`` what
    the world drew from. Messages that come later may bring tools (:attr:`Message.tools`). An
    episode that can tell the ``info`` of its outcome so far has it as its own ``info``, which is
    kept of an attempt that is cut.
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
        """Take the assistant's message and return what comes back, nothing if that was the end.

        A world acts on ``reply.tool_calls`` or, if it has no tools, on ``reply.content``. Whatever
        the message holds, ``step`` does not raise; it does if the episode is done.
        """

    def close(self) -> None:
        """Free what the episode holds; it may be closed early and more than once."""


@runtime_checkable
class Environment(Protocol):
    """A set of tasks; ``name`` is the benchmark in the table of outcomes."""

    name: str

    def tasks(self) -> Sequence[str]:
        """Return the ids of the tasks, in a fixed order; the same id is the same task for ever."""

    def reset(self, task: str, attempt: int) -> Episode:
        """Start attempt number ``attempt``; a task and attempt always start and go on alike."""

    def oracle(self, episode: Episode) -> Message:
        """Return the reply that solves the task from where the episode stands, if one is known."""


def null(episode: Episode) -> Message:
    """Reply with nothing, as the weakest policy does."""
    return Message("assistant", "")


def play(episode: Episode, reply: Callable[[Episode], Message]) -> tuple[list[Message], Outcome]:
    """Run an episode to its end with a policy that needs no batching, and close it.

    ``reply`` is for example :func:`null`, or the ``oracle`` of the environment.
    """
    messages = list(episode.messages)
    try:
        while not episode.done:
            said = reply(episode)
            messages += [said, *episode.step(said)]
        return messages, episode.outcome
    finally:
        episode.close()
