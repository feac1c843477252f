"""Intervals over seeds."""

import numpy as np
import pytest
from scipy import stats

from lib.metrics import t_interval


def test_it_is_the_interval_of_the_t_test_of_one_sample():
    values = [0.02, -0.01, 0.05, 0.03, 0.00]
    band = t_interval(values)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert band == pytest.approx((np.mean(values), *theirs))


def test_a_lower_level_narrows_it():
    wide, narrow = (t_interval([1.0, 2.0, 4.0], level) for level in (0.95, 0.5))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.2]])
def test_fewer_than_three_seeds_have_a_mean_and_no_interval(values):
    band = t_interval(values)
    assert band.value == pytest.approx(np.mean(values))
    assert np.isnan([band.low, band.high]).all()


def test_no_seed_is_undefined():
    assert np.isnan(t_interval([])).all()


def test_equal_differences_have_an_interval_of_no_width():
    assert t_interval([0.25] * 4) == (0.25, 0.25, 0.25)


def test_an_undefined_difference_makes_all_undefined():
    assert np.isnan(t_interval([0.1, np.nan, 0.2, 0.3])).all()


def test_differences_come_one_a_seed():
    with pytest.raises(ValueError, match=r"shape \(2, 2\): expected one a seed"):
        t_interval(np.zeros((2, 2)))
