"""Thoughts are told from what is said, and no environment acts on them."""

import time
from dataclasses import replace

import pytest

from lib.rollouts.call_formats import opens_thought, said, split_thought, without_thought
from lib.rollouts.episodes import roll_out
from lib.rollouts.policies import ScriptedPolicy
from lib.rollouts.regrading import regrade
from lib.trajectories.jsonl import from_line, to_line
from lib.trajectories.schema import Message, Rollout, RolloutKey, Turn
from tests import buttons
from tests.conversations import CALL

TAGS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis", "assistantfinal"),
]


@pytest.mark.parametrize(("open_", "close"), TAGS)
def test_each_pair_of_tags(open_, close):
    assert split_thought(f"{open_}Hm.{close}Yes.") == ("Hm.", "Yes.")
    assert split_thought(f"{open_}Hm, cut") == ("Hm, cut", "")


@pytest.mark.parametrize(
    ("text", "prompt", "thought", "answer"),
    [
        ("Hm.</think>Yes.", "", "Hm.", "Yes."),  # the prompt opened it
        ("Hm.</think>Yes.", "<|assistant|><think>\n", "Hm.", "Yes."),
        ("Hm, cut", "<|assistant|><think>\n", "Hm, cut", ""),
        ("Yes.", "<|assistant|><think>\n\n</think>\n\n", "", "Yes."),
        ("Hm, cut", "[THINK]", "Hm, cut", ""),
        ("<think>a</think>b\n<think>c</think>d", "", "a\n\nc", "b\nd"),
        ("a</think>b</think>c", "", "a</think>b".replace("</think>", ""), "c"),
        ("I use the <think> tag.", "", "", "I use the <think> tag."),
        ("analysis of it follows", "", "", "analysis of it follows"),
        ("", "", "", ""),
    ],
)
def test_what_is_thought(text, prompt, thought, answer):
    assert split_thought(text, prompt) == (thought, answer)


def test_a_call_on_the_analysis_channel_is_no_thought():
    call = '<|channel|>analysis to=functions.f<|message|>{"a": 1}<|call|>'
    assert split_thought(call) == ("", call)


@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>\n{"name": "f", "arguments": {"a": "x = \\"</think>\\""}}\n</tool_call>',
        "<function=f>\n<parameter=a>\n<think>\nx</think>\n</parameter>\n</function>",
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>\n<think>\n</arg_value>\n</tool_call>",
    ],
)
def test_tags_in_the_arguments_of_a_call_are_text(call):
    assert split_thought(call) == ("", call)


def test_a_torn_call_does_not_hide_the_end_of_its_thought():
    call = '<tool_call>{"name": "f"}</tool_call>'
    assert split_thought(f'So <tool_call>{{"name": "g</think>{call}').answer == call


def test_a_prompt_that_ends_in_a_thought():
    assert opens_thought("<|im_start|>assistant\n<think>\n")
    assert not opens_thought("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_what_a_message_said():
    assert said(Message("assistant", "<think>a</think>b", thought="a")) == "b"
    assert said(Message("assistant", "all of it", thought="all of it")) == ""
    assert said(Message("assistant", "b", thought="sent apart")) == "b"
    assert said(Message("assistant", "a</think>b")) == "b"  # of a file without thoughts


HARMONY = "<|channel|>analysis<|message|>"


@pytest.mark.parametrize(
    "unit", ["<think>", "</think>", "\n<think>", "<", HARMONY, HARMONY[:15], "[THINK][/THINK]", " "]
)
def test_400_kilobytes_are_split_at_once(unit):
    began = time.process_time()
    split_thought(unit * (400_000 // len(unit)))
    assert time.process_time() - began < 0.5


def test_a_thought_is_kept_in_the_file_and_only_where_there_is_one():
    message = Message("assistant", "b", thought="a")
    rollout = Rollout("b", "p", "a", "t", 0, True, messages=(message, Message("user", "c")))
    line = to_line(rollout)
    assert from_line(line) == rollout
    assert line.count(b"thought") == 1


class Listening(buttons.Buttons):
    """It keeps what its episodes are given."""

    def reset(self, task, attempt):
        episode = super().reset(task, attempt)
        step = episode.step
        self.heard = []

        def listen(message):
            self.heard.append(message)
            return step(message)

        episode.step = listen
        return episode


@pytest.mark.parametrize(
    ("message", "heard"),
    [
        (Message("assistant", "<think>3?</think>4", thought="3?"), "4"),
        (Message("assistant", "3?", thought="3?"), ""),
        (Message("assistant", "4"), "4"),
    ],
)
def test_an_environment_takes_what_was_said(message, heard):
    environment = Listening()
    session = ScriptedPolicy(lambda context, key: message, "thinker").start(
        [RolloutKey(0, "t3", 0)]
    )
    (rollout,) = roll_out(session, environment, [RolloutKey(0, "t3", 0)], "p", "a", max_turns=1)
    assert environment.heard[0].content == heard
    assert rollout.messages[-1] == message or rollout.messages[1] == message


@pytest.mark.parametrize("parser", ["native", "robust", "paper", "exact"])
def test_regrading_reads_no_thought(parser):
    class OneTry(buttons.Buttons):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            episode.tries = 2
            return episode

    written = {
        f"<think>{CALL}</think>I press none.": False,
        f"<think>{CALL}": False,
        f"{CALL}</think>": False,
        f"<think>3?</think>{CALL}": True,
    }
    for text, passed in written.items():
        messages = (Message("user", "?"), Message("assistant", text))
        rollout = Rollout("buttons", "p", "a", "t3", 0, False, messages=messages, turns=(Turn(1),))
        (graded,) = regrade([rollout], OneTry(), parser)
        assert graded.passed is passed
    whole = replace(rollout, messages=(messages[0], Message("assistant", CALL, thought=CALL)))
    (graded,) = regrade([whole], OneTry(), parser)
    assert not graded.passed


def test_a_message_without_thought_is_the_same_message():
    message = Message("assistant", CALL)
    assert without_thought(message) is message
