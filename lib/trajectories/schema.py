"""What rollouts are made of: messages, tool calls, tools, turns, and the keys of random numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

ROLES = ("system", "user", "assistant", "tool")


class TrajectoryError(ValueError):
    """A rollout, or a line of a file of rollouts, is not valid."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool: its name, its arguments by name, and the id that a chat server gave it."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not isinstance(self.arguments, dict):
            raise TrajectoryError(
                "a call needs a string name and a dict of arguments, "
                f"got {self.name!r} and {type(self.arguments).__name__}"
            )


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is described to a policy; ``parameters`` is the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Tool:
        """Read ``{"name", "description", "parameters"}``, bare or wrapped as in chat APIs."""
        raw = raw.get("function", raw)
        if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
            raise TrajectoryError(f"a tool needs a string 'name', got {raw!r}")
        return cls(raw["name"], raw.get("description") or "", raw.get("parameters") or {})


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    ``content`` of an assistant is the text that the policy wrote. ``name`` is the speaker, or the
    tool that answered. ``tool_call_id`` links a tool's answer to its call, where a server gave ids.
    ``tools`` are offered from this message on, beside the tools offered before. ``thought`` is what
    the policy thought before it acted, without tags; it is no act. A thought that the policy wrote
    in its text is also in ``content``; one that a server sent apart is not.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    tool_call_id: str | None = None
    tools: tuple[Tool, ...] = ()
    thought: str = ""

    def __post_init__(self):
        if self.role not in ROLES:
            raise TrajectoryError(f"role must be one of {', '.join(ROLES)}, got {self.role!r}")
        if not isinstance(self.content, str):
            raise TrajectoryError(f"content must be a string, got {type(self.content).__name__}")
        if not isinstance(self.thought, str):
            raise TrajectoryError(f"thought must be a string, got {type(self.thought).__name__}")
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls))
        object.__setattr__(self, "tools", tuple(self.tools))


@dataclass(frozen=True, slots=True)
class Turn:
    """The tokens of an assistant's message; None for what is not known.

    ``message`` is the index of the message. ``prompt_ids`` are all tokens that the policy had read
    when the turn began, ``action_ids`` the tokens that it sampled, called action tokens.
    ``logprobs`` are the natural logs of their probabilities at the sampling temperature, and
    ``logprobs_t1`` at temperature 1: a number per action token. ``finish`` says why the turn ended:
    stop, length, context, ... The last ``ending`` action tokens ended the turn (an end token, a
    stop string): they were sampled, but the prompt of the next turn may leave them out.
    """

    message: int
    prompt_ids: tuple[int, ...] | None = None
    action_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    logprobs_t1: tuple[float, ...] | None = None
    finish: str | None = None
    ending: int = 0

    def __post_init__(self):
        for name in ("prompt_ids", "action_ids", "logprobs", "logprobs_t1"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, tuple(value))
        for name in ("logprobs", "logprobs_t1"):
            value = getattr(self, name)
            if value is None:
                continue
            if self.action_ids is None or len(value) != len(self.action_ids):
                count = "no" if self.action_ids is None else len(self.action_ids)
                raise TrajectoryError(f"{name} has {len(value)} values for {count} action tokens")
            if not all(map(math.isfinite, value)):
                raise TrajectoryError(f"{name} of message {self.message} must be finite")
        if not 0 <= self.ending <= len(self.action_ids or ()):
            count = len(self.action_ids or ())
            raise TrajectoryError(f"ending is {self.ending}, expected 0 to {count} action tokens")


@dataclass(frozen=True, slots=True)
class Rollout:
    """An attempt at a task, the row (benchmark, pair, arm, task, attempt) of the outcomes.

    ``passed`` is True, False, or None if the attempt is missing, which needs a ``reason`` and never
    counts as a failure. ``tools`` are the tools, or the :func:`tools_key` under which the
    collection stores them (:mod:`lib.trajectories.store`). ``seeds`` holds every seed by name,
    ``sampling`` every sampling setting, and ``info`` what else the environment reports (reward,
    rounds, ...). ``collection`` is the key of the settings that the attempt was collected under
    (:func:`lib.trajectories.manifest.key`), "" where it is not known.
    """

    benchmark: str
    pair: str
    arm: str
    task: str
    attempt: int
    passed: bool | None
    reason: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] | str = ()
    turns: tuple[Turn, ...] = ()
    seeds: dict[str, int] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    collection: str = ""

    def __post_init__(self):
        for name in ("benchmark", "pair", "arm", "task", "reason", "collection"):
            if not isinstance(getattr(self, name), str):
                raise TrajectoryError(f"{name} must be a string, got {getattr(self, name)!r}")
        if type(self.attempt) is not int or self.attempt < 0:
            raise TrajectoryError(f"attempt must be an integer from 0 up, got {self.attempt!r}")
        if self.passed is not None and type(self.passed) is not bool:
            raise TrajectoryError(f"passed must be True, False or None, got {self.passed!r}")
        if self.passed is None and not self.reason:
            raise TrajectoryError("a rollout whose outcome is missing needs a reason")
        for name in ("messages", "turns"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not isinstance(self.tools, str):
            object.__setattr__(self, "tools", tuple(self.tools))
        for turn in self.turns:
            if not 0 <= turn.message < len(self.messages):
                raise TrajectoryError(
                    f"a turn belongs to message {turn.message}, but there are "
                    f"{len(self.messages)} messages"
                )
            if self.messages[turn.message].role != "assistant":
                raise TrajectoryError(
                    f"a turn belongs to message {turn.message}, which is not an assistant's"
                )

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What identifies this rollout: (benchmark, pair, arm, task, attempt)."""
        return self.benchmark, self.pair, self.arm, self.task, self.attempt


class RolloutKey(NamedTuple):
    """The random numbers of a rollout depend on this key and the position of each token alone."""

    seed: int
    task: str
    attempt: int

    def philox(self) -> np.ndarray:
        """The key of this rollout's stream of Philox random numbers: two uint64."""
        import numpy as np  # only here: what reads and writes text needs no numpy

        name = json.dumps([int(self.seed), str(self.task), int(self.attempt)])
        digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
        return np.frombuffer(digest, dtype="<u8")


def offered_tools(tools: Iterable[Tool], messages: Iterable[Message]) -> tuple[Tool, ...]:
    """Return the tools offered at the start and those that messages have added since."""
    return (*tools, *(tool for message in messages for tool in message.tools))


def tools_key(tools: Iterable[Tool]) -> str:
    """Return a short key of these tools in this order (SHA-256)."""
    text = json.dumps([asdict(tool) for tool in tools], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def printable(message: Message) -> Message:
    """Return the message with "?" for each half of a surrogate pair, which no tokenizer takes."""
    texts = ("content", "name", "tool_call_id", "thought")
    names = {name: _whole(getattr(message, name)) for name in texts}
    calls = tuple(map(_printable_call, message.tool_calls))
    return _replace(message, **names, tool_calls=calls)


def _printable_call(call: ToolCall) -> ToolCall:
    return _replace(
        call, name=_whole(call.name), arguments=_whole(call.arguments), id=_whole(call.id)
    )


def _replace(value, **fields):
    """`replace`, but much faster in the usual case that nothing changes."""
    same = all(getattr(value, name) == field for name, field in fields.items())
    return value if same else replace(value, **fields)


def _whole(value: Any) -> Any:
    """A JSON value with "?" for each half of a surrogate pair."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_whole(name): _whole(part) for name, part in value.items()}
    return list(map(_whole, value)) if isinstance(value, list) else value
