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
    assert [text.get_text() for text in ax.texts] == ["pass@k", "pass^k"]


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
    assert [text.get_text() for text in ax.texts] == ["[", "move", "+0.10", "]", "+0.20"]


def test_both_models_have_their_lines():
    pair = {name: {"progress advantage": GOOD} for name in ("base", "post-trained")}
    ax = plotting.plot_deployable(pair)
    kinds = ("best of k", "pass@k", "pass@1", "pass^k")
    assert [line.get_label() for line in ax.lines] == [
        f"{name}: {kind}" for name in pair for kind in kinds
    ]
