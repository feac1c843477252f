"""Which tokens of a trajectory were its actions: stored, or from its text."""

import json
from dataclasses import replace

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from lib.advantage import (
    check_known,
    check_same_tokens,
    read_stored,
    read_text,
    read_transcript,
    transcripts_of,
)
from lib.rollouts.prompts import ChatTemplate, Harness, Plain
from lib.rollouts.prompts.word_language import WordLanguage
from lib.trajectories.schema import Message, Rollout, ToolCall, TrajectoryError, Turn
from lib.trajectories.tokens import Span, Transcript
from tests import buttons, tiny

CALLED = ToolCall("press", {"n": 3})
MESSAGES = (
    Message("user", "Find 3."),
    Message("assistant", "I look."),
    Message("tool", "It is there."),
    Message("assistant", "", (CALLED,)),
    Message("tool", "Pressed."),
)


def attempt(messages=MESSAGES, **fields):
    fields = {"tools": (buttons.PRESS,), **fields}
    return Rollout("buttons", "p", "a", "t3", 0, True, messages=messages, **fields)


def said(steps, tokenizer):
    """The text of each step's tokens."""
    ends = np.cumsum(steps.counts)
    return [tokenizer.decode(part) for part in np.split(steps.reading.tokens, ends)[:-1]]


@pytest.fixture(scope="module")
def letters():
    return tiny.tokenizer()


def merging():
    """Like `tiny.tokenizer`, with a token for ": g" and one for a new line before a hash sign."""
    state = json.loads(tiny.tokenizer().backend_tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    space, line = "Ġ", "Ċ"  # as byte-level tokens write a blank and a line break
    for pair in ((space, "g"), (line, "#")):
        vocabulary["".join(pair)] = 300 + len(state["model"]["merges"])
        state["model"]["merges"].append(list(pair))
    from tokenizers import Tokenizer

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(state)), eos_token="<|end|>"
    )


# ------------------------------------------------------------------------------------ stored ids


def test_stored_actions_are_the_sampled_tokens_with_their_ends(rollouts, tokenizer):
    for rollout in rollouts:
        steps = read_stored(rollout, tokenizer, context=256)
        sampled = [token for turn in rollout.turns for token in turn.action_ids]
        assert steps.reading.tokens.tolist() == sampled
        assert steps.messages == tuple(turn.message for turn in rollout.turns)
        assert steps.counts == tuple(len(turn.action_ids) for turn in rollout.turns)


def test_ids_that_read_as_something_else_are_another_tokenizers(rollouts, letters):
    with pytest.raises(
        TrajectoryError, match="they are another tokenizer's; read its text instead"
    ):
        read_stored(rollouts[0], letters, context=256)


def test_a_rollout_without_ids_says_so(letters):
    turns = [Turn(1, finish="stop")]
    with pytest.raises(TrajectoryError, match=r"message 1 of .* has no stored token ids"):
        read_stored(attempt(turns=turns), letters, context=256)


def test_a_rollout_without_turns_says_so_too(rollouts, tokenizer):
    with pytest.raises(TrajectoryError, match=r"message 1 of .* has no stored token ids"):
        read_stored(replace(rollouts[0], turns=()), tokenizer, 256)


def test_a_first_token_cannot_be_scored(rollouts, tokenizer):
    turns = [replace(turn, prompt_ids=()) for turn in rollouts[0].turns]
    with pytest.raises(TrajectoryError, match=r"message 1 of .* was sampled without a prompt"):
        read_stored(replace(rollouts[0], turns=turns), tokenizer, 256)


def test_half_of_a_surrogate_pair_is_one_character(letters):
    whole, half = (Transcript(f"a{x}b", (Span(0, 1, 3),)) for x in ("?", "\ud800"))
    read = [read_transcript(one, letters, 99).reading.tokens.tolist() for one in (whole, half)]
    assert read[0] == read[1]


def test_a_turn_that_said_nothing_is_missing(letters):
    messages = (Message("user", "a"), Message("assistant", ""))
    turns = [Turn(1, prompt_ids=(1, 2), action_ids=())]
    steps = read_stored(attempt(messages, turns=turns), letters, context=256)
    assert (steps.counts, steps.missing) == ((0,), ("empty",))


# ------------------------------------------------------------------------------------------ text


@pytest.mark.parametrize("seams", ["refuse", "cut"])
def test_the_text_of_actions_in_the_harness(letters, seams):
    steps = read_text(attempt(), letters, Harness(), 4096, seams=seams)
    block = '```tool_call\n[{"name": "press", "arguments": {"n": 3}}]\n```'
    assert said(steps, letters) == ["I look.", block]
    assert steps.messages == (1, 3)


