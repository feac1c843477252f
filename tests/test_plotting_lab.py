"""Pictures of the lab draw on the axes they are given, and show the numbers they are given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import plotting
from lib.lab import results
from lib.ptgs import PTGS
from tests import lab_runs

TABLE = lab_runs.evaluations()
SCORES, BASES = results.scores(TABLE, K=8), results.base_scores(TABLE, K=8)
STEPS = lab_runs.steps()
CURVES = results.curves(TABLE, K=8)
SAMPLER = PTGS(seed=0)
RATES = {"nothing yet": 0.2, "never solved": 0.1}
SIZES = pd.DataFrame({"size": ["0.06M", "1M", "1M"], "crossover": [4, 8, np.inf]})
ROWS = pd.DataFrame(
    {"cell": ["a", "b"], "against": ["fixed", "yoked"], "value": [0.1, -0.1], "low": 0, "high": 0.2}
)
PILOTS = pd.DataFrame(
    {"method": method, "seed": seed, "total": total, "coverage": 0.1 * np.log2(total)}
    for method in ("fixed", "matched", "ptgs")
    for seed in (0, 1)
    for total in (16, 32)
)

PLOTS = {
    "posteriors": lambda ax: plotting.plot_posteriors(SAMPLER, RATES, ax=ax),
    "heat": lambda ax: plotting.plot_heat({"a": SAMPLER}, RATES.values(), ax=ax),
    "heat ranges": lambda ax: plotting.plot_heat_ranges(SAMPLER, RATES, ax=ax),
    "training": lambda ax: plotting.plot_training(STEPS, "reward", ax=ax),
    "temperature": lambda ax: plotting.plot_training(STEPS, "temperature", ax=ax),
    "arm coverage": lambda ax: plotting.plot_arm_coverage(CURVES, ax=ax),
    "seeds": lambda ax: plotting.plot_seeds(SCORES, "pass@8", base=0.5, ax=ax),
    "cooling": lambda ax: plotting.plot_cooling(BASES, SCORES, 8, ax=ax),
    "differences": lambda ax: plotting.plot_differences(ROWS, ax=ax),
    "sizes": lambda ax: plotting.plot_sizes(SIZES, "crossover", top=16, ax=ax),
    "pilots": lambda ax: plotting.plot_pilots(PILOTS, ax=ax),
}
EMPTY = {
    "training": lambda: plotting.plot_training(STEPS.iloc[:0], "reward"),
    "arm coverage": lambda: plotting.plot_arm_coverage(CURVES.iloc[:0]),
    "seeds": lambda: plotting.plot_seeds(SCORES.iloc[:0], "pass@8"),
    "differences": lambda: plotting.plot_differences(ROWS.iloc[:0]),
    "sizes": lambda: plotting.plot_sizes(SIZES.iloc[:0], "crossover"),
    "pilots": lambda: plotting.plot_pilots(PILOTS.iloc[:0]),
}


@pytest.fixture(autouse=True)
def _fresh_figures():
    mpl.use("Agg")
    with mpl.rc_context():
        yield
    plt.close("all")


@pytest.mark.parametrize("name", PLOTS)
def test_plots_return_the_axes_they_draw_on(name):
    figure, ax = plt.subplots()
    assert PLOTS[name](ax) is ax
    assert len(figure.axes) == 1
    figure.canvas.draw()


@pytest.mark.parametrize("name", EMPTY)
def test_what_was_not_run_says_so(name):
    assert [text.get_text() for text in EMPTY[name]().texts] == ["not run yet"]


def test_a_training_curve_is_the_mean_over_seeds_and_its_band_their_range():
    ax = plotting.plot_training(STEPS, "reward")
    assert len(ax.lines) == 2
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(0.55)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.5, 0.6))


def test_the_band_of_temperature_reaches_from_the_coldest_to_the_hottest_group():
    band = plotting.plot_training(STEPS, "temperature").collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == pytest.approx((0.8, 1.3))


def test_arms_keep_their_colours_whichever_are_there():
    alone = plotting.plot_training(STEPS[STEPS["sampler"] == "ptgs"], "reward").lines[0]
    assert alone.get_color() == plotting.ARMS["ptgs"][1]


def test_the_range_of_temperatures_ends_at_quantiles_of_draws():
    ax = plotting.plot_heat_ranges(SAMPLER, ["nothing yet"])
    (low, _), (high, _) = ax.collections[0].get_segments()[0]
    draws = [SAMPLER.temperature("nothing yet") for _ in range(4000)]
    assert (low, high) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])), abs=0.02)


def test_a_crossover_that_never_comes_is_an_arrow_at_the_top():
    ax = plotting.plot_sizes(SIZES, "crossover", top=16)
    arrows = [line for line in ax.lines if line.get_marker() == "^"]
    assert [line.get_ydata().tolist() for line in arrows] == [[16]]
