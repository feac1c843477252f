"""Pictures of many comparisons show the numbers that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import plotting

ROWS = pd.DataFrame(
    {"pair": ["p", "p", "_$q$"], "benchmark": ["a", "b", "_a"], "value": [1.0, 2.0, np.nan]}
).assign(low=[0.5, -1, np.nan], high=[4, 3, np.nan])
KINDS = pd.DataFrame(
    {"pair": "p", "arm": ["base", "post"], "never": [0.1, 0.3], "sometimes": [0.9, 0.05]}
).assign(always=[0.0, 0.65])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_row_of_taxes_for_each_comparison_under_its_benchmark():
    ax = plotting.plot_tax(ROWS)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[:4] == ["a", "p", "b", "p"]
    assert len(names) == 6
    ax.figure.canvas.draw()


def test_a_tax_that_may_be_zero_is_hollow_and_an_undefined_one_says_so():
    ax = plotting.plot_tax(ROWS)
    fills = [line.get_color() for line in ax.lines if line.get_marker() == "o"]
    assert [fill == "white" for fill in fills] == [False, True]
    assert "undefined" in texts(ax)


def test_bars_of_an_arm_add_up_and_small_shares_have_no_number():
    ax = plotting.plot_task_kinds(KINDS)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 3)
    assert widths.sum(axis=1) == pytest.approx([1, 1])
    assert {"10%", "90%", "30%", "65%"} <= set(texts(ax))
    assert "5%" not in texts(ax)


def test_a_shift_shows_both_rates_and_its_note():
    ends = dict.fromkeys(["before_low", "before_high", "after_low", "after_high"], np.nan)
    rows = pd.DataFrame([{"label": "m", "before": 0.1, "after": 0.4, "note": "+.3", **ends}])
    ax = plotting.plot_shift(rows)
    assert [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata())] == [0.1, 0.4]
    assert "+.3" in texts(ax)


def test_sizes_that_are_nearly_the_same_share_a_tick():
    rows = pd.DataFrame({"family": list("abc"), "size": [14.0, 31, 32], "value": 0.1})
    ax = plotting.plot_sizes_of_pairs(rows.assign(low=0.0, high=0.2))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["14B", "31B"]


def test_names_that_mean_something_to_a_plot_are_shown_as_they_are():
    ax = plotting.plot_agreement(ROWS.assign(x=[1, 2, 3], y=[3, 1, 2], x_sd=0.1, y_sd=0.1), rho=0.5)
    assert len(ax.get_legend().get_texts()) == 5
    ax.figure.canvas.draw()


def test_an_environment_looks_the_same_in_every_panel():
    points = ROWS.assign(x=[1, 2, 3], y=[3, 1, 2], x_sd=0.1, y_sd=0.1, pair=ROWS["benchmark"])
    names = list(points["benchmark"])
    everything = plotting.plot_agreement(points, benchmarks=names)
    alone = plotting.plot_agreement(points[1:2], benchmarks=names, ax=plt.figure().gca())
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["b"]
    all_dots, dots = (
        [mark for mark in ax.collections if len(mark.get_offsets()) and len(mark.get_facecolor())]
        for ax in (everything, alone)
    )
    assert (dots[0].get_facecolor() == all_dots[1].get_facecolor()).all()
