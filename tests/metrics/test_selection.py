"""Best of k by a score: exact success, its limits and intervals."""

import itertools

import numpy as np
import pytest

from lib.metrics import (
    best_of_k,
    pass_at_k,
    pass_hat_k,
    selection,
    share_of_gain,
    spearman_band,
)
from tests.simulated_attempts import attempts


def counts(passed, task):
    return np.bincount(task, weights=passed).astype(int), np.bincount(task)


def test_infinite_scores_are_ties_as_others_are():
    score, passed, task = attempts()
    lowest = score < np.median(score)
    result = [spearman_band(np.where(lowest, x, score), passed, task) for x in (-np.inf, -1e9)]
    assert result[0] == result[1]


@pytest.mark.parametrize("k", [1, 3, 12])
def test_a_constant_score_gives_pass_at_1(k):
    _, passed, task = attempts()
    c, n = counts(passed, task)
    assert best_of_k(np.zeros(len(task)), passed, task, k)[1] == pytest.approx(c / n)


@pytest.mark.parametrize("k", [1, 3, 12])
def test_an_oracle_gives_coverage_and_an_anti_oracle_consistency(k):
    _, passed, task = attempts()
    c, n = counts(passed, task)
    score = passed.astype(float)
    assert best_of_k(score, passed, task, k)[1] == pytest.approx(pass_at_k(c, n, k), abs=1e-12)
    assert best_of_k(-score, passed, task, k)[1] == pytest.approx(pass_hat_k(c, n, k), abs=1e-12)


def test_it_is_the_mean_over_all_subsets_with_ties():
    scores, passed = np.array([2, 0, 1, 1, 2, 2, 0.0]), np.array([1, 0, 1, 0, 0, 1, 1])
    for k in (1, 2, 4, 7):
        picks = []
        for these in itertools.combinations(range(7), k):
            best = [i for i in these if scores[i] == max(scores[list(these)])]
            picks.append(np.mean(passed[best]))
        assert best_of_k(scores, passed, np.zeros(7), k)[1] == pytest.approx([np.mean(picks)])


def test_tasks_may_have_different_numbers_of_attempts_in_any_order():
    scores, passed, task = attempts()
    kept = np.random.default_rng(1).permutation(len(task))[:180]
    names, together = best_of_k(scores[kept], passed[kept], task[kept], [1, 2, 3])
    assert len(set(np.bincount(task[kept]))) > 1
    for name, expected in zip(names, together, strict=True):
        these = kept[task[kept] == name]
        alone = best_of_k(scores[these], passed[these], task[these], [1, 2, 3])[1]
        assert expected == pytest.approx(alone[0])


def test_ten_thousand_attempts_stay_exact():
    n = 10_000
    passed = np.zeros(n)
    passed[0] = 1
    budgets = [1, 5_000, n]
    result = best_of_k(passed, passed, np.zeros(n), budgets)[1][0]
    assert result == pytest.approx([1e-4, 0.5, 1.0], rel=1e-10)
    many = best_of_k(np.arange(n), np.arange(n) % 2, np.zeros(n), budgets)[1][0]
    assert np.isfinite(many).all()
    assert many[2] == pytest.approx(1.0)


def test_a_budget_beyond_the_attempts_of_a_task_is_an_error():
    with pytest.raises(ValueError, match="task 'b' with n = 1"):
        best_of_k([1, 2, 3], [1, 0, 1], ["a", "a", "b"], 2)


def test_an_attempt_without_a_score_cannot_be_ranked():
    with pytest.raises(ValueError, match="1 of 2 attempts have no score"):
        best_of_k([1, np.nan], [1, 0], ["a", "a"], 1)


def test_an_outcome_that_is_missing_is_no_failure():
    with pytest.raises(ValueError, match="leave attempts with a missing outcome out"):
        best_of_k([1, 2], [1, np.nan], ["a", "a"], 1)


def test_selection_has_limits_shares_and_intervals_by_task():
    scores, passed, task = attempts(tasks=40)
    result = selection(scores, passed, task, [1, 2, 8])
    c, n = counts(passed, task)
    assert result.coverage.value == pytest.approx(pass_at_k(c, n, np.array([1, 2, 8])).mean(0))
    assert (result.consistency.value <= result.success.value + 1e-12).all()
    assert (result.success.value <= result.coverage.value + 1e-12).all()
    assert np.isnan(result.share.value[0])
    gain = (result.success.value - result.accuracy.value)[1:]
    assert result.share.value[1:] == pytest.approx(
        gain / (result.coverage.value - result.accuracy.value)[1:]
    )
    deviation = (c / n).std() / np.sqrt(40)
    assert result.accuracy.high[0] - result.accuracy.low[0] == pytest.approx(
        3.92 * deviation, rel=0.2
    )


def test_the_oracle_cashes_in_everything():
    _, passed, task = attempts()
    result = selection(passed.astype(float), passed, task, [4], n_boot=0)
    assert result.share.value == pytest.approx([1.0])
    assert np.isnan(result.share.low[0])


def test_nothing_to_gain_is_nan():
    assert np.isnan(share_of_gain(0.4, 0.4, 0.4))
