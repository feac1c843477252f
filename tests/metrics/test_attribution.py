"""Failure attribution: rules, accuracy and distance, and the lead over other predictions."""

import numpy as np
import pytest

from lib import metrics
from lib.metrics import (
    RULES,
    attribution,
    predict_step,
)


def test_failures_of_a_task_are_resampled_together():
    predicted, actual = np.repeat([0, 1], 50), np.zeros(100, int)
    tasks = np.repeat(np.arange(20), 5)
    alone = metrics.attribution(predicted, actual, n_boot=500).accuracy
    together = metrics.attribution(predicted, actual, tasks=tasks, n_boot=500).accuracy
    assert alone.value == together.value == 0.5
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_a_lead_over_another_prediction_meets_the_same_resamples():
    actual, other = np.zeros(100, int), np.repeat([0, 1], 50)
    lead = metrics.attribution_lead(other, other, actual, n_boot=200)
    assert lead == (0, 0, 0)
    lead = metrics.attribution_lead([0] * 100, other, actual, n_boot=500)
    assert lead.value == 0.5
    assert 0.35 < lead.low < lead.high < 0.65
    with pytest.warns(UserWarning, match="no trajectory has both"):
        assert np.isnan(metrics.attribution_lead([None], [0], [0]).value)


def test_the_three_rules():
    scores = [1.0, -2.0, 4.0, -1.5, -0.5, np.nan]
    assert [predict_step(scores, rule) for rule in RULES] == [1, 1, 3]
    assert predict_step([-1.0, np.nan, -2.0, 1.0], "lowest running sum") == 2
    assert predict_step([np.nan, 3.0], "sharpest drop") == 1
    assert predict_step([np.nan], "sharpest drop") is None
    with pytest.raises(ValueError, match="expected one of lowest running sum"):
        predict_step(scores, "last")


def test_accuracy_and_distance_compare_integers():
    result = attribution([1, 10, 4, None], ["1", "9", "2", "3"])
    assert result.accuracy.value == pytest.approx(1 / 3)
    assert result.distance.value == pytest.approx(1.0)
    assert (result.counted, result.unpredicted) == (3, 1)
    assert np.isnan(result.accuracy.low)
    many = attribution([1] * 30, ["1"] * 20 + ["3"] * 10)
    assert many.accuracy.low < 2 / 3 < many.accuracy.high


def test_several_steps_are_a_draw_of_which_the_expectation_is_exact():
    result = attribution([range(4), [1, 3]], [1, 3])
    assert result.accuracy.value == (1 / 4 + 1 / 2) / 2
    assert result.distance.value == ((1 + 0 + 1 + 2) / 4 + (2 + 0) / 2) / 2


def test_without_a_prediction_there_is_no_accuracy():
    assert np.isnan(attribution([None], ["1"]).accuracy.value)
