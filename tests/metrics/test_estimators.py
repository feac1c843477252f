"""Estimators against closed forms: pass@k, pass^k, their curves, and categories of tasks."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import metrics
from lib.metrics import Counts, coverage_curve, pass_at_k, pass_hat_k

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


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


def test_categories_count_tasks_and_their_weights():
    assert metrics.task_categories([0, 3, 8, 8], [8] * 4) == (1, 1, 2)
    kinds = metrics.task_categories([0, 3, 8], [8] * 3, tasks=[5, 3, 2])
    assert kinds == (5, 3, 2)
    np.testing.assert_allclose(kinds.shares, [0.5, 0.3, 0.2])
    assert kinds.extremes == pytest.approx(0.7)


def test_masked_counts_are_refused():
    with pytest.raises(ValueError, match="some are masked"):
        pass_at_k(np.ma.array([1, 2], mask=[0, 1]), [4, 4], 1)
