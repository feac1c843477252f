"""The lab's small language: every form of a call is written and read, nothing else is a call."""

import itertools
import time

import pytest

from lib.rollouts.policies.protocol import Context
from lib.rollouts.prompts.word_language import (
    CUE,
    END,
    FORMS,
    START,
    TURN,
    UNKNOWN,
    WordLanguage,
    check_vocabulary,
    read_calls,
    tokenizer,
    transcript,
    write_calls,
)
from lib.trajectories.schema import Message, Tool, ToolCall

SIDES = ["up", "down"]
MOVE = Tool(
    "move",
    "",
    {"properties": {"first": {"enum": SIDES}, "second": {"enum": SIDES}}, "required": ["first"]},
)
WAIT = Tool("wait")
CALLS = (ToolCall("move", {"first": "up", "second": "down"}), ToolCall("wait"))


@pytest.mark.parametrize("form", FORMS)
def test_the_lenient_parser_reads_every_form(form):
    assert read_calls(write_calls(CALLS, form), [MOVE, WAIT], "lenient") == CALLS


@pytest.mark.parametrize("form", FORMS)
def test_the_exact_parser_reads_the_native_form_alone(form):
    found = read_calls(write_calls(CALLS, form), [MOVE, WAIT])
    assert found == (CALLS if form == "native" else ())


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "]", "[ ]", "[ move", "] move up [", "[ move ]", "[ move left ]"),
        *("[ move up up up ]", "well [ move up ]", "[ move up ] well", "[ jump up ]", "move up"),
    ],
)
def test_the_exact_parser_takes_all_of_a_reply_or_nothing(text):
    assert read_calls(text, [MOVE]) == ()


def test_the_lenient_parser_finds_a_call_in_any_text():
    assert read_calls("well move , up now", [MOVE], "lenient") == (
        ToolCall("move", {"first": "up"}),
    )


def test_the_lenient_parser_leaves_out_what_misses_arguments():
    assert read_calls("move then wait", [MOVE, WAIT], "lenient") == (ToolCall("wait"),)


FREE = Tool("say", "", {"properties": {"a": {}, "b": {"enum": ["up"]}}, "required": ["a"]})


@pytest.mark.parametrize("form", FORMS)
def test_a_parameter_without_an_enum_may_be_any_word(form):
    calls = (ToolCall("say", {"a": "hello", "b": "up"}), ToolCall("say", {"a": "you"}))
    assert read_calls(write_calls(calls, form), [FREE], "lenient") == calls
    if form == "native":
        assert read_calls(write_calls(calls), [FREE]) == calls


HOSTILE = f"{START} a{END}b {TURN} {CUE} \ufdd0{TURN}\ufdd0 {END}"


def test_observations_separate_no_turns():
    made = tokenizer(["up"])
    told = transcript([Message("user", f"up {HOSTILE} [ up"), Message("assistant", "up")])
    ids = made(told, add_special_tokens=False)["input_ids"]
    unknown = [UNKNOWN] * 6
    assert made.convert_ids_to_tokens(ids) == [START, "up", *unknown, "[", "up", TURN, "up", END]


def test_a_vocabulary_without_a_word_is_refused_by_it():
    check_vocabulary(tokenizer(["up", "down"]), ["up", "down"])
    with pytest.raises(ValueError, match=r"no word 'player@9' of this environment.*prompt_format"):
        check_vocabulary(tokenizer(["up"]), ["up", "player@9", "goal@1"])


def test_no_text_of_the_language_makes_a_parser_raise():
    words = ["[", "]", "move", "up", "wait", "(", ",", "I"]
    for text in map(" ".join, itertools.product(words, repeat=4)):
        for parser in ("exact", "lenient"):
            read_calls(text, [MOVE, WAIT], parser)


@pytest.mark.parametrize("bad", ["use", "Exact"])
def test_another_parser_or_form_is_an_error(bad):
    with pytest.raises(ValueError, match=r"parser is '.*': expected exact or lenient"):
        read_calls("", [], bad)
    with pytest.raises(ValueError, match=r"form is 'prose': expected one of native"):
        write_calls(CALLS, "prose")


def test_a_longer_conversation_begins_with_the_prompt_and_the_reply():
    first = (Message("user", "here up"),)
    reply = Message("assistant", "[ move up ]")
    later = (*first, reply, Message("tool", "there down"))
    for prompt_format in (WordLanguage(), WordLanguage(cue=True)):
        prompts = [prompt_format.prompt(Context("rules", (MOVE,), said)) for said in (first, later)]
        assert prompts[1].startswith(f"{prompts[0]}{reply.content} {END}")


def test_the_cue_is_the_first_word():
    assert transcript([], cue=True).split() == [START, CUE]


def test_tokens_are_words_and_come_back_as_text(tmp_path):
    made = tokenizer(["move", "up", "player@3"])
    made.save_pretrained(tmp_path)
    text = f"{START} player@3 > [ move up ] {END}"
    from transformers import AutoTokenizer

    for one in (made, AutoTokenizer.from_pretrained(tmp_path)):
        ids = one(text, add_special_tokens=False)["input_ids"]
        assert len(ids) == len(text.split())
        assert one.decode(ids) == text
        assert (one.eos_token, one.decode(one("dragon")["input_ids"])) == (END, "<unk>")


@pytest.mark.parametrize("parser", ["exact", "lenient"])
def test_a_flood_of_calls_is_read_at_once(parser):
    began = time.process_time()
    assert len(read_calls("[ wait ] " * 50_000, [MOVE, WAIT], parser)) == 50_000
    assert time.process_time() - began < 4  # a copy of the rest for each call took 20 s
