"""Stored completions are graded again."""

import itertools
from dataclasses import replace

import pytest

from lib.rollouts.collection import table, tabulate
from lib.rollouts.policies import ScriptedPolicy
from lib.rollouts.prompts.harness import render_calls
from lib.rollouts.regrading import has_valid_call, regrade
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.schema import Message, Rollout, Tool, ToolCall, Turn
from lib.trajectories.store import read_collection
from tests import buttons
from tests.collecting import run


class OneTry(buttons.Buttons):
    """A single turn: one try."""

    def reset(self, task, attempt):
        episode = super().reset(task, attempt)
        episode.tries = 2
        return episode


GOOD = render_calls([ToolCall("press", {"n": 3})])
TEXTS = {
    "robust, paper and exact": GOOD,
    "robust and paper": GOOD.replace("3}", "3,}"),
    "robust": GOOD.replace('"n": 3', "n: 3"),
    "none": "I press 3.",
}


def written(text, **changes):
    messages = (Message("user", "?"), Message("assistant", text))
    fields = {"messages": messages, "turns": (Turn(1, finish="stop"),), **changes}
    return Rollout("buttons", "p", "a", "t3", 0, False, **fields)


@pytest.mark.parametrize("parser", ["robust", "paper", "exact"])
@pytest.mark.parametrize("readers", TEXTS)
def test_the_same_text_is_graded_by_each_parser(parser, readers):
    (graded,) = regrade([written(TEXTS[readers])], OneTry(), parser)
    assert graded.passed is (parser in readers)
    assert has_valid_call(graded) is (parser in readers)
    assert graded.messages[1].content == TEXTS[readers]


def test_regrading_by_the_same_parser_changes_nothing(tmp_path):
    texts = itertools.cycle(TEXTS.values())

    def script(context, key):
        text = next(texts)
        return Message("assistant", text, parse_tool_calls(text, context.tools).calls)

    run(tmp_path, n=8, policy=ScriptedPolicy(script, "texts"), environment=OneTry())
    collected = sorted(read_collection(tmp_path), key=lambda rollout: rollout.key)
    again = list(regrade(collected, OneTry(), "robust"))
    assert tabulate(again).equals(table(tmp_path))
    assert again == collected


def test_an_attempt_without_a_completion_stays_as_it_is():
    missing = Rollout("buttons", "p", "a", "t3", 0, None, "timeout", (Message("user", "?"),))
    full = written("", turns=(Turn(1, finish="context"),))
    assert list(regrade([missing, full], OneTry(), "exact")) == [missing, full]


def test_only_single_turns_are_regraded():
    with pytest.raises(ValueError, match=r"several turns.*Collect it again"):
        list(regrade([written("")], buttons.Buttons(), "exact"))
    with pytest.raises(ValueError, match="is not an attempt at buttons"):
        list(regrade([replace(written(""), benchmark="other")], OneTry(), "exact"))


PICKY = Tool("f", "", {"properties": {"a": {}, "b": {}}, "required": ["a"]})


@pytest.mark.parametrize(
    ("call", "valid"),
    [
        (ToolCall("f", {"a": 1}), True),
        (ToolCall("f", {"a": 1, "b": 2, "c": 3}), True),
        (ToolCall("f", {"b": 2}), False),
        (ToolCall("g", {"a": 1}), False),
    ],
)
def test_what_a_valid_call_is(call, valid):
    messages = (Message("user", "?"), Message("assistant", "", (ToolCall("f"), call)))
    rollout = Rollout("b", "p", "a", "t", 0, False, messages=messages, tools=(PICKY,))
    assert has_valid_call(rollout) is valid
