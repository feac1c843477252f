"""Curves, crossovers and areas show the numbers that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lib import metrics, plotting

BASE = metrics.Counts(np.array([0, 1, 3, 4, 6, 2]), np.full(6, 16))
POST = metrics.Counts(np.array([0, 0, 16, 16, 12, 0]), np.full(6, 16))
TAX = metrics.sharpening_tax(BASE, POST, 16, n_boot=50)


def texts(ax):
    return " ".join(text.get_text() for text in ax.texts)


def test_budgets_are_ticked_by_powers_of_two():
    ax = plotting.plot_coverage(TAX)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "4", "8", "16"]


def test_both_ends_of_both_curves_may_have_their_numbers():
    shown = texts(plotting.plot_coverage(TAX, ends=True))
    for curve in (TAX.coverage_base.value, TAX.coverage_post.value):
        assert f"{curve[0]:.0%}" in shown
        assert f"{curve[-1]:.0%}" in shown


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
