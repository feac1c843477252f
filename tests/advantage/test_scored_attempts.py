"""Scored attempts from a table: what is left out, settings of any folder, transcripts."""

from dataclasses import replace

import numpy as np
import pytest

from lib.advantage.scored_attempts import (
    by_arm,
    by_policy,
    one_a_set,
    sets_in_words,
    transcript,
    two_attempts,
)
from lib.advantage.scores import as_scored, as_table
from lib.advantage.selection import PROGRESS
from tests import scored_attempts

SETTING = scored_attempts.setting()


def test_attempts_without_an_outcome_are_left_out_and_counted():
    table = scored_attempts.table().assign(benchmark="b", pair="p", arm="post")
    table.loc[[3, 7], "passed"] = None
    (setting,) = by_arm(table)
    assert (len(setting.table), len(setting.scored), setting.left_out) == (46, 46, 2)


def test_each_arm_of_any_table_is_a_setting():
    table = as_table(as_scored(scored_attempts.table()))
    half = table["attempt"] < 2
    table = table.assign(benchmark="b", pair="p", arm=half.map({True: "base", False: "post"}))
    base, post = by_arm(table)
    assert (base.label, base.made_by, len(base.table)) == ("b: p base", "base", 24)
    assert (post.label, post.made_by, post.attempt_set) == ("b: p post", "post-trained", "b p post")
    assert base.other_scorers == {}


def test_benchmarks_are_chosen_from_a_list_of_those_there_are():
    table = scored_attempts.table().assign(benchmark="b", pair="p", arm="post")
    assert len(by_arm(table, ["b"])) == 1
    with pytest.raises(TypeError, match=r"benchmarks is 'b': expected a list, \['b'\]"):
        by_arm(table, "b")
    with pytest.raises(ValueError, match="benchmarks has 'x': expected some of b"):
        by_arm(table, ["x"])


def test_settings_that_share_their_attempts_are_named():
    text = sets_in_words([SETTING, SETTING])
    assert text.startswith("2 settings of 1 set of attempts; the same attempts")
    assert sets_in_words([SETTING]) == "1 setting of 1 set of attempts"


def test_a_transcript_has_its_words_step_by_step():
    steps = transcript(SETTING, 1, dict(enumerate("abcdef")))
    assert ["".join(step["words"]) for step in steps] == ["ab", "cd", "ef"]
    assert steps[1][PROGRESS] == pytest.approx([-0.9, -0.9])


def test_a_token_without_a_word_is_shown_by_its_number():
    assert transcript(SETTING, 1)[0]["words"].tolist() == ["0", "1"]


def test_two_attempts_are_of_one_task():
    success, failure = (SETTING.table.loc[row] for row in two_attempts(SETTING))
    assert success["passed"]
    assert not failure["passed"]
    assert success["task"] == failure["task"]


def test_a_table_of_scores_is_read_as_it_was_written():
    scored = SETTING.scored
    read = as_scored(as_table(scored))
    for name in ("steps", "messages", "missing", "counts", "tokens", "policy", "reference"):
        np.testing.assert_array_equal(getattr(read, name), getattr(scored, name))
    assert (read.keys, read.passed) == (scored.keys, scored.passed)


def named(label, **options):
    return replace(SETTING, label=label, **options)


def test_settings_of_a_policy_are_named_by_what_their_labels_share():
    settings = [
        named("tools: small base", policy="p", made_by="base"),
        named("tools: small post", policy="p", made_by="post-trained"),
        named("web: large base", policy="q", made_by="base"),
    ]
    pairs = {name: list(pair) for name, pair in by_policy(settings).items()}
    assert pairs == {"tools: small": ["base", "post-trained"], "web: large base": ["base"]}


def test_of_settings_that_share_their_attempts_the_first_stays():
    settings = [named("a"), named("b"), named("c", attempt_set="others")]
    assert [setting.label for setting in one_a_set(settings)] == ["a", "c"]
