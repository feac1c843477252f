"""What a policy is: its protocol, the contexts it takes and the replies it gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from lib.trajectories.schema import Message, RolloutKey, Tool, Turn


class PolicyError(RuntimeError):
    """The policy cannot reply to anything; says what is wrong, where, and what to do."""


class PromptRefused(PolicyError):
    """The prompt format cannot write one conversation; says why. The attempt is then missing."""


class Context(NamedTuple):
    """What a policy sees before it replies; `tools` are all tools offered so far."""

    system: str
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Reply:
    """A policy's reply.

    message: of the assistant; empty if there is no reply.
    turn: the tokens and log-probs of the reply, where they are known, and why it ended ("stop",
        "eos", "length", "context"). Its number of the message is set by the caller.
    trouble: why there is no reply (a timeout, a server error), or "". The attempt is then missing,
        not failed.
    ties: how many of its tokens rounding could have changed.
    likely: for each token its text, and the log-probs of the likeliest tokens in its place with
        itself among them. Empty unless a server was asked for them (`extra` of `ServerPolicy`).
    """

    message: Message
    turn: Turn
    trouble: str = ""
    ties: int = 0
    likely: tuple[tuple[str, Mapping[str, float]], ...] = ()


class Session(Protocol):
    """Rollouts under way, to be replied to together."""

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        """Reply to `contexts[i]` in rollout `rows[i]`, an index into the keys of the session."""


class Policy(Protocol):
    """Starts sessions of rollouts.

    settings: every setting that changes what is sampled, as JSON values.
    concurrency: how many threads may wait for replies of different sessions at once. None for a
        policy that is asked in a single thread, for many replies in one call.
    """

    settings: Mapping[str, Any]
    concurrency: int | None

    def start(self, keys: Sequence[RolloutKey]) -> Session:
        """Begin rollouts, one per key."""
