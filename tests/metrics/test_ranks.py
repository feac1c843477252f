"""Rank statistics against their formulas."""

import numpy as np
import pytest

from lib import metrics


def test_spearman_and_partial_against_their_formulas():
    x, y, z = np.random.default_rng(1).normal(size=(3, 50))
    x, y = x + z, y + z
    ranks = [np.argsort(np.argsort(v)) for v in (x, y, z)]
    r = np.corrcoef(ranks)
    assert metrics.spearman(x, y) == pytest.approx(r[0, 1])
    # The textbook form: correlate what is left of x and y after regressing their ranks on z's.
    left = [np.polynomial.Polynomial.fit(ranks[2], ranks[i], 1)(ranks[2]) for i in (0, 1)]
    residual = np.corrcoef(ranks[0] - left[0], ranks[1] - left[1])[0, 1]
    assert metrics.partial_spearman(x, y, z) == pytest.approx(residual)


def test_spearman_takes_columns():
    x, y = np.random.default_rng(2).normal(size=(2, 9, 4))
    each = [metrics.spearman(x[:, j], y[:, j]) for j in range(4)]
    np.testing.assert_allclose(metrics.spearman(x, y), each)


@pytest.mark.parametrize(("x", "y"), [([1, 1, 1], [1, 2, 3]), ([1, 2], [2, 1])])
def test_undefined_spearman_is_nan_with_a_warning(x, y):
    with pytest.warns(UserWarning, match="fewer than three points, or a variable that is constant"):
        assert np.isnan(metrics.spearman(x, y))


def test_partial_spearman_given_one_of_its_variables_is_undefined():
    with pytest.warns(UserWarning, match="z alone determines"):
        assert np.isnan(metrics.partial_spearman([1, 2, 3, 4], [2, 1, 4, 3], [1, 2, 3, 4]))


def test_auroc_is_the_chance_of_ranking_a_success_first():
    scores, passed = np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1], bool)
    wins = [(a > b) + 0.5 * (a == b) for a in scores[passed] for b in scores[~passed]]
    assert metrics.auroc(scores, passed) == pytest.approx(np.mean(wins))


@pytest.mark.parametrize("passed", [[0, 1, None], [0, 1, np.nan], ["False", "True", "True"]])
def test_auroc_takes_no_missing_outcomes(passed):
    with pytest.raises(ValueError, match="leave attempts with a missing outcome out"):
        metrics.auroc([0.1, 0.2, 0.3], passed)


def test_auroc_of_one_class_is_nan_with_a_warning():
    with pytest.warns(UserWarning, match="all attempts have the same outcome"):
        assert np.isnan(metrics.auroc([0.1, 0.2], [True, True]))
