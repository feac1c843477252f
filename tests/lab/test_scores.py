"""The lab's settings of scored attempts, by their names, in the order of the plan."""

import numpy as np
import pytest

from lib.advantage import store
from lib.advantage.scores import as_scored
from lib.lab import plan, scores
from tests import scored_attempts

SETTING = scored_attempts.setting()


def test_a_table_of_the_lab_is_read_as_it_was_written():
    scored = SETTING.scored
    written = scores.small_table(scored, None, [None] * len(scored))
    read = as_scored(written)
    for name in ("steps", "counts", "tokens", "policy", "policy_top", "reference"):
        np.testing.assert_array_equal(getattr(read, name), getattr(scored, name))
    assert read.passed == scored.passed


def test_the_lab_writes_the_columns_and_types_of_its_committed_table():
    committed = store.read_table(plan.DATA)
    written = scores.small_table(SETTING.scored, None, [None] * len(SETTING.scored))
    assert set(written) < set(committed)
    for name in ("task", "attempt", "passed", "turns", "missing", "decisive"):
        assert written[name].dtype == committed[name].dtype, name
    for name in ("counts", "tokens", "policy", "policy_top", "reference"):
        assert written[name][0].dtype == committed[name][0].dtype, name


def test_settings_are_named_by_what_made_their_attempts():
    table = scored_attempts.table()
    makers = (scored_attempts.POLICY.name, "sokoban-0.25M-base-85", "sokoban-1M-base-85")
    labels = [scores.settings(table.assign(by=by))[0].label for by in makers]
    assert labels == ["sokoban: post-trained", "sokoban: base", "sokoban: base of 1M"]


def test_another_table_has_a_setting_for_each_arm():
    table = scored_attempts.table().drop(columns="by").assign(benchmark="b", pair="p", arm="base")
    assert [setting.label for setting in scores.settings(table)] == ["b: p base"]
    assert scores.absent(table) == []


def test_a_name_in_the_place_of_a_list_is_refused():
    with pytest.raises(TypeError, match=r"environments is 'desk': expected a list, \['desk'\]"):
        scores.settings(scored_attempts.table(), "desk")


def test_what_is_planned_and_not_there_is_named():
    names = scores.absent(scored_attempts.table())
    assert len(names) == len(plan.SCORES) - 1
    assert plan.SCORES[0].name not in names


def test_the_verdict_is_about_policies_trained_at_a_fixed_temperature():
    table = scored_attempts.table()
    (ptgs,) = scores.settings(table.assign(sampler="ptgs"))
    assert [setting.label for setting in scores.primary([SETTING, ptgs])] == [SETTING.label]


def test_attempts_of_a_model_of_another_size_are_set_apart():
    (other,) = scores.settings(scored_attempts.table().assign(by="sokoban-1M-base-85"))
    assert [setting.label for setting in scores.main_settings([SETTING, other])] == [SETTING.label]
    assert len(scores.main_settings([other])) == 1


def test_words_of_a_committed_policy_are_known_and_of_no_other():
    assert "left" in scores.words(SETTING).values()
    (other,) = scores.settings(scored_attempts.table().assign(seed=99))
    assert scores.words(other) == {}
