"""The levels of the desk: a state, and requests that fit it, drawn at random.

A request is a sentence and the calls that fulfil it exactly. It may name a file as "it", the file
that was made or changed last, or need the state to be understood: which files a folder holds, where
a file is, when a reminder is due.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from lib.envs.desk_store import FILES, FOLDERS, PARAMETERS, REMINDERS, TIMES, State, perform
from lib.trajectories.schema import ToolCall

T = TypeVar("T")


class Request(NamedTuple):
    """The sentence of the user, and the calls that fulfil it."""

    text: str
    calls: tuple[ToolCall, ...]


class Level(NamedTuple):
    """The state at the start, the requests, and the state that each leads to."""

    start: State
    requests: tuple[Request, ...]
    goals: tuple[State, ...]


SHAPES = (
    *((1, 1), (1, 2), (2, 1), (2, 2), (1, 1, 1)),
    *((1, 1, 2), (1, 2, 1), (2, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 1)),
)
"""How many calls each turn of a level needs."""

SENTENCES = {
    "create": ("please create {0} in {1}", "start a new file {0} in {1}"),
    "move": ("please move {0} to {1}", "put {0} in {1}"),
    "beside": ("put {0} beside {1}", "move {0} to where {1} is"),
    "copy": ("please copy {0} as {1}", "make a copy of {0} called {1}"),
    "rename": ("please rename {0} to {1}", "give {0} the name {1}"),
    "delete": ("please delete {0}", "throw {0} away"),
    "remind": ("remind me of {0} at {1}", "please set {0} for {1}"),
    "together": ("remind me of {0} when {1} is due", "please set {0} for the time of {1}"),
    "reschedule": ("please shift {0} to {1}", "make {0} due at {1}"),
    "cancel": ("please cancel {0}", "forget {0}"),
    "create copy": ("create {0} in {1} and copy it as {2}", "start {0} and a copy {2} in {1}"),
    "copy move": ("put a copy of {0} called {1} in {2}", "copy {0} to {2} as {1}"),
    "rename move": ("move {0} to {2} as {1}", "rename {0} to {1} and put it in {2}"),
    "replace": ("replace {0} by {1}", "delete {0} and give {1} the name {0}"),
    "swap files": ("swap {0} and {1}", "let {0} and {1} trade places"),
    "all": ("move all of {0} to {1}", "put all files of {0} in {1}"),
    "swap reminders": ("swap the times of {0} and {1}", "let {0} and {1} trade times"),
}
"""The kinds of request, each in two phrasings."""

SENTENCE_WORDS = tuple(
    dict.fromkeys(
        word
        for pair in SENTENCES.values()
        for text in (*pair, "it and")
        for word in text.split()
        if "{" not in word
    )
)


def call(name: str, *values: str) -> ToolCall:
    """Make a call of a tool of the desk, its arguments by position."""
    return ToolCall(name, dict(zip((p for p, _ in PARAMETERS[name]), values, strict=True)))


def draw_level(
    rng: random.Random, files: int, reminders: int, belongs: Callable[[State], bool]
) -> Level:
    """Draw a level in which each call is needed to reach the final state.

    files, reminders : how many there are at the start
    belongs : whether a level of this split may have the start
    """
    while True:
        clerk = _Clerk(rng, files, reminders)
        start = clerk.state.copy()
        if not belongs(start):
            continue
        requests, goals = [], []
        for size in clerk.pick(SHAPES):
            requests.append(clerk.request(size))
            goals.append(clerk.state.copy())
        calls = [made for request in requests for made in request.calls]
        without = [calls[:at] + calls[at + 1 :] for at in range(len(calls))]
        if all(_after(start, some) != goals[-1] for some in (*without, ())):
            return Level(start, tuple(requests), tuple(goals))


def _after(start: State, calls: Iterable[ToolCall]) -> State:
    state = start.copy()
    for made in calls:
        perform(state, made)
    return state


class _Misfit(Exception):
    """The kind of request that was drawn does not fit the state."""


class _Clerk:
    """Draws a state, then requests that fit it, and does them.

    Draws by ``rng.random()`` alone, whose sequence no version of Python changes.
    """

    def __init__(self, rng: random.Random, files: int, reminders: int):
        self.rng = rng
        self.state = State(
            {file: (self.pick(FOLDERS), file) for file in self.sample(FILES, files)},
            {name: self.pick(TIMES) for name in self.sample(REMINDERS, reminders)},
        )
        self.last: str | None = None  # the file that was made or changed last

    def pick(self, options: Sequence[T]) -> T:
        if not options:
            raise _Misfit
        return options[int(self.rng.random() * len(options))]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        left = list(options)
        return [left.pop(int(self.rng.random() * len(left))) for _ in range(count)]

    # --- names that fit ---------------------------------------------------------------------

    def file(self) -> str:
        """A file of the state, every other time the file that was made or changed last."""
        if self.last in self.state.files and self.rng.random() < 0.5:
            return self.last
        return self.pick(list(self.state.files))

    def free(self) -> str:
        return self.pick([file for file in FILES if file not in self.state.files])

    def folder(self, *but: str) -> str:
        return self.pick([folder for folder in FOLDERS if folder not in but])

    def where(self, file: str) -> str:
        return self.state.files[file][0]

    def name_of(self, file: str) -> str:
        """The name of a file; every other time "it", if that means the file."""
        return "it" if file == self.last and self.rng.random() < 0.5 else file

    # --- requests ---------------------------------------------------------------------------

    def request(self, size: int) -> Request:
        """Draw a request of one or two calls and do it."""
        if size == 2 and self.rng.random() < 0.3:
            first, second = self.request(1), self.request(1)
            return Request(f"{first.text} and {second.text}", first.calls + second.calls)
        draw_kind = self.one_call if size == 1 else self.two_calls
        while True:
            try:
                kind, names, calls = draw_kind()
                break
            except _Misfit:
                continue
        for done in calls:
            perform(self.state, done)
            changed = done.arguments.get("name", done.arguments.get("file"))
            self.last = changed if changed in self.state.files else None
        return Request(self.pick(SENTENCES[kind]).format(*names), tuple(calls))

    def one_call(self) -> tuple[str, tuple[str, ...], list[ToolCall]]:
        """A kind of request of one call, the names in its sentence, the call."""
        kind = self.pick(_ONE)
        if kind == "create":
            file, folder = self.free(), self.folder()
            return kind, (file, folder), [call("create", file, folder)]
        if kind in ("copy", "rename"):
            file, name = self.file(), self.free()
            return kind, (self.name_of(file), name), [call(kind, file, name)]
        if kind == "move":
            file = self.file()
            folder = self.folder(self.where(file))
            return kind, (self.name_of(file), folder), [call("move", file, folder)]
        if kind == "beside":
            file = self.file()
            other = self.pick([o for o in self.state.files if self.where(o) != self.where(file)])
            return kind, (self.name_of(file), other), [call("move", file, self.where(other))]
        if kind == "delete":
            file = self.file()
            return kind, (self.name_of(file),), [call("delete", file)]
        if kind in ("remind", "together"):
            name = self.pick([name for name in REMINDERS if name not in self.state.reminders])
            if kind == "remind":
                time = self.pick(TIMES)
                return kind, (name, time), [call("remind", name, time)]
            other, time = self.pick(list(self.state.reminders.items()))
            return kind, (name, other), [call("remind", name, time)]
        name, time = self.pick(list(self.state.reminders.items()))
        if kind == "cancel":
            return kind, (name,), [call("cancel", name)]
        time = self.pick([other for other in TIMES if other != time])
        return kind, (name, time), [call("reschedule", name, time)]

    def two_calls(self) -> tuple[str, tuple[str, ...], list[ToolCall]]:
        """A kind of request of two calls, the names in its sentence, the calls."""
        kind = self.pick(_TWO)
        if kind == "create copy":
            file, name = self.free(), self.free()
            if file == name:
                raise _Misfit
            folder = self.folder()
            return (
                kind,
                (file, folder, name),
                [*(call("create", file, folder), call("copy", file, name))],
            )
        if kind in ("copy move", "rename move"):
            file, name = self.file(), self.free()
            folder = self.folder(self.where(file))
            calls = [call(kind.split()[0], file, name), call("move", name, folder)]
            return kind, (self.name_of(file), name, folder), calls
        if kind == "replace":
            file, other = self.pick_two(self.state.files)
            return kind, (file, other), [call("delete", file), call("rename", other, file)]
        if kind == "swap files":
            file = self.file()
            other = self.pick([o for o in self.state.files if self.where(o) != self.where(file)])
            calls = [call("move", file, self.where(other)), call("move", other, self.where(file))]
            return kind, (self.name_of(file), other), calls
        if kind == "all":
            held = [self.where(file) for file in self.state.files]
            folder = self.pick([folder for folder in FOLDERS if held.count(folder) == 2])
            inside = [file for file in self.state.files if self.where(file) == folder]
            to = self.folder(folder)
            return kind, (folder, to), [call("move", file, to) for file in inside]
        name, other = self.pick_two(self.state.reminders)
        times = self.state.reminders
        calls = [call("reschedule", name, times[other]), call("reschedule", other, times[name])]
        return kind, (name, other), calls

    def pick_two(self, names: Iterable[str]) -> list[str]:
        names = list(names)
        if len(names) < 2:
            raise _Misfit
        return self.sample(names, 2)


_ONE, _TWO = tuple(SENTENCES)[:10], tuple(SENTENCES)[10:]
