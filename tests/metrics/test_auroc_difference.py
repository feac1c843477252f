"""Differences of AUROC: paired, with ties, against every pair counted by hand."""

import numpy as np
import pytest

from lib import metrics


def by_hand(scores, passed, strata):
    """Mean over pairs of a success and a failure of one stratum: 1, or 1/2 where they tie."""
    won = [
        (a > b) + 0.5 * (a == b)
        for a, up, s in zip(scores, passed, strata, strict=True)
        for b, other, t in zip(scores, passed, strata, strict=True)
        if up and not other and s == t
    ]
    return np.mean(won)


@pytest.mark.parametrize("strata", [None, "tasks"])
def test_the_difference_is_that_of_all_pairs_ties_included(strata):
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(12), 5)
    passed = rng.integers(2, size=60)
    ours, theirs = rng.integers(4, size=(2, 60)).astype(float)  # few values, so many ties
    among = tasks if strata else None
    band = metrics.auroc_difference(ours, theirs, passed, tasks, strata=among, n_boot=200)
    within = tasks if strata else np.zeros(60)
    expected = by_hand(ours, passed, within) - by_hand(theirs, passed, within)
    assert band.value == pytest.approx(expected)
    assert band.low < band.value < band.high


def test_resamples_are_paired():
    rng = np.random.default_rng(1)
    tasks, passed = np.repeat(np.arange(20), 4), rng.integers(2, size=80)
    scores = passed + rng.normal(size=80)
    band = metrics.auroc_difference(scores, np.exp(scores), passed, tasks, n_boot=100)
    assert band == (0, 0, 0)  # the same order, so no resample tells them apart


def test_a_generator_draws_the_same_tasks_for_both():
    rng = np.random.default_rng(2)
    tasks, passed = np.repeat(np.arange(20), 4), rng.integers(2, size=80)
    scores = rng.normal(size=80)
    band = metrics.auroc_difference(scores, scores + 1, passed, tasks, n_boot=100, rng=rng)
    assert band == (0, 0, 0)


def test_no_two_outcomes_leave_it_undefined():
    with pytest.warns(UserWarning, match="the difference of AUROCs is undefined"):
        band = metrics.auroc_difference([1, 2], [2, 1], [1, 1], [0, 1])
    assert np.isnan(band).all()
