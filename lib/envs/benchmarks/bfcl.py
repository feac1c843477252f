"""BFCL v4 (Berkeley Function Calling Leaderboard): four multi-turn and two single-turn categories.

Executor, data and checkers are those of the package bfcl-eval, in the version that the paper used,
so verdicts are BFCL's. Two things differ: every call passes :func:`.bfcl_calls.admit` before it
reaches BFCL's ``eval``, and every attempt has its own state, which is freed at the end.
"""

from __future__ import annotations

import decimal
import importlib
import importlib.util
import inspect
import itertools
import json
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from lib.envs.benchmarks.bfcl_calls import RefusedCall, admit, read_gold, to_tool
from lib.envs.catalog import require
from lib.envs.protocol import Outcome
from lib.trajectories.schema import Message, Tool, ToolCall

VERSION = "2026.3.23"

MULTI_TURN = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)
SINGLE_TURN = ("simple_python", "multiple")
PARTS = MULTI_TURN + SINGLE_TURN

MAX_ROUNDS = 20
"""Rounds of tool calls within a user turn; a policy that makes one more has failed."""

SYSTEM = (
    "You act for the user by calling tools. Call what the request needs, look at what comes back, "
    "and go on until the request is done; then answer in plain text. If no tool fits, or "
    "something that a tool needs is missing, say so instead of calling."
)

_CHECKERS = "bfcl_eval.eval_checker"

# BFCL keeps states in the globals of a module, and some tools set process-wide precision.
_BFCL = threading.RLock()
_numbers = itertools.count()


class BFCL:
    """One category of BFCL as an environment (:class:`lib.envs.Environment`).

    A multi-turn task goes through its user turns: a reply with calls is a round, one without calls
    ends the turn. A single-turn task ends with its first reply. Nothing is drawn at random.
    """

    def __init__(self, category: str = "multi_turn_base", *, system: str = SYSTEM):
        if category not in PARTS:
            choices = ", ".join(PARTS)
            raise ValueError(f"category must be one of {choices}, got {category!r}")
        require("bfcl-eval", VERSION)
        data = Path(importlib.util.find_spec("bfcl_eval").submodule_search_locations[0]) / "data"
        self.name = f"bfcl_{category}"
        self.category = category
        self.system = system
        file = f"BFCL_v4_{category}.json"
        self._entries = {entry["id"]: entry for entry in _read_lines(data / file)}
        gold = _read_lines(data / "possible_answer" / file)
        self._gold = {entry["id"]: entry["ground_truth"] for entry in gold}
        self._documents = _Documents(data / "multi_turn_func_doc")

    @property
    def settings(self) -> dict[str, str]:
        """What decides, besides the task, what a policy reads and how it is graded."""
        return {"package": f"bfcl-eval {VERSION}", "system": self.system}

    def tasks(self) -> tuple[str, ...]:
        """The ids of BFCL, such as ``multi_turn_base_0``, in its order."""
        return tuple(self._entries)

    def reset(self, task: str, attempt: int) -> _MultiTurn | _SingleTurn:
        """Start an attempt; all attempts of a task start alike."""
        if task not in self._entries:
            raise ValueError(f"{self.name} has no task {task!r}; its first is {self.tasks()[0]!r}")
        entry, gold = self._entries[task], self._gold[task]
        if self.category in SINGLE_TURN:
            return _SingleTurn(self.system, entry, gold, self.category)
        return _MultiTurn(self.system, entry, gold, self._documents)

    def oracle(self, episode: _MultiTurn | _SingleTurn) -> Message:
        """The gold calls of the present turn, then an empty reply."""
        return Message("assistant", "", tuple(episode.gold_calls()))


