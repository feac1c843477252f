"""AUROC and Spearman: pooled, within strata, and their intervals."""

import warnings

import numpy as np
import pytest
from scipy import stats

from lib.metrics import (
    auroc,
    auroc_band,
    spearman,
    spearman_band,
)
from tests.simulated_attempts import attempts


def test_pooled_they_are_the_plain_ones():
    scores, passed, task = attempts()
    scores = scores.round(1)  # with ties
    assert auroc_band(scores, passed, task).value == pytest.approx(auroc(scores, passed))
    result = spearman_band(scores, passed, task).value
    assert result == pytest.approx(spearman(scores, passed.astype(float)))


def test_the_interval_is_that_of_resampled_tasks():
    scores, passed, task = attempts()
    again = np.random.default_rng(5)
    values = {"auroc": [], "spearman": []}
    for _ in range(400):
        drawn = np.concatenate([np.flatnonzero(task == t) for t in again.integers(20, size=20)])
        values["auroc"].append(auroc(scores[drawn], passed[drawn]))
        values["spearman"].append(stats.spearmanr(scores[drawn], passed[drawn])[0])
    result = {"auroc": auroc_band, "spearman": spearman_band}
    for name, function in result.items():
        band = function(scores, passed, task, n_boot=2000)
        assert band[1:] == pytest.approx(np.quantile(values[name], [0.025, 0.975]), abs=0.03)


def test_within_tasks_only_attempts_of_one_task_are_compared():
    scores, passed, task = attempts(skill=1.0)
    easy = 10.0 * task  # a score that tells tasks apart changes nothing there
    alone = auroc_band(scores, passed, task, strata=task)
    assert auroc_band(scores + easy, passed, task, strata=task) == pytest.approx(alone)
    wins = pairs = 0.0
    for t in np.unique(task):
        up, down = scores[(task == t) & passed], scores[(task == t) & ~passed]
        wins += (up[:, None] > down).sum()
        pairs += up.size * down.size
    assert alone.value == pytest.approx(wins / pairs)


def test_length_alone_says_nothing_within_strata_of_equal_length():
    scores, passed, task = attempts(skill=0.0)
    turns = np.random.default_rng(2).integers(1, 6, len(task)) - 2 * passed
    assert auroc_band(-turns, passed, task).value > 0.8
    assert auroc_band(-turns, passed, task, strata=turns).value == 0.5
    with pytest.warns(UserWarning, match="constant in every stratum"):
        assert np.isnan(spearman_band(-turns, passed, task, strata=turns).value)
    assert abs(spearman_band(scores, passed, task, strata=turns).value) < 0.15


@pytest.mark.parametrize("outcome", [0, 1])
def test_one_class_only_is_nan_with_a_warning(outcome):
    passed = np.full(20, outcome)
    with pytest.warns(UserWarning, match="no two attempts with different outcomes"):
        assert np.isnan(auroc_band(np.arange(20), passed, np.arange(20))).all()
    with pytest.warns(UserWarning, match="Spearman is undefined"):
        assert np.isnan(spearman_band(np.arange(20), passed, np.arange(20))).all()


def test_resamples_without_both_classes_are_left_out_silently():
    passed = np.r_[1, np.zeros(14)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert auroc_band(passed, passed, np.arange(15)) == (1.0, 1.0, 1.0)
