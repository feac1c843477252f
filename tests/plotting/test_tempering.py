"""Pictures of the rule: posteriors, and the temperatures that follow from them."""

import numpy as np
import pytest

from lib import plotting
from lib.ptgs import PTGS

RULE = PTGS(seed=0)
POSTERIORS = {"nothing yet": RULE.posterior("nothing yet")}


def test_the_range_of_temperatures_ends_at_quantiles_of_draws():
    ax = plotting.plot_temperature_ranges(POSTERIORS, RULE.temperature_at)
    (low, _), (high, _) = ax.collections[0].get_segments()[0]
    draws = [RULE.temperature("nothing yet") for _ in range(4000)]
    assert (low, high) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])), abs=0.02)


def test_draws_are_marked_on_the_line_of_the_first_rule():
    ax = plotting.plot_temperature(
        {"first": RULE.temperature_at, "second": lambda rate: 1.0}, [0.2, 0.9]
    )
    marks = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert [tuple(mark) for mark in marks] == [
        (0.2, RULE.temperature_at(0.2)),
        (0.9, RULE.temperature_at(0.9)),
    ]


def test_the_pivot_and_the_draws_are_marked():
    ax = plotting.plot_posteriors(POSTERIORS, {"nothing yet": 0.4}, pivot=RULE.pivot)
    assert [text.get_text() for text in ax.texts] == ["pivot 0.25"]
    marks = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "o"]
    assert marks == [[[0.4, 0]]]