class _Documents:
    """The tools of each class of BFCL, read once."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._tools: dict[str, tuple[Tool, ...]] = {}

    def tools(self, class_name: str) -> tuple[Tool, ...]:
        if class_name not in self._tools:
            files = _module("bfcl_eval.constants.executable_backend_config")
            file = self._folder / files.MULTI_TURN_FUNC_DOC_FILE_MAPPING[class_name]
            self._tools[class_name] = tuple(to_tool(raw) for raw in _read_lines(file))
        return self._tools[class_name]


class _MultiTurn:
    """An attempt at a multi-turn task."""

    def __init__(self, system: str, entry: dict, gold: list[list[str]], documents: _Documents):
        everything = [t for name in entry["involved_classes"] for t in documents.tools(name)]
        self._late = entry.get("missed_function", {})
        late = {name for names in self._late.values() for name in names}
        self._everything = {tool.name: tool for tool in everything}
        self.system = system
        self.tools = tuple(tool for tool in everything if tool.name not in late)
        self.seeds: dict[str, int] = {}
        self.outcome: Outcome | None = None
        self._entry, self._gold = entry, gold
        self._state = f"rollout{next(_numbers)}"
        self._free = weakref.finalize(self, _free, self._state, entry)
        self._turn, self._rounds, self._refused = 0, 0, 0
        self._texts: list[list[list[str]]] = [[]]
        self.messages = self._open_turn()

    @property
    def done(self) -> bool:
        return self.outcome is not None

    def gold_calls(self) -> list[ToolCall]:
        if self._texts[-1]:
            return []
        parameters = self._parameters()
        return [read_gold(text, parameters) for text in self._gold[self._turn]]

    def step(self, reply: Message) -> tuple[Message, ...]:
        if self.done:
            raise ValueError(f"the episode of {self._entry['id']} is done")
        if not reply.tool_calls:
            return self._end_turn()
        if len(self._texts[-1]) == MAX_ROUNDS:
            return self._finish(False, f"more than {MAX_ROUNDS} rounds in user turn {self._turn}")
        answers = self._execute(reply.tool_calls)
        return tuple(
            Message("tool", answer, name=call.name, tool_call_id=call.id)
            for call, answer in zip(reply.tool_calls, answers, strict=True)
        )

    def close(self) -> None:
        """Free the state, as happens too when the episode is garbage-collected."""
        self._free()

    def _open_turn(self) -> tuple[Message, ...]:
        messages = [Message("user", raw["content"]) for raw in self._entry["question"][self._turn]]
        late = self._late.get(str(self._turn))
        if late:
            prompts = _module("bfcl_eval.constants.default_prompts")
            tools = tuple(self._everything[name] for name in late)
            text = prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC
            messages.append(Message("user", text, tools=tools))
        return tuple(messages)

    def _end_turn(self) -> tuple[Message, ...]:
        self._turn += 1
        if self._turn == len(self._entry["question"]):
            return self._finish(*self._grade())
        self._texts.append([])
        return self._open_turn()

    def _execute(self, calls: tuple[ToolCall, ...]) -> list[str]:
        # A tool not offered yet may be called, as in BFCL: one gold answer does (miss_func_49).
        answers: list[str | None] = []
        admitted = []
        for call in calls:
            try:
                admitted.append(admit(call, self._everything))
                answers.append(None)
            except RefusedCall as refusal:
                answers.append(f"Error: {refusal}")
        self._texts[-1].append(admitted)
        self._rounds += 1
        self._refused += len(calls) - len(admitted)
        results = iter(self._run(admitted))
        return [next(results) if answer is None else answer for answer in answers]

    def _run(self, texts: list[str]) -> list[str]:
        utils = _module(f"{_CHECKERS}.multi_turn_eval.multi_turn_utils")
        with _bfcl():
            results, _ = utils.execute_multi_turn_func_call(
                texts,
                self._entry["initial_config"],
                self._entry["involved_classes"],
                self._state,
                self._entry["id"],
                long_context="long_context" in self._entry["id"],
            )
        return results

    def _grade(self) -> tuple[bool | None, str]:
        checker = _module(f"{_CHECKERS}.multi_turn_eval.multi_turn_checker")
        category = self._entry["id"].rsplit("_", 1)[0]
        try:
            with _bfcl():
                verdict = checker.multi_turn_checker(
                    self._texts, self._gold, self._entry, category, self._state
                )
        except Exception as error:  # of any kind: then the attempt could not be graded
            return None, f"BFCL's checker raised {error!r}"
        return verdict["valid"], verdict.get("error_message", "")

    def _finish(self, passed: bool | None, reason: str) -> tuple[Message, ...]:
        info = {"rounds": self._rounds, "refused_calls": self._refused}
        self.outcome = Outcome(passed, reason, info)
        self.close()
        return ()

    def _parameters(self) -> dict[str, list[str]]:
        """The parameters of every tool, in the order of its method's signature."""
        paths = _module("bfcl_eval.constants.executable_backend_config").CLASS_FILE_PATH_MAPPING
        classes = [getattr(_module(paths[name]), name) for name in self._entry["involved_classes"]]
        methods = {name: method for c in classes for name, method in inspect.getmembers(c)}
        return {
            name: list(inspect.signature(methods[name]).parameters)[1:] for name in self._everything
        }


