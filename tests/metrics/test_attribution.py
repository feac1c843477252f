"""Step accuracy and its lead over another prediction: what is resampled."""

import numpy as np
import pytest

from lib import metrics


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
