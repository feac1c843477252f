"""The store of the desk: its files and reminders, the tools that read and change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lib.trajectories.schema import Tool, ToolCall

FOLDERS = ("home", "work", "archive", "inbox")
FILES = (
    *("report", "plan", "memo", "budget", "draft", "letter"),
    *("invoice", "recipe", "poem", "photo", "ticket", "essay"),
)
REMINDERS = ("dentist", "rent", "lunch", "meeting", "train", "party")
TIMES = ("six", "seven", "eight", "nine", "ten", "noon", "two", "four")
NEW = ""
"""The text of a file that was created; that of any other is the name it had at the start."""


@dataclass(slots=True)
class State:
    """What is on the desk: files by name as (folder, text), reminders by name as times.

    A file's name is unique over all folders. The texts distinguish a copy from a new file.
    """

    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    reminders: dict[str, str] = field(default_factory=dict)

    def copy(self) -> State:
        return State(self.files.copy(), self.reminders.copy())


def describe(state: State) -> str:
    """A state in words, without the texts: a line for each folder with files, one of reminders."""
    lines = []
    for folder in FOLDERS:
        inside = [file for file, (where, _) in state.files.items() if where == folder]
        if inside:
            lines.append(f"{folder} : {' '.join(inside)}")
    pairs = " ".join(f"{name} {time}" for name, time in state.reminders.items())
    return "\n".join([*lines, f"reminders : {pairs or 'none'}"])


# --- the tools: each takes names that its schema allows and returns its answer --------------------


def _create(state: State, file: str, folder: str) -> str:
    if file in state.files:
        return f"error name-taken {file}"
    state.files[file] = folder, NEW
    return f"created {file} {folder}"


def _move(state: State, file: str, folder: str) -> str:
    if file not in state.files:
        return f"error no-such-file {file}"
    state.files[file] = folder, state.files[file][1]
    return f"moved {file} {folder}"


def _copy(state: State, file: str, name: str) -> str:
    if file not in state.files:
        return f"error no-such-file {file}"
    if name in state.files:
        return f"error name-taken {name}"
    state.files[name] = state.files[file]
    return f"copied {file} {name}"


def _rename(state: State, file: str, name: str) -> str:
    if file not in state.files:
        return f"error no-such-file {file}"
    if name in state.files:
        return f"error name-taken {name}"
    state.files[name] = state.files.pop(file)
    return f"renamed {file} {name}"


def _delete(state: State, file: str) -> str:
    if file not in state.files:
        return f"error no-such-file {file}"
    del state.files[file]
    return f"deleted {file}"


def _list(state: State, folder: str) -> str:
    inside = [file for file, (where, _) in state.files.items() if where == folder]
    return f"{folder} : {' '.join(inside) or 'none'}"


def _remind(state: State, reminder: str, time: str) -> str:
    if reminder in state.reminders:
        return f"error name-taken {reminder}"
    state.reminders[reminder] = time
    return f"set {reminder} {time}"


def _reschedule(state: State, reminder: str, time: str) -> str:
    if reminder not in state.reminders:
        return f"error no-such-reminder {reminder}"
    state.reminders[reminder] = time
    return f"changed {reminder} {time}"


def _cancel(state: State, reminder: str) -> str:
    if reminder not in state.reminders:
        return f"error no-such-reminder {reminder}"
    del state.reminders[reminder]
    return f"cancelled {reminder}"


def _check(state: State, reminder: str) -> str:
    return f"{reminder} : {state.reminders.get(reminder, 'none')}"


# --- their descriptions, which policies read ------------------------------------------------------

_FILE, _NAME = ("file", "The file's name.", FILES), ("name", "The new name.", FILES)
_FOLDER = ("folder", "A folder.", FOLDERS)
_REMINDER, _TIME = ("reminder", "What of.", REMINDERS), ("time", "When.", TIMES)

_TOOLS = (
    (_create, "Create an empty file in a folder.", _FILE, _FOLDER),
    (_move, "Move a file to a folder.", _FILE, _FOLDER),
    (_copy, "Copy a file, within its folder, under a new name.", _FILE, _NAME),
    (_rename, "Give a file a new name.", _FILE, _NAME),
    (_delete, "Delete a file.", _FILE),
    (_list, "List the files in a folder; changes nothing.", _FOLDER),
    (_remind, "Set a new reminder.", _REMINDER, _TIME),
    (_reschedule, "Change the time of a reminder.", _REMINDER, _TIME),
    (_cancel, "Cancel a reminder.", _REMINDER),
    (_check, "Tell the time of a reminder; changes nothing.", _REMINDER),
)


def _tool(function: Callable[..., str], description: str, *parameters: tuple) -> Tool:
    properties = {
        name: {"type": "string", "description": text, "enum": list(options)}
        for name, text, options in parameters
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(function.__name__.removeprefix("_"), description, schema)


TOOLS = tuple(_tool(*entry) for entry in _TOOLS)
PARAMETERS = {
    tool.name: tuple((name, options) for name, _, options in entry[2:])
    for tool, entry in zip(TOOLS, _TOOLS, strict=True)
}
"""Tool -> its parameters in order, as (name, allowed words)."""

_FUNCTIONS = {tool.name: entry[0] for tool, entry in zip(TOOLS, _TOOLS, strict=True)}

WORDS = (
    *(*FOLDERS, *FILES, *REMINDERS, *TIMES, *PARAMETERS, ":", "reminders", "none", "error"),
    *("bad-call", "too-many-calls", "name-taken", "no-such-file", "no-such-reminder"),
    *("created", "moved", "copied", "renamed", "deleted", "set", "changed", "cancelled"),
)
"""Every word that a state, a call or a tool's answer can hold."""


def perform(state: State, call: ToolCall) -> str:
    """Do a call, whatever it holds, and return its answer; ``error ...`` if it changed nothing."""
    parameters = PARAMETERS.get(call.name)
    if parameters is None or len(call.arguments) != len(parameters):
        return "error bad-call"
    values = []
    for name, options in parameters:
        value = call.arguments.get(name)
        # `in` compares with each word, so a value without a hash does no harm.
        if not isinstance(value, str) or value not in options:
            return "error bad-call"
        values.append(value)
    return _FUNCTIONS[call.name](state, *values)