def _free(state: str, entry: dict) -> None:
    """Remove an attempt's objects, 18 KB a rollout, from the globals of BFCL's module."""
    utils = sys.modules.get(f"{_CHECKERS}.multi_turn_eval.multi_turn_utils")
    for role in ("", "_eval", "_ground_truth_eval"):
        for name in entry["involved_classes"] if utils else ():
            vars(utils).pop(f"{state}{role}_{entry['id']}_{name}_instance", None)


class _SingleTurn:
    """An attempt at a single-turn task; nothing is executed, and nothing is evaluated."""

    def __init__(self, system: str, entry: dict, gold: list[dict], category: str):
        self.system = system
        self.tools = tuple(to_tool(raw) for raw in entry["function"])
        self.messages = tuple(Message("user", raw["content"]) for raw in entry["question"][0])
        self.seeds: dict[str, int] = {}
        self.outcome: Outcome | None = None
        self._entry, self._gold, self._category = entry, gold, category

    @property
    def done(self) -> bool:
        return self.outcome is not None

    def gold_calls(self) -> Iterator[ToolCall]:
        for answer in self._gold:
            for name, options in answer.items():
                yield ToolCall(name, _first_options(options))

    def step(self, reply: Message) -> tuple[Message, ...]:
        if self.done:
            raise ValueError(f"the episode of {self._entry['id']} is done")
        checker = _load_ast_checker()
        calls = [{call.name: call.arguments} for call in reply.tool_calls]
        language = checker.Language.PYTHON
        try:
            verdict = checker.ast_checker(
                self._entry["function"], calls, self._gold, language, self._category, "policy"
            )
        except Exception as error:  # arguments that BFCL's checker cannot read
            verdict = {"valid": False, "error": [f"arguments of the wrong shape: {error!r}"]}
        self.outcome = Outcome(
            verdict["valid"], "; ".join(map(str, verdict["error"])), {"calls": len(calls)}
        )
        return ()

    def close(self) -> None:
        pass


def _first_options(options: dict[str, list]) -> dict[str, Any]:
    """For each argument the first answer that BFCL accepts; "" means that it may be left out."""
    chosen = {name: next((v for v in values if v != ""), "") for name, values in options.items()}
    return {name: _plain(value) for name, value in chosen.items() if value != ""}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _first_options(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


@contextmanager
def _bfcl() -> Iterator[None]:
    """Let one thread at a time into BFCL, and undo the decimal precision that its tools set."""
    with _BFCL, decimal.localcontext():
        yield


def _load_ast_checker() -> ModuleType:
    """Import BFCL's single-turn checker without the thirty packages it does not need here.

    During the import, empty modules replace the parsers of Java and JavaScript and the table of
    models. A Python category asks them only whether names keep their dots.
    """
    name = f"{_CHECKERS}.ast_eval.ast_checker"
    with _BFCL:
        if name in sys.modules:
            return sys.modules[name]
        keeps_dots = SimpleNamespace(underscore_to_dot=False)
        convertor = f"{_CHECKERS}.ast_eval.type_convertor"
        stand_ins = {
            f"{convertor}.java_type_converter": {"java_type_converter": None},
            f"{convertor}.js_type_converter": {"js_type_converter": None},
            "bfcl_eval.constants.model_config": {
                "MODEL_CONFIG_MAPPING": defaultdict(lambda: keeps_dots)
            },
        }
        missing = {each: stand_ins[each] for each in stand_ins if each not in sys.modules}
        for each, contents in missing.items():
            sys.modules[each] = ModuleType(each)
            sys.modules[each].__dict__.update(contents)
        try:
            return _module(name)
        finally:
            for each in missing:
                del sys.modules[each]
