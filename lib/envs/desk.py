"""A desk: files in folders and reminders, kept by tool calls over several user turns.

A level is a state and two or three requests of a user, two to five calls in all, drawn from the
task's id alone. Every word is a token of the lab's models:

    home : report memo                          what there is, at the start only
    work : plan
    reminders : rent nine lunch noon
    copy memo to work as draft                  the first request
      > [ copy memo draft ] [ move draft work ]
    copied memo draft moved draft work
      >                                         a reply without a call ends the user's turn
    swap it and report ...

A turn ends with a reply without a call, or after the last of ``replies`` replies. The first
`MOST_CALLS` calls of a reply are done, in their order. Only the level is random, so attempts differ
only by what the policy does. An attempt has passed if the final state is the one to which the
requests lead: reading is free, and a change that nobody asked for fails unless it is undone.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from lib.envs.desk_requests import SENTENCE_WORDS, Level, draw_level
from lib.envs.desk_store import FILES, PARAMETERS, REMINDERS, TOOLS, WORDS, State, describe, perform
from lib.envs.protocol import Outcome
from lib.trajectories.schema import Message, ToolCall

SYSTEM = """\
You keep a desk: files in folders, and reminders. Do exactly what the user asks, and nothing else.
The user first says which files each folder holds and when the reminders are due. A file's name is \
unique over all folders; "it" is the file that was made or changed last. Calls made together are \
done in their order. When a request is done, reply without a call."""

MOST_CALLS = 4
"""Calls of a reply that are done; of a longer reply the rest is answered by a single error."""

SPLITS = ("train", "test")


@lru_cache(4096)
def draw_task(task: str, files: int, reminders: int) -> Level:
    """Draw the level of a task; a digest of the start's description decides its split."""
    match = re.fullmatch(r"desk-(train|test)-(?:[0-9]{5}|[1-9][0-9]{5,8})", task)
    if not match:
        raise ValueError(f"task is {task!r}: expected desk-train- or desk-test- and five digits")
    odd = SPLITS.index(match[1])
    return draw_level(
        random.Random(task), files, reminders, lambda start: _digest(describe(start)) % 2 == odd
    )


def _digest(text: str) -> int:
    return hashlib.blake2b(text.encode(), digest_size=1).digest()[0]


class Desk:
    """The environment (see `lib.envs`): ``count`` tasks of a split.

    split : "train" or "test"; no level of one starts like a level of the other
    files, reminders : how many there are at the start, 3 to 8 and 1 to 4
    replies : how many replies a user's turn takes at most; with 1, no error can be corrected
    """

    name = "desk"

    def __init__(
        self,
        split: Literal["train", "test"] = "train",
        count: int = 64,
        *,
        files: int = 5,
        reminders: int = 2,
        replies: int = 2,
    ):
        if split not in SPLITS:
            raise ValueError(f"split is {split!r}: expected 'train' or 'test'")
        bounds = {
            "count": (count, 1, 1_000_000),
            "files": (files, 3, 8),
            "reminders": (reminders, 1, 4),
            "replies": (replies, 1, 16),
        }
        for what, (value, least, most) in bounds.items():
            if type(value) is not int or not least <= value <= most:
                raise ValueError(f"{what} is {value!r}: expected an integer, {least} to {most}")
        self.split, self.count = split, count
        self.files, self.reminders, self.replies = files, reminders, replies

    @property
    def settings(self) -> dict[str, Any]:
        """The settings under which an id means the same task and rules."""
        bounds = {"files": self.files, "reminders": self.reminders, "replies": self.replies}
        return {"split": self.split, **bounds}

    def tasks(self) -> Sequence[str]:
        return [f"{self.name}-{self.split}-{number:05}" for number in range(self.count)]

    def reset(self, task: str, attempt: int) -> DeskEpisode:
        """Start an attempt at a task, of either split; all attempts start alike."""
        level = draw_task(task, self.files, self.reminders)
        return DeskEpisode(level, {"attempt": attempt}, self.replies)

    def oracle(self, episode: DeskEpisode) -> Message:
        """The calls of the request that are still to be made, none if it is done.

        A wrong change stays: from there no reply is known that solves the task.
        """
        return Message("assistant", "", episode.to_do())

    def behave(
        self,
        episode: DeskEpisode,
        rng: random.Random,
        noise: float,
        lean: int | None = None,
    ) -> tuple[ToolCall, ...]:
        """The calls of the oracle, each replaced by a random one with probability `noise`.

        A random call is of any tool; where `lean` is given, two in three are of that tool. Its
        words are any that the schema allows, but three names in four are drawn from those that
        make the call valid.
        """
        return tuple(
            random_call(episode.state, rng, lean) if rng.random() < noise else call
            for call in episode.to_do()
        )

    def words(self) -> list[str]:
        """Every word of its observations and calls."""
        return list(dict.fromkeys([*WORDS, *SENTENCE_WORDS]))


