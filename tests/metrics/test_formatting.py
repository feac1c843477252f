"""Numbers and intervals as text: no end off a bound is shown on it."""

import numpy as np
import pytest

from lib import metrics
from lib.metrics import formatting


@pytest.mark.parametrize(
    ("band", "text"),
    [
        ((0.0732, 0.0464, 0.1), "0.073 [0.046, 0.100]"),
        ((0.5, np.nan, np.nan), "0.500"),
        ((np.nan, np.nan, np.nan), "-"),
        ((-0.0001, -0.2, 0.1), "0.000 [-0.200, 0.100]"),
        ((0.01, 0.0002, 0.019), "0.0100 [0.0002, 0.0190]"),
        ((-0.01, -0.019, -0.00004), "-0.01000 [-0.01900, -0.00004]"),
        ((0.01, 1e-17, 0.019), "0.010 [0.000, 0.019]"),
    ],
)
def test_numbers_are_shown_with_their_interval(band, text):
    assert formatting.with_interval(metrics.Band(*band)) == text


@pytest.mark.parametrize(
    ("band", "text"),
    [
        ((-0.05, -0.1, -0.0004), "-0.0500 [-0.1000, -0.0004]"),
        ((-0.05, -0.15, 0.0), "-0.05 [-0.15, 0.00]"),
        ((0.1, np.nan, np.nan), "+0.10"),
    ],
)
def test_differences_are_shown_with_their_signs(band, text):
    assert formatting.signed_with_interval(metrics.Band(*band)) == text


def test_an_undefined_interval_lies_on_no_side():
    assert formatting.side(np.nan, np.nan, 0.5) == 0
