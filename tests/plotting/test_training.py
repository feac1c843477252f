"""Pictures of training runs: means, ranges, colours, and what lies beyond the axes."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import plotting

STEPS = pd.DataFrame(
    {"sampler": method, "seed": seed, "step": step, "reward": 0.5 + 0.1 * seed}
    | {"temperature_mean": 1.0, "temperature_min": 0.8, "temperature_max": 1.3}
    for method in ("fixed", "ptgs")
    for seed in (0, 1)
    for step in range(1, 31)
)
SCORES = pd.DataFrame(
    {"sampler": ["ptgs", "ptgs", "fixed", "fixed"], "seed": [0, 1, 0, 1], "pass@1": [3, 5, 1, 2]}
)


def band_of(ax):
    """The lowest and the highest point of the first band."""
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    return heights.min(), heights.max()


def test_a_training_curve_is_the_mean_over_seeds_and_its_band_their_range():
    ax = plotting.plot_training(STEPS, "reward")
    assert len(ax.lines) == 2
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(0.55)
    assert band_of(ax) == pytest.approx((0.5, 0.6))


def test_the_band_of_temperature_reaches_from_the_coldest_to_the_hottest_group():
    assert band_of(plotting.plot_training(STEPS, "temperature")) == pytest.approx((0.8, 1.3))


def test_methods_keep_their_colours_whichever_are_there():
    alone = plotting.plot_training(STEPS[STEPS["sampler"] == "ptgs"], "reward").lines[0]
    assert alone.get_color() == plotting.METHODS["ptgs"][1]


def test_coverage_of_a_method_is_the_mean_of_its_seeds():
    curves = pd.DataFrame(
        {"seed": [0, 0, 1, 1], "k": [1, 2, 1, 2], "coverage": [0.1, 0.2, 0.3, 0.4]}
    ).assign(sampler="fixed")
    ax = plotting.plot_method_coverage(curves)
    assert ax.lines[0].get_ydata() == pytest.approx([0.2, 0.3])
    assert band_of(ax) == pytest.approx((0.1, 0.4))


def test_the_bar_of_a_method_is_the_mean_of_its_runs():
    ax = plotting.plot_seeds(SCORES, "pass@1")
    bars = [segments[0][0, 1] for segments in (bar.get_segments() for bar in ax.collections)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["fixed", "PTGS"]
    assert bars == pytest.approx([1.5, 4])


@pytest.mark.parametrize("measure", ["pass@8", "pass^8"])
def test_the_base_is_joined_from_cold_to_hot(measure):
    bases = pd.DataFrame({"temperature": [1.0, 0.5], "pass@1": [0.2, 0.3], measure: [0.7, 0.5]})
    runs = pd.DataFrame({"sampler": ["ptgs"], "pass@1": [0.4], measure: [0.6]})
    ax = plotting.plot_cooling(bases, runs, measure)
    assert ax.lines[0].get_xdata().tolist() == [0.3, 0.2]
    assert [text.get_text() for text in ax.texts] == ["0.5", "T = 1"]
    assert ax.get_ylabel().endswith(measure)


def test_the_base_and_zero_are_named_where_they_are_drawn():
    ax = plotting.plot_seeds(SCORES, "pass@1", base=1.5, zero=True)
    assert [text.get_text() for text in ax.texts] == ["base", "0"]


def test_no_method_has_a_colour_of_something_else():
    colours = {look[1] for method, look in plotting.METHODS.items() if method != "base"}
    others = {*plotting.COLOURS.values(), *(look[0] for look in plotting.SELECTORS.values())}
    assert len(colours) == len(plotting.METHODS) - 1
    assert not colours & others


@pytest.mark.parametrize(
    ("side", "words"), [("left", "← favours PTGS"), ("right", "favours PTGS →")]
)
def test_differences_say_which_side_favours_ptgs(side, words):
    rows = pd.DataFrame({"cell": "a", "against": ["fixed", "yoked"], "value": [0.1, -0.2]})
    ax = plotting.plot_differences(rows.assign(low=-0.3, high=0.3), favours=side)
    assert [text.get_text() for text in ax.texts] == [words]
    marks = [line.get_color() for line in ax.lines if line.get_marker() in "o^"]
    assert marks == [plotting.METHODS[method][1] for method in ("fixed", "yoked")]


def test_learning_rates_are_joined_through_the_means_of_a_method():
    scores = pd.concat([SCORES.assign(rate=1e-4), SCORES.assign(rate=3e-4)])
    ax = plotting.plot_rates(scores, "pass@1")
    joined = [line.get_ydata().tolist() for line in ax.lines if line.get_linestyle() != "None"]
    assert joined == [[1.5, 1.5], [4, 4]]


SIZES = pd.DataFrame({"size": ["0.06M", "1M", "1M"], "crossover": [4, 8, np.inf], "Tax_S": 0.1})


def test_a_crossover_that_never_comes_is_an_arrow_at_the_top():
    ax = plotting.plot_sizes(SIZES, "crossover", top=16)
    arrows = [line for line in ax.lines if line.get_marker() == "^"]
    assert [line.get_ydata().tolist() for line in arrows] == [[16]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.06 M", "1 M"]


def test_a_run_below_its_base_from_the_start_is_hollow_and_not_on_the_line_of_crossovers():
    sizes = SIZES.assign(crossover=[4, 3, 1])
    ax = plotting.plot_sizes(sizes, "crossover", top=16)
    assert ax.lines[0].get_xdata().tolist() == [6e4]
    hollow = [line for line in ax.lines if line.get_color() == "white"]
    assert [list(line.get_ydata()) for line in hollow] == [[0]]
    assert [text.get_text() for text in ax.texts] == [
        "below the base from the start: no overtaking"
    ]
    taxes = plotting.plot_sizes(sizes, "Tax_S", ax=plt.figure().gca())
    assert taxes.lines[0].get_xdata().tolist() == [6e4, 1e6]


def test_pilots_are_ticked_at_their_totals():
    pilots = pd.DataFrame(
        {"method": method, "seed": 0, "total": total, "coverage": 0.5}
        for method in ("fixed", "matched", "ptgs")
        for total in (16, 32)
    )
    ax = plotting.plot_pilots(pilots)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["16", "32"]
    assert len(ax.get_legend().get_texts()) == 3