_TOOL_NAMES = tuple(PARAMETERS)


def random_call(state: State, rng: random.Random, lean: int | None) -> ToolCall:
    """Draw a call that the schemas allow (see `Desk.behave`)."""
    leans = lean is not None and rng.random() < 2 / 3
    tool = _TOOL_NAMES[lean if leans else int(rng.random() * len(_TOOL_NAMES))]
    arguments = {}
    for parameter, options in PARAMETERS[tool]:
        if parameter in ("file", "name", "reminder") and rng.random() < 0.75:
            there = state.reminders if parameter == "reminder" else state.files
            new = parameter == "name" or tool in ("create", "remind")
            options = [word for word in options if (word in there) != new] or options
        arguments[parameter] = options[int(rng.random() * len(options))]
    return ToolCall(tool, arguments)


class DeskEpisode:
    """One attempt (see `lib.envs.Episode`); ``state`` is what is on the desk now."""

    system, tools = SYSTEM, TOOLS

    def __init__(self, level: Level, seeds: dict[str, int], replies: int):
        self.state, self.seeds, self.outcome = level.start.copy(), seeds, None
        self.messages = (Message("user", f"{describe(self.state)}\n{level.requests[0].text}"),)
        self._level, self._replies = level, replies
        self._turn, self._replied = 0, 0  # the request, the replies to it so far
        self._missing = list(level.requests[0].calls)
        self._info = {"replies": 0, "calls": 0, "errors": 0}

    @property
    def done(self) -> bool:
        return self.outcome is not None

    def to_do(self) -> tuple[ToolCall, ...]:
        """The calls that the present request asks for and that have not been made."""
        if self.done or self.state == self._level.goals[self._turn]:
            return ()
        return tuple(self._missing)

    def step(self, reply: Message) -> tuple[Message, ...]:
        if self.done:
            raise RuntimeError("the episode is done: it takes no more messages")
        answers = [self._perform(call) for call in reply.tool_calls[:MOST_CALLS]]
        if len(reply.tool_calls) > MOST_CALLS:
            answers.append(Message("tool", "error too-many-calls"))
        self._replied += 1
        self._info["replies"] += 1
        if reply.tool_calls and self._replied < self._replies:
            return tuple(answers)
        self._turn, self._replied = self._turn + 1, 0
        if self._turn == len(self._level.requests):
            self.outcome = self._grade()
            return ()
        request = self._level.requests[self._turn]
        self._missing = list(request.calls)
        return (*answers, Message("user", request.text))

    def _perform(self, call: ToolCall) -> Message:
        result = perform(self.state, call)
        self._info["calls"] += 1
        if result.startswith("error"):
            self._info["errors"] += 1
        else:
            self._strike(call)
        name = call.name if call.name in PARAMETERS else None
        return Message("tool", result, name=name, tool_call_id=call.id)

    def _strike(self, made: ToolCall) -> None:
        """Remove a call that was made from the missing ones, whatever id a server gave it."""
        for at, call in enumerate(self._missing):
            if (call.name, call.arguments) == (made.name, made.arguments):
                del self._missing[at]
                return

    def _grade(self) -> Outcome:
        goal = self._level.goals[-1]
        wrong = [
            name
            for name in (*FILES, *REMINDERS)
            if self.state.files.get(name) != goal.files.get(name)
            or self.state.reminders.get(name) != goal.reminders.get(name)
        ]
        reason = f"not as asked: {', '.join(wrong)}" if wrong else ""
        return Outcome(not wrong, reason, self._info)

    def close(self) -> None:
        pass
