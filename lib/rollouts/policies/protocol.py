"""What a policy is: the protocol, and what goes in and comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from lib.trajectories.schema import Message, RolloutKey, Tool, Turn


class PolicyError(RuntimeError):
    """The policy cannot go on at all: says what is wrong, where, and what to do."""


class Context(NamedTuple):
    """What a policy is told before it replies; tools are all those offered so far."""

    system: str
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Reply:
    """One reply.

    message: what the policy said; empty where nothing came.
    turn: its tokens and log-probs where known, and why it ended ("stop", "eos", "length",
        "context"); whoever keeps the conversation sets the number of its message right.
    trouble: why no reply could be had (a timeout, a server error), "" if one was. The attempt is
        then missing, not failed.
    ties: tokens that rounding could have changed.
    likely: of each token its text and the log-probs of the likeliest ones in its place, itself
        among them; empty unless a server was asked for them (`ServerPolicy`, extra).
    """

    message: Message
    turn: Turn
    trouble: str = ""
    ties: int = 0
    likely: tuple[tuple[str, Mapping[str, float]], ...] = ()


class Session(Protocol):
    """Rollouts that go on together."""

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        """Reply to `contexts[i]` as rollout `rows[i]`, a number of the keys the session has."""


class Policy(Protocol):
    """Begins rollouts.

    settings: every setting that matters to what is sampled, as JSON values.
    concurrency: threads that may wait for replies of different sessions at once; None for a policy
        that is asked from one thread, for the replies of many rollouts in one call.
    """

    settings: Mapping[str, Any]
    concurrency: int | None

    def start(self, keys: Sequence[RolloutKey]) -> Session:
        """Begin rollouts, one a key."""
