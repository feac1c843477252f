"""Sentences and titles on the selection of attempts."""

import numpy as np
import pandas as pd
import pytest

from lib import metrics
from lib.advantage import selection
from lib.advantage.aggregation_choice import FIXED
from lib.reporting import selection_wording as wording
from tests import scored_attempts

SETTING = scored_attempts.setting()
BEST = selection.select_by(
    SETTING, [selection.PROGRESS, "policy log-prob", "reward model"], [1, 2, 4], 40, 0
)
BACKWARDS = selection.select_by(
    scored_attempts.setting(right=False), [selection.PROGRESS, "reward model"], [1, 2, 4], 40, 0
)


def test_who_ends_earlier_is_counted():
    text = wording.turns_in_words([SETTING])
    assert text.startswith("Successes are shorter than failures in 1 (sokoban: post-trained); ")
    assert "longer in none. So the number" in text


def test_without_differences_in_length_nothing_follows():
    assert wording.turns_in_words([]).endswith("longer in none.")


def test_the_title_of_the_hero_compares_with_one_post_trained_attempt():
    title = wording.deployable_title("here", {"base": BEST, "post-trained": BACKWARDS})
    assert title == (
        "here: of 4 attempts of the base the pick is right for 100%\n"
        "of tasks, some attempt for 100%; one post-trained attempt for 50%"
    )


def test_the_title_of_a_single_maker_needs_no_other():
    title = wording.deployable_title("mine", {"anyone": BACKWARDS})
    assert title.startswith("mine: of 4 attempts the pick is right for 0%")
    assert title.endswith("one attempt for 50%")


def test_what_is_cashed_in_names_the_best_other_and_the_one_with_labels():
    (line,) = wording.cashed_in_words("here", {"post-trained": BEST})
    assert line.startswith("here, 4 attempts of the post-trained policy: progress advantage cashes")
    assert "the best of 1 other without labels, policy log-prob" in line
    assert line.endswith("the reward model, which needs labels, 1.00")


def test_nothing_to_gain_is_no_share():
    sure = metrics.selection(
        np.arange(24.0), np.ones(24), np.repeat(range(12), 2), [1, 2], n_boot=40
    )
    lines = wording.cashed_in_words("here", {"base": {selection.PROGRESS: sure}})
    assert lines == ["here, attempts of the base: no gain to cash in at 2"]


@pytest.mark.parametrize(("selections", "ours"), [(BEST, 1), (BACKWARDS, 0)])
def test_the_best_selector_is_counted(selections, ours):
    title = wording.best_selector_title({"here": selections}, 4)
    assert title == (
        f"Best of 4: progress advantage picks best in {ours} of 1 setting, "
        "reward model (needs labels) in 1"
    )


def leads(low, high):
    rows = pd.DataFrame({"attempts": SETTING.label, "selector": ["a", "b"], "compared": "pooled"})
    return rows.assign(value=0.0, low=low, high=high)


def test_leads_are_counted_on_both_sides_and_over_all_baselines():
    title = wording.leads_title(leads([0.1, -0.3], [0.2, -0.1]), "pooled")
    assert "is ahead in 1 of 2 comparisons with a baseline, behind in 1;" in title
    assert title.endswith("ahead of all 2 baselines in 0 of 1 setting")
    assert wording.leads_title(leads(0.1, 0.2), "pooled").endswith("in 1 of 1 setting")


def test_leads_without_an_interval_are_not_counted():
    assert "in 0 of 0 comparisons" in wording.leads_title(leads(np.nan, np.nan), "pooled")


def test_each_baseline_has_a_line():
    lines = wording.leads_in_words(leads([0.1, -0.3], [0.2, -0.1]), [SETTING])
    assert lines == [
        "against a: above 0 in 1 of 1 setting (1 set), below it in 0 of 1 setting (0 sets)",
        "against b: above 0 in 0 of 1 setting (0 sets), below it in 1 of 1 setting (1 set)",
    ]


def test_the_fixed_aggregation_stands_beside_best_and_worst():
    grid = pd.DataFrame([[0.1, 0.3], [-0.2, 0.0]], ["mean", "min"], ["mean", "sum"])
    fixed = FIXED["token"], FIXED["step"]
    assert wording.aggregations_title("here", grid, fixed) == (
        "here: fixed (mean, mean) +0.10;\nbest (mean, sum) +0.30, worst -0.20"
    )


def test_halves_are_counted_by_how_the_aggregation_was_found():
    halves = pd.DataFrame(
        {"kind": ["chosen", "fixed", "chosen"], "low": [0.1, -0.2, -0.1], "high": [0.2, -0.1, 0.1]}
    )
    assert wording.halves_in_words(halves) == [
        "chosen: above pass@1 in 1 of 2 halves, below it in 0",
        "fixed: above pass@1 in 0 of 1 halves, below it in 1",
    ]


def test_early_warning_has_a_line_a_turn():
    rows = leads(0.6, 0.7).assign(selector=selection.PROGRESS, turn=[1, 2])
    first, second = wording.early_in_words(rows, [SETTING])
    assert first.startswith("After turn 1 progress advantage is above a half in 1 of 1 setting")
    assert second.endswith("it is defined in 1")


def test_gains_are_given_in_points_and_percent():
    gains = pd.DataFrame({"points": [1.0, 3.0], "percent": [10.0, 20.0]})
    assert wording.gains_in_words(gains, 8, 1) == (
        "Best of 8 by progress advantage minus pass@1: +2.0 points, +15.0% of pass@1, on average "
        "over 2 settings of 1 set of attempts"
    )
