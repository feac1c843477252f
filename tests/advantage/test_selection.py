"""Selection of attempts: what selectors pick, standings, budgets, early warning."""

from dataclasses import replace

import numpy as np
import pytest

from lib.advantage import MissingReference, selection
from tests import scored_attempts

SETTING = scored_attempts.setting()


def selections(setting, ks):
    return {
        name: selection.select(setting, scores, ks, 100, 0)
        for name, scores in selection.selectors(setting).items()
    }


def test_progress_advantage_picks_what_it_prefers():
    picks = selection.pick_table(SETTING, [4], 100, 0).set_index("selector")
    assert picks.loc[selection.PROGRESS, "success"].value == pytest.approx(1)
    assert picks.loc[selection.PROGRESS, "share"].value == pytest.approx(1)
    assert picks.loc["policy log-prob", "success"].value == pytest.approx(0.5)


def test_standings_count_the_settings_in_which_progress_advantage_does_better():
    settings = {"right": SETTING, "wrong": scored_attempts.setting(right=False)}
    by_label = {label: selections(setting, [1, 4]) for label, setting in settings.items()}
    sets = {"right": "a", "wrong": "b"}
    table = selection.standings(by_label, 4, sets)
    assert selection.PROGRESS not in table.index
    assert table.loc["one attempt"].to_list() == [1, 1, 0, 1, 1]
    assert table.loc["reward model"].to_list() == [0, 1, 1, 0, 1]
    assert selection.standings(by_label, 1, sets).loc["one attempt"].to_list() == [0, 0, 2, 0, 0]


def test_standings_tell_settings_from_sets_of_attempts():
    picked = selections(SETTING, [4])
    row = selection.standings({"x": picked, "y": picked}, 4, {"x": "a", "y": "a"}).iloc[0]
    assert (row["better"], row["better_sets"]) == (2, 1)


def test_a_selector_without_scores_is_named_with_the_reason():
    alone = replace(SETTING, other_scorers={})
    names = [selection.PROGRESS, "minus turns", "reward model"]
    assert selection.without_scores([SETTING], names) == {}
    assert selection.without_scores([SETTING, alone], names) == {
        "reward model": "there are no scores by it for sokoban: post-trained"
    }
    assert "reward model" not in selection.selectors(alone)


def test_without_a_reference_there_is_no_selection_by_progress_advantage():
    alone = replace(SETTING, scored=replace(SETTING.scored, reference=None))
    with pytest.raises(MissingReference):
        selection.selectors(alone)


def test_an_early_score_knows_nothing_of_later_steps():
    table = selection.early_table(SETTING, 100, 0)
    ours = table[(table["selector"] == selection.PROGRESS) & (table["compared"] == "pooled")]
    assert list(ours["turn"]) == [1, 2]
    assert list(ours["running"]) == [48, 36]
    assert list(ours["value"]) == [1, 1]  # 0.2 against 0.1 in the first step


def test_a_largest_budget_is_a_whole_number():
    assert selection.budget([SETTING], 1) == 1
    assert selection.budget([SETTING], 10**6) == selection.budget([SETTING])
    for bad in (0, 1.5, "8"):
        with pytest.raises(ValueError, match=r"max_k is .*: expected a whole number, at least 1"):
            selection.budget([SETTING], bad)
    with pytest.raises(ValueError, match="no attempts are scored"):
        selection.budget([])


@pytest.mark.parametrize(("largest", "budgets"), [(4, [4]), (8, [8]), (31, [8]), (99, [8, 32])])
def test_budgets_of_a_table_end_at_the_largest(largest, budgets):
    assert selection.budgets(largest) == budgets


def test_progress_advantage_against_other_references_comes_from_columns():
    scores = selection.by_reference(SETTING)
    assert list(scores)[:3] == ["base", "pre-training, earlier", "RL, half-way"]
    assert (scores["base"] > 0).any()
    assert np.all(scores["RL, half-way"] == 0)


def test_leads_in_auroc_are_over_baselines_with_a_sign_of_their_own():
    rows = selection.auroc_leads(scored_attempts.setting(), 40, 0)
    assert set(rows["compared"]) == {"pooled", "within task", "equal length"}
    names = set(rows["selector"])
    assert {"policy log-prob", "minus turns", "reward model"} <= names
    assert not {"random", "progress advantage"} & names
    assert not any("as released" in name for name in names)
    pooled = rows[rows["compared"] == "pooled"].set_index("selector")
    assert pooled.loc["policy log-prob", "value"] == pytest.approx(0.5)  # 1 against a constant
    assert pooled.loc["reward model", "value"] == pytest.approx(0)
