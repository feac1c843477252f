"""Scalability and crossover against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import metrics
from lib.metrics import Counts, coverage_curve, crossover, scalability

cells = st.lists(st.integers(0, 12), min_size=1, max_size=8).map(
    lambda c: Counts(np.array(c), np.full(len(c), 12))
)


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