def test_what_a_chat_template_refuses_has_no_score():
    refusing = "{% if 'It is there.' in messages[-1].content %}{{ 1 + 'a' }}{% endif %}"
    tokenizer = tiny.with_template(refusing + tiny.TEMPLATE)
    steps = read_text(attempt(MESSAGES[:4]), tokenizer, ChatTemplate(tokenizer), 4096)
    assert steps.missing == ("refused", "refused")
    assert len(steps.reading.tokens) == 0


def test_the_text_of_actions_in_a_chat_template(letters):
    messages = (*MESSAGES[:3], Message("assistant", "I <|end|> press."))
    steps = read_text(attempt(messages), letters, ChatTemplate(letters), 4096)
    assert said(steps, letters) == ["I look.", "I <|end|> press."]
    assert 256 not in steps.reading.tokens.tolist()  # what was said is no special token


def test_the_text_of_a_lab_rollout_has_its_stored_tokens(rollouts, tokenizer):
    for rollout in rollouts[:12]:
        stored = read_stored(rollout, tokenizer, context=256)
        anew = read_text(rollout, tokenizer, WordLanguage(), context=256)
        ends = np.cumsum(stored.counts)
        cut = [
            part[: len(part) - turn.ending]
            for part, turn in zip(
                np.split(stored.reading.tokens, ends)[:-1], rollout.turns, strict=True
            )
        ]
        assert anew.reading.tokens.tolist() == np.concatenate(cut).tolist()
        assert (
            anew.reading.sequences[0]
            == stored.reading.sequences[0][: len(anew.reading.sequences[0])]
        )


def test_a_prompt_format_that_words_the_past_anew_is_read_turn_by_turn(letters):
    class Forgetful(Plain):
        def prompt(self, context):
            return f"{len(context.messages)}: {context.messages[-1].content}\n"

    texts = [one.text for one in transcripts_of(attempt(), Forgetful())]
    assert texts[0].startswith("1: Find 3.\nI look.")
    assert len(texts) == 2


def test_a_seam_inside_a_token_is_refused_or_cut():
    tokenizer = merging()
    transcript = Transcript("say: go\n# done", (Span(1, 5, 7),))
    with pytest.raises(TrajectoryError, match="crosses the edge of the action of message 1"):
        read_transcript(transcript, tokenizer, 100)
    steps = read_transcript(transcript, tokenizer, 100, seams="cut")
    assert said(steps, tokenizer) == ["go"]


def test_an_action_at_the_very_start_cannot_be_scored(letters):
    with pytest.raises(TrajectoryError, match="begins the transcript"):
        read_transcript(Transcript("go on", (Span(0, 0, 2),)), letters, 100)


def test_text_past_the_context_is_missing(letters):
    transcript = Transcript("ask go say stop.", (Span(1, 4, 6), Span(3, 11, 15)))
    steps = read_transcript(transcript, letters, 13)
    assert (steps.counts, steps.missing) == ((2, 0), ("", "context"))
    assert max(map(len, steps.reading.sequences)) == 13
    assert read_transcript(transcript, letters, 14).missing == ("", "")


def test_tools_kept_beside_the_file_are_needed(letters):
    with pytest.raises(TrajectoryError, match="give the folder of the collection"):
        read_text(attempt(tools="abc"), letters, Harness(), 100)


# ------------------------------------------------------------------------------ the same tokens


def changed(tokenizer, change):
    from tokenizers import Tokenizer

    state = json.loads(tokenizer.backend_tokenizer.to_str())
    change(state)
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(state)))


def test_the_same_tokens_pass(letters):
    check_same_tokens(letters, tiny.tokenizer())


def test_another_meaning_of_an_id_is_named(letters):
    def swap(state):
        words = state["model"]["vocab"]
        words["A"], words["B"] = words["B"], words["A"]

    with pytest.raises(ValueError, match=r"2 ids differ, first .*'A' to the policy and 'B' to"):
        check_same_tokens(letters, changed(letters, swap))


def test_another_way_to_cut_a_text_is_named(letters):
    def know(state):
        state["model"]["vocab"]["um"] = 256

    def merge(state):
        know(state)
        state["model"]["merges"].append(["u", "m"])

    with pytest.raises(ValueError, match="cut the same text into different tokens"):
        check_same_tokens(changed(letters, know), changed(letters, merge))


def test_a_token_that_only_the_policy_has_is_refused_where_it_occurs(letters):
    transcript = Transcript("say: go", (Span(1, 5, 7),))
    steps = read_transcript(transcript, letters, 100)
    check_known(steps, letters)
    reading = replace_tokens(steps, 261)
    with pytest.raises(ValueError, match="holds token 261, and the reference's tokenizer has only"):
        check_known(reading, letters)


def replace_tokens(steps, token):
    return replace(steps, reading=steps.reading._replace(tokens=np.array([token])))
