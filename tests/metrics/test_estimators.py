"""Estimators against closed forms: pass@k, pass^k, A, S, crossover, categories."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import metrics
from lib.metrics import Counts, coverage_curve, crossover, pass_at_k, pass_hat_k, scalability

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
cells = st.lists(st.integers(0, 12), min_size=1, max_size=8).map(
    lambda c: Counts(np.array(c), np.full(len(c), 12))
)


@given(counts, st.data())
def test_estimators_are_the_ratios_of_binomials(count, data):
    c, n = count
    k = data.draw(st.integers(1, n))
    assert pass_at_k(c, n, k) == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-14)
    assert pass_hat_k(c, n, k) == pytest.approx(comb(c, k) / comb(n, k), abs=1e-14)


@given(counts)
def test_one_budget_at_a_time_equals_all_at_once(count):
    c, n = count
    budgets = np.arange(1, n + 1)
    one_by_one = [pass_at_k(c, n, k) for k in budgets]
    np.testing.assert_allclose(pass_at_k(c, n, budgets), one_by_one, atol=1e-13)


@pytest.mark.parametrize(
    ("c", "n", "k", "at", "hat"),
    [
        (2, 5, 3, 0.9, 0.0),
        (1, 10_000, 5_000, 0.5, 0.0),
        (1, 200, 1, 0.005, 0.005),
        (0, 4, 4, 0.0, 0.0),
        (4, 4, 4, 1.0, 1.0),
    ],
)
def test_known_corners(c, n, k, at, hat):
    assert pass_at_k(c, n, k) == pytest.approx(at, abs=1e-15)
    assert pass_hat_k(c, n, k) == pytest.approx(hat, abs=1e-15)


def test_half_of_ten_thousand_is_exact():
    assert pass_at_k(1, 10_000, 5_000) == 0.5


def test_large_counts_stay_finite_and_monotone():
    curve = pass_at_k(3, 10_000, np.arange(1, 10_001))
    assert np.all(np.isfinite(curve))
    assert np.all(np.diff(curve) >= 0)
    assert curve[-1] == 1


def test_shapes_are_tasks_by_budgets():
    c, n = np.array([0, 1, 2]), np.array([4, 4, 4])
    assert pass_at_k(c, n, 2).shape == (3,)
    assert pass_at_k(c, n, [1, 2]).shape == (3, 2)
    assert np.shape(pass_at_k(1, 4, 2)) == ()


def test_accuracy_is_the_success_rate():
    c, n = np.array([0, 3, 7]), np.array([4, 4, 7])
    np.testing.assert_allclose(pass_at_k(c, n, 1), c / n)
    np.testing.assert_allclose(pass_hat_k(c, n, 1), c / n)


def test_budget_above_the_rollouts_names_task_and_counts():
    with pytest.raises(ValueError, match=r"task 0 with n = 2, c = 0.*use k <= 2"):
        pass_at_k(0, 2, 5)


def test_budget_above_the_rollouts_says_how_many_tasks_fall_short():
    n = np.r_[np.full(81, 3), np.full(16, 4)]
    with pytest.raises(ValueError, match=r"81 of 97 tasks have fewer, first task 't0' with n = 3"):
        pass_at_k(np.zeros(97, int), n, 4, names=[f"t{i}" for i in range(97)])


def test_one_attempt_a_task_gives_no_pass_at_ten():
    solved = np.arange(164) < 50
    with pytest.raises(ValueError, match=r"k = 10 needs at least 10 rollouts"):
        pass_at_k(solved, np.ones(164, int), 10)


@pytest.mark.parametrize(("c", "n"), [(5, 4), (-1, 4), (0, -2)])
def test_impossible_counts_are_refused(c, n):
    with pytest.raises(ValueError, match="between 0 and the rollouts of the task"):
        pass_at_k([1, c], [4, n], 1)


@pytest.mark.parametrize("c", [0.4, np.nan, "3"])
def test_rates_and_text_are_refused_as_counts(c):
    with pytest.raises(ValueError, match=r"must be whole numbers \(counts, not rates\)"):
        pass_at_k([c], [4], 1)


@pytest.mark.parametrize("k", [0, -1, []])
def test_budgets_start_at_one(k):
    with pytest.raises(ValueError, match="expected a whole number of at least 1"):
        pass_at_k(1, 4, k)


def test_a_cell_without_tasks_is_an_error():
    with pytest.raises(ValueError, match="at least one task"):
        coverage_curve(Counts([], []), 1)


def test_every_task_weighs_the_same_whatever_its_rollouts():
    assert coverage_curve(Counts([4, 0], [4, 100]), 1)[0] == 0.5


@given(cells)
def test_raw_area_is_its_sum_and_its_first_success_form(cell):
    curve, K = coverage_curve(cell, 12), 12
    A, S = scalability(curve, K)
    assert pytest.approx(np.sum(curve[-1] - curve[:-1]), abs=1e-12) == A
    at_first = np.diff(np.r_[0, curve])  # P(H = h), H the index of the first success
    assert pytest.approx(np.sum((np.arange(1, K + 1) - 1) * at_first), abs=1e-12) == A
    if curve[0] < 1:
        assert pytest.approx(A / ((K - 1) * (1 - curve[0])), abs=1e-12) == S


def test_tasks_always_or_never_solved_have_no_scalability():
    A, S = scalability(coverage_curve(Counts([0, 8, 8], [8, 8, 8]), 8), 8)
    assert pytest.approx(0, abs=1e-15) == A
    assert pytest.approx(0, abs=1e-15) == S


def test_collapse_of_copies_pays_the_share_collapsed():
    """L of m copies of each task collapse to always or never: Tax_A = (L / m) A_base."""
    rng, m, L = np.random.default_rng(0), 4, 3
    c = np.repeat(rng.integers(0, 17, 10), m)
    post = c.copy()
    for task in range(10):
        post[task * m : task * m + L] = rng.choice([0, 16], L)
    n = np.full(40, 16)
    tax = metrics.sharpening_tax((c, n), (post, n), 16, n_boot=0)
    np.testing.assert_allclose(tax.tax_A.value, L / m * tax.A_base.value, atol=1e-12)


def test_duplicating_the_tasks_changes_nothing():
    c, n = np.array([1, 5, 0, 8]), np.full(4, 8)
    twice = coverage_curve(Counts(np.tile(c, 2), np.tile(n, 2)), 8)
    np.testing.assert_allclose(twice, coverage_curve(Counts(c, n), 8), atol=1e-15)


def test_a_histogram_is_its_tasks_written_out():
    counted = coverage_curve(Counts([0, 3], [8, 8], tasks=[5, 2]), 8)
    np.testing.assert_allclose(counted, coverage_curve(Counts([0] * 5 + [3] * 2, [8] * 7), 8))


@pytest.mark.parametrize("tasks", [[1], [1, -1], [0, 0]])
def test_bad_histogram_weights_are_refused(tasks):
    with pytest.raises(ValueError, match="a histogram needs one non-negative number of tasks"):
        coverage_curve(Counts([0, 3], [8, 8], tasks=tasks), 8)


def test_scalability_is_undefined_where_nothing_is_left_to_gain():
    assert np.isnan(scalability([1.0, 1.0, 1.0], 3).S)
    assert np.isnan(scalability([0.5, 0.6], 1).S)
    assert scalability([1.0, 1.0, 1.0], 3).A == 0


def test_scalability_beyond_the_curve_is_an_error():
    with pytest.raises(ValueError, match="expected budgets from 1 to 2"):
        scalability([0.1, 0.2], 3)


@pytest.mark.parametrize(
    ("base", "post", "expected"),
    [
        ([0.1, 0.4, 0.6], [0.3, 0.4, 0.5], 3),  # a tie is not above
        ([0.5, 0.4, 0.6], [0.3, 0.4, 0.5], 3),  # only the last stretch counts
        ([0.5, 0.6], [0.3, 0.4], 1),
        ([0.1, 0.6, 0.5], [0.3, 0.4, 0.5], np.inf),
        ([0.1 + 1e-13], [0.1], np.inf),  # above by rounding only
    ],
)
def test_crossover_is_the_start_of_the_last_lead(base, post, expected):
    assert crossover(base, post) == expected


def test_categories_count_tasks_and_their_weights():
    assert metrics.task_categories([0, 3, 8, 8], [8] * 4) == (1, 1, 2)
    kinds = metrics.task_categories([0, 3, 8], [8] * 3, tasks=[5, 3, 2])
    assert kinds == (5, 3, 2)
    np.testing.assert_allclose(kinds.shares, [0.5, 0.3, 0.2])
    assert kinds.extremes == pytest.approx(0.7)


def test_spearman_and_partial_against_their_formulas():
    x, y, z = np.random.default_rng(1).normal(size=(3, 50))
    x, y = x + z, y + z
    ranks = [np.argsort(np.argsort(v)) for v in (x, y, z)]
    r = np.corrcoef(ranks)
    assert metrics.spearman(x, y) == pytest.approx(r[0, 1])
    # The textbook form: correlate what is left of x and y after regressing their ranks on z's.
    left = [np.polynomial.Polynomial.fit(ranks[2], ranks[i], 1)(ranks[2]) for i in (0, 1)]
    residual = np.corrcoef(ranks[0] - left[0], ranks[1] - left[1])[0, 1]
    assert metrics.partial_spearman(x, y, z) == pytest.approx(residual)


def test_spearman_takes_columns():
    x, y = np.random.default_rng(2).normal(size=(2, 9, 4))
    each = [metrics.spearman(x[:, j], y[:, j]) for j in range(4)]
    np.testing.assert_allclose(metrics.spearman(x, y), each)


@pytest.mark.parametrize(("x", "y"), [([1, 1, 1], [1, 2, 3]), ([1, 2], [2, 1])])
def test_undefined_spearman_is_nan_with_a_warning(x, y):
    with pytest.warns(UserWarning, match="fewer than three points, or a variable that is constant"):
        assert np.isnan(metrics.spearman(x, y))


def test_partial_spearman_given_one_of_its_variables_is_undefined():
    with pytest.warns(UserWarning, match="z alone determines"):
        assert np.isnan(metrics.partial_spearman([1, 2, 3, 4], [2, 1, 4, 3], [1, 2, 3, 4]))


def test_auroc_is_the_chance_of_ranking_a_success_first():
    scores, passed = np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1], bool)
    wins = [(a > b) + 0.5 * (a == b) for a in scores[passed] for b in scores[~passed]]
    assert metrics.auroc(scores, passed) == pytest.approx(np.mean(wins))


@pytest.mark.parametrize("passed", [[0, 1, None], [0, 1, np.nan], ["False", "True", "True"]])
def test_auroc_takes_no_missing_outcomes(passed):
    with pytest.raises(ValueError, match="leave attempts with a missing outcome out"):
        metrics.auroc([0.1, 0.2, 0.3], passed)


def test_masked_counts_are_refused():
    with pytest.raises(ValueError, match="some are masked"):
        pass_at_k(np.ma.array([1, 2], mask=[0, 1]), [4, 4], 1)


def test_auroc_of_one_class_is_nan_with_a_warning():
    with pytest.warns(UserWarning, match="all attempts have the same outcome"):
        assert np.isnan(metrics.auroc([0.1, 0.2], [True, True]))
