"""What the metrics refuse, by the name of the argument, and what they leave undefined."""

import warnings

import numpy as np
import pandas as pd
import pytest

from lib import metrics
from lib.metrics import Counts

S, P, T = [0.1, 0.2, 0.3], [0, 1, 1], ["a", "b", "c"]
BAD = [
    # lengths
    (metrics.auroc, (S, P[:2]), r"scores \(3,\), passed \(2,\): expected one for each"),
    (metrics.auroc_band, (S[:2], P, T), r"scores \(2,\), passed \(3,\)"),
    (metrics.auroc_band, (S, P, T[:2]), r"tasks \(2,\) of 3 attempts"),
    (metrics.spearman_band, (S, P[:2], T), r"x \(3,\), y \(2,\)"),
    (metrics.spearman_band, (S, P, T[:2]), r"tasks \(2,\) of 3 attempts"),
    (metrics.best_of_k, (S, P, T[:2], 1), r"tasks \(2,\) of 3 attempts"),
    (metrics.selection, (S, P[:2], T, [1]), r"scores \(3,\), passed \(2,\)"),
    (metrics.spearman, (S, P[:2]), r"x \(3,\), y \(2,\): expected the same shape"),
    (metrics.spearman, (S, np.ones((3, 3))), r"x \(3,\), y \(3, 3\)"),
    (metrics.partial_spearman, (S, S, S[:2]), r"z \(2,\)"),
    (metrics.attribution, ([1, 2], [1]), "2 steps in predicted and 1 in actual"),
    (metrics.attribution_lead, ([1], [1, 2], [1]), "2 steps in other and 1 in actual"),
    (metrics.share_of_gain, ([1, 1], 0, [1, 1, 1]), r"success \(2,\), accuracy \(\), coverage"),
    (metrics.pass_at_k, ([1, 1], [2, 2, 2], 1), r"c \(2,\), n \(3,\): expected as many"),
    (metrics.pass_hat_k, ([1, 1], [2, 2], 1, ["a"]), "1 names of 2 tasks"),
    (metrics.task_categories, ([[1]], [[2]]), r"c \(1, 1\), n \(1, 1\)"),
    (metrics.coverage_curve, (Counts([[1]], [[2]]), 1), r"counts \(1, 1\)"),
    (metrics.crossover, ([0.1], [0.1, 0.2]), r"base \(1,\) and post \(2,\)"),
    (metrics.predict_step, ([[1.0]], "sharpest drop"), r"scores \(1, 1\)"),
    # values
    (metrics.auroc, (["a", "b", "c"], P), r"scores: expected numbers, got \['a', 'b', 'c'\]"),
    (metrics.auroc, ([1, np.nan, 2], P), "1 of 3 attempts have no score"),
    (metrics.auroc_band, (S, [True, pd.NA, False], T), "missing outcome out"),
    (metrics.auroc_band, (S, P, ["a", None, "b"]), "tasks: expected all text or all numbers"),
    (metrics.spearman_band, (S, P, [1, np.nan, 2]), "tasks: expected all text or all numbers"),
    (metrics.spearman_band, (S, [1, np.nan, 2], T), r"x has 0 and y 1 undefined values"),
    (metrics.spearman, (S, ["1", "2", "3"]), "y: expected numbers"),
    (metrics.spearman, (S, [[1], [1, 2], [3]]), "y: expected numbers"),
    (metrics.t_interval, (["a"],), "differences: expected numbers"),
    (metrics.t_interval, (S, 95), "level = 95: expected a share"),
    (metrics.predict_step, (["a"], "sharpest drop"), "scores: expected numbers"),
    (metrics.attribution, ([1.5], [1]), r"predicted\[0\] is 1.5: expected a step, a whole"),
    (metrics.attribution, ([np.nan], [1]), r"predicted\[0\] is nan"),
    (metrics.attribution, ([[]], [1]), r"predicted\[0\] is \[\]: expected a step, several, or"),
    (metrics.attribution, ([-1], [1]), r"predicted\[0\] is -1"),
    (metrics.attribution, ([1], [None]), r"actual\[0\] is None: expected a step, a whole"),
    (metrics.attribution, ([1], ["one"]), r"actual\[0\] is 'one'"),
    (metrics.attribution_lead, ([1], [True], [1]), r"other\[0\] is True"),
    (metrics.scalability, ([0.1, 0.2], []), r"K = \[\]: expected budgets from 1 to 2"),
    (metrics.scalability, (["a"], 1), "curve: expected numbers"),
    (metrics.crossover, ([0.1], [np.nan]), "and no NaN"),
    (metrics.coverage_curve, (Counts([1], [2]), [1, 2]), "expected one whole number"),
    (metrics.split_rollouts, ([1], [4], 1.5, np.random.default_rng()), "n_est must be whole"),
    (metrics.few_rollout_taxes, (([1], [9]), ([1], [9]), []), "budget k = "),
    # nothing
    (metrics.best_of_k, ([], [], [], 1), "no attempts"),
    (metrics.task_categories, ([], []), "no tasks"),
    (metrics.split_rollouts, ([], [], 1, np.random.default_rng()), "no tasks"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), BAD)
def test_what_cannot_be_measured_is_named(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


def test_tasks_of_another_number_than_the_trajectories_are_named():
    with pytest.raises(ValueError, match=r"tasks \(3,\) of 1 trajectories"):
        metrics.attribution([1], [1], tasks=T)


@pytest.mark.parametrize("n_boot", [39, -1, 100.5])
def test_a_number_of_resamples_is_whole_and_not_too_small(n_boot):
    with pytest.raises(ValueError, match=r"n_boot = .*1000 is usual"):
        metrics.spearman_band(S, P, T, n_boot=n_boot)


@pytest.mark.parametrize(
    ("function", "arguments", "why"),
    [
        (metrics.auroc, ([], []), "AUROC is undefined"),
        (metrics.auroc_band, ([], [], []), "AUROC is undefined"),
        (metrics.spearman, ([], []), "Spearman is undefined"),
        (metrics.spearman, ([1, 2, np.nan], S), r"undefined values \(NaN\)"),
        (metrics.spearman_band, ([], [], []), "there are no attempts"),
        (metrics.attribution_lead, ([], [], []), "the lead is undefined"),
    ],
)
def test_what_is_undefined_says_why(function, arguments, why):
    with pytest.warns(UserWarning, match=why):
        assert np.isnan(function(*arguments)).all()


def test_a_column_with_an_undefined_value_is_undefined_alone():
    x = np.array([[1, 1], [2, np.nan], [4, 3]])
    with pytest.warns(UserWarning, match="undefined values"):
        result = metrics.spearman(x, x)
    assert (result[0], np.isnan(result[1])) == (1, True)


def test_attribution_of_no_trajectories_is_undefined():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = metrics.attribution([], [])
    assert (result.counted, result.unpredicted) == (0, 0)
    assert np.isnan(result.accuracy.value)


def test_infinite_scores_are_ranked():
    assert metrics.auroc([-np.inf, 0, np.inf], P) == 1
