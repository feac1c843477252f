"""Pictures of scores for steps."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import metrics, plotting

PASSED = np.tile([True, False, False, True], 6)
TASKS = np.repeat(range(6), 4)
GOOD = metrics.selection(PASSED.astype(float), PASSED, TASKS, [1, 2, 4], n_boot=40)


def test_the_best_of_k_lies_between_what_k_attempts_allow():
    ax = plotting.plot_selection({"progress advantage": GOOD})
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert lines["progress advantage"] == pytest.approx(GOOD.coverage.value)  # a perfect selector
    assert [text.get_text() for text in ax.texts] == ["pass@k", "pass@1", "progress advantage"]


def test_the_legend_names_the_selectors_in_order():
    figure = plt.figure()
    plotting.selector_legend(figure, ["minus turns", "reward model"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "minus turns",
        "reward model",
    ]


def test_aggregations_show_their_numbers():
    grid = pd.DataFrame([[0.4, 0.61]], ["mean"], ["mean", "min"])
    ax = plotting.plot_aggregations(grid, middle=0.5)
    assert [text.get_text() for text in ax.texts] == ["0.40", "0.61"]


def test_turns_say_how_many_episodes_still_run():
    rows = pd.DataFrame(
        {"selector": "progress advantage", "turn": [1, 2], "running": [9, 4], "value": 0.6}
    ).assign(low=0.5, high=0.7)
    labels = [label.get_text() for label in plotting.plot_early(rows).get_xticklabels()]
    assert labels == ["1\n9", "2\n4"]


def test_a_transcript_shows_every_word_and_the_mean_of_its_step():
    steps = [{"words": ["[", "move"], "score": [0.25, -0.05]}, {"words": ["]"], "score": [0.2]}]
    ax = plotting.plot_transcript(steps, "score", reach=0.3)
    means = ["score\n(mean)"]
    assert [text.get_text() for text in ax.texts] == ["[", "move", "+0.10", "]", "+0.20", *means]


def test_words_without_room_are_left_out():
    steps = [{"words": ["long"] * 10, "score": [0.1] * 10}]
    texts = [text.get_text() for text in plotting.plot_transcript(steps, "score", reach=1).texts]
    assert "long" not in texts
    assert "+0.10" in texts


def test_a_transcript_has_a_board_and_other_means_beside_each_step():
    board = {"size": 3, "walls": [1], "player": 0, "box": 4, "goal": 8}
    steps = [{"words": ["a"], "score": [0.1], "other": [-0.5]}] * 2
    ax = plotting.plot_transcript(steps, "score", reach=1, beside=["other"], boards=[board] * 2)
    assert len(ax.child_axes) == 2
    assert [text.get_text() for text in ax.texts].count("-0.50") == 2


def test_both_models_have_their_lines():
    pair = {name: {"progress advantage": GOOD} for name in ("base", "post-trained")}
    ax = plotting.plot_deployable(pair)
    kinds = ("best of k", "pass@k", "pass@1")
    assert [line.get_label() for line in ax.lines] == [
        f"{name}: {kind}" for name in pair for kind in kinds
    ]
    assert len(ax.texts) == 6


def test_attempts_of_another_maker_are_drawn_too():
    ax = plotting.plot_deployable({"mine": {"progress advantage": GOOD}})
    assert [text.get_text().partition(":")[0] for text in ax.texts] == ["mine"] * 3


def test_the_fixed_aggregation_is_framed_and_gains_have_a_sign():
    grid = pd.DataFrame([[0.1, -0.2]], ["mean"], ["mean", "min"])
    ax = plotting.plot_aggregations(grid, middle=0, marked=("mean", "min"), colour_bar="gain")
    assert [text.get_text() for text in ax.texts] == ["+0.10", "-0.20"]
    assert ax.patches[0].get_xy() == (0.5, -0.5)
    assert len(ax.figure.axes) == 2


def test_differences_of_auroc_say_whom_a_side_favours():
    rows = pd.DataFrame({"selector": ["policy log-prob"], "compared": "pooled", "value": 0.1})
    ax = plotting.plot_auroc_leads(rows.assign(low=0.05, high=0.2))
    assert "baseline better" in ax.get_xlabel()
    assert ax.get_xlim() == (-1, 1)


def test_no_colour_of_a_selector_means_anything_else():
    colours = [colour for colour, _, _ in plotting.SELECTORS.values()]
    others = {colour for _, colour, _, _ in plotting.METHODS.values()}
    assert len(set(colours)) == len(colours)
    assert not {*others, *plotting.COLOURS.values(), plotting.GREY} & set(colours)
