"""Pictures draw on the axes they are given, return them, and show the numbers they are given."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import metrics, plotting
from lib.envs.frozenlake import FrozenLake
from lib.lab import results
from lib.ptgs import PTGS
from tests import lab_runs

BASE = metrics.Counts(np.array([0, 1, 3, 4, 6, 2]), np.full(6, 16))
POST = metrics.Counts(np.array([0, 0, 16, 16, 12, 0]), np.full(6, 16))
TAX = metrics.sharpening_tax(BASE, POST, 16, n_boot=50)
POINTS = pd.DataFrame(
    {"pair": ["p", "p", "_$q$"], "benchmark": ["a", "b", "_a"], "x": [1, 2, 3], "y": [3, 1, 2]}
).assign(x_sd=0.1, y_sd=0.2)
ROWS = POINTS.rename(columns={"x": "value"}).assign(low=0, high=4)

PLOTS = {
    "coverage": lambda ax: plotting.plot_coverage(TAX, ax=ax),
    "consistency": lambda ax: plotting.plot_consistency(TAX, ax=ax),
    "success rates": lambda ax: plotting.plot_success_rates(BASE, POST, ax=ax),
    "area": lambda ax: plotting.plot_area(TAX.coverage_base.value, ax=ax),
    "tax": lambda ax: plotting.plot_tax(ROWS, ax=ax),
    "agreement": lambda ax: plotting.plot_agreement(POINTS, ax=ax, rho=-0.5),
    "identity": lambda ax: plotting.plot_identity([0, 1], [0, 0.5], weights=[1, 2], ax=ax),
    "spread": lambda ax: plotting.plot_spread([0, 0.1], [1, 1], reach=0.2, ax=ax),
}

TABLE = lab_runs.evaluations()
SCORES, BASES = results.scores(TABLE, K=8), results.base_scores(TABLE, K=8)
STEPS = lab_runs.steps()
CURVES = results.curves(TABLE, K=8)
SAMPLER = PTGS(seed=0)
RATES = {"nothing yet": 0.2, "never solved": 0.1}
SIZES = pd.DataFrame({"size": ["0.06M", "1M", "1M"], "crossover": [4, 8, np.inf]})
DIFFERENCES = pd.DataFrame(
    {"cell": ["a", "b"], "against": ["fixed", "yoked"], "value": [0.1, -0.1], "low": 0, "high": 0.2}
)
PILOTS = pd.DataFrame(
    {"method": method, "seed": seed, "total": total, "coverage": 0.1 * np.log2(total)}
    for method in ("fixed", "matched", "ptgs")
    for seed in (0, 1)
    for total in (16, 32)
)
PLOTS |= {
    "posteriors": lambda ax: plotting.plot_posteriors(SAMPLER, RATES, ax=ax),
    "heat": lambda ax: plotting.plot_temperature({"a": SAMPLER}, RATES.values(), ax=ax),
    "heat ranges": lambda ax: plotting.plot_temperature_ranges(SAMPLER, RATES, ax=ax),
    "training": lambda ax: plotting.plot_training(STEPS, "reward", ax=ax),
    "temperature": lambda ax: plotting.plot_training(STEPS, "temperature", ax=ax),
    "arm coverage": lambda ax: plotting.plot_method_coverage(CURVES, ax=ax),
    "seeds": lambda ax: plotting.plot_seeds(SCORES, "pass@8", base=0.5, ax=ax),
    "cooling": lambda ax: plotting.plot_cooling(BASES, SCORES, 8, ax=ax),
    "differences": lambda ax: plotting.plot_differences(DIFFERENCES, ax=ax),
    "sizes": lambda ax: plotting.plot_sizes(SIZES, "crossover", top=16, ax=ax),
    "pilots": lambda ax: plotting.plot_pilots(PILOTS, ax=ax),
}
EMPTY = {
    "training": lambda: plotting.plot_training(STEPS.iloc[:0], "reward"),
    "arm coverage": lambda: plotting.plot_method_coverage(CURVES.iloc[:0]),
    "seeds": lambda: plotting.plot_seeds(SCORES.iloc[:0], "pass@8"),
    "differences": lambda: plotting.plot_differences(DIFFERENCES.iloc[:0]),
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


@pytest.mark.parametrize("name", PLOTS)
def test_plots_take_the_current_axes_by_default(name):
    ax = plt.gca()
    assert PLOTS[name](None) is ax


# ------------------------------------------------------------ two arms


def texts(ax):
    return " ".join(text.get_text() for text in ax.texts)


def test_budgets_are_ticked_by_powers_of_two():
    ax = plotting.plot_coverage(TAX)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "4", "8", "16"]


def test_the_crossover_is_named_where_there_is_one_and_where_there_is_none():
    assert f"k* = {TAX.crossover.value:.0f}" in texts(plotting.plot_coverage(TAX))
    none = metrics.sharpening_tax(BASE, BASE, 16, n_boot=50)
    assert "no crossover within 16" in texts(plotting.plot_coverage(none, ax=plt.figure().gca()))


@pytest.mark.parametrize("ends", [(0.0, 0.001), (0.999, 1.0), (0.5, 0.5)])
def test_labels_of_close_lines_do_not_overlap(ends):
    bands = [metrics.Band(*[np.full(4, end)] * 3) for end in ends]
    tax = type("Tax", (), {"consistency_base": bands[0], "consistency_post": bands[1]})
    heights = [text.xy[1] for text in plotting.plot_consistency(tax).texts]
    assert abs(heights[0] - heights[1]) >= 0.089
    assert 0 <= min(heights) <= max(heights) <= 1


def test_bars_show_shares_of_all_tasks():
    ax = plotting.plot_success_rates(BASE, POST)
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert [sum(one) for one in heights] == pytest.approx([1, 1])
    assert [one[0] for one in heights] == pytest.approx([1 / 6, 3 / 6])
    assert [one[-1] for one in heights] == pytest.approx([0, 2 / 6])


def test_no_bar_reaches_the_text_above_the_bars():
    ax = plotting.plot_success_rates(BASE, POST)
    highest = max(bar.get_height() for bar in ax.patches)
    assert highest < 0.9 * ax.get_ylim()[1]
    assert "(base)" in texts(ax)


def test_the_area_picture_prints_what_scalability_computes():
    curve = TAX.coverage_base.value
    A, S = metrics.scalability(curve, len(curve))
    printed = texts(plotting.plot_area(curve))
    assert f"A = {A:.2f}" in printed
    assert f"{S:.4f}" in printed


def test_a_perfect_curve_has_no_share():
    assert "undefined" in texts(plotting.plot_area(np.ones(4)))


@pytest.mark.parametrize("K", [1, 2, 3, 100])
@pytest.mark.parametrize("plot", [plotting.plot_coverage, plotting.plot_consistency])
def test_any_largest_budget_can_be_drawn_and_is_ticked(K, plot):
    cell = metrics.Counts(np.arange(12) * 8, np.full(12, 100))
    ax = plot(metrics.sharpening_tax(cell, cell, K, n_boot=40))
    ax.figure.canvas.draw()
    assert ax.get_xticklabels()[-1].get_text() == str(K)


@pytest.mark.parametrize("curve", [[0.5], [0.5, 0.6], [0.0] * 5])
def test_any_curve_has_an_area_picture(curve):
    plotting.plot_area(curve).figure.canvas.draw()


def test_many_benchmarks_stay_in_the_row_of_their_pair():
    rows = pd.DataFrame(
        {"pair": "p", "benchmark": list("abcdefgh"), "value": 1, "low": 0, "high": 2}
    )
    ax = plotting.plot_tax(rows)
    assert all(abs(line.get_ydata()[0]) < 0.5 for line in ax.lines if len(line.get_ydata()) == 1)


def test_names_that_mean_something_to_a_plot_are_shown_as_they_are():
    ax = plotting.plot_tax(ROWS)
    assert len(ax.get_legend().get_texts()) == 3
    ax.figure.canvas.draw()


def test_panels_leave_no_empty_frames():
    figure, axes = plotting.panels(["a", "b", "c", "d"])
    assert [ax.get_title(loc="left") or ax.get_title() for ax in axes] == ["a", "b", "c", "d"]
    assert sum(ax.axison for ax in figure.axes) == 4


def test_arms_differ_in_lightness_and_line():
    light = [np.dot(mpl.colors.to_rgb(c), (0.3, 0.59, 0.11)) for c in plotting.COLOURS.values()]
    assert abs(light[0] - light[1]) > 0.2
    assert plotting.STYLES["base"] != plotting.STYLES["post"]


# ------------------------------------------------------------ the lab


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
    assert alone.get_color() == plotting.METHODS["ptgs"][1]


def test_the_range_of_temperatures_ends_at_quantiles_of_draws():
    ax = plotting.plot_temperature_ranges(SAMPLER, ["nothing yet"])
    (low, _), (high, _) = ax.collections[0].get_segments()[0]
    draws = [SAMPLER.temperature("nothing yet") for _ in range(4000)]
    assert (low, high) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])), abs=0.02)


def test_a_crossover_that_never_comes_is_an_arrow_at_the_top():
    ax = plotting.plot_sizes(SIZES, "crossover", top=16)
    arrows = [line for line in ax.lines if line.get_marker() == "^"]
    assert [line.get_ydata().tolist() for line in arrows] == [[16]]


# ------------------------------------------------------------ small worlds


def test_a_bar_of_errors_is_centred_on_none():
    ax = plotting.plot_spread([-1e-17, 1e-17, 0, 0.2], [1, 1, 1, 1], reach=0.2)
    edges, heights = ax.patches[0].get_xy()[:, 0], ax.patches[0].get_xy()[:, 1]
    assert np.isclose(heights, 0.75).sum() == 2
    assert edges[np.isclose(heights, 0.75)].sum() == pytest.approx(0)
    assert np.isclose(heights, 0.25).any()


def test_an_error_beyond_the_bars_is_not_dropped():
    with pytest.raises(ValueError, match=r"an error is 0.3, beyond the reach of 0.2"):
        plotting.plot_spread([0, -0.3], [1, 1], reach=0.2)


def level(values, **options):
    board = FrozenLake().level("frozenlake-train-00000")
    values = np.resize(values, len(board.ends))
    return plotting.plot_level(board, values, ax=plt.figure().gca(), **options).images[0]


def test_levels_beside_each_other_may_share_their_colours():
    one, other = (level([0, most], limits=(0, 2)) for most in (1, 2))
    assert one.get_clim() == other.get_clim() == (0, 2)
    assert level([0, 1]).get_clim() == (0, 1)


def test_below_and_above_zero_have_colours_of_their_own():
    image = level([-0.5, 0.5], limits=(-1, 1))
    (red, _, blue, _), (above_red, _, above_blue, _) = image.cmap(image.norm([-0.5, 0.5]))
    assert red > blue
    assert above_blue > above_red
