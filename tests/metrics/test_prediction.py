"""The tax of few rollouts: splits, and what they estimate."""

import numpy as np
import pytest

from lib.metrics import (
    coverage_curve,
    few_rollout_taxes,
    sharpening_tax,
    split_rollouts,
)


def cell(rng, tasks=40, n=16):
    return rng.binomial(n, rng.beta(0.4, 0.6, tasks)), np.full(tasks, n)


def test_splits_deal_out_every_success_once():
    c, n = np.array([0, 3, 16, 9]), np.full(4, 16)
    est, val = split_rollouts(c, n, 8, np.random.default_rng(0), n_splits=50)
    assert est.shape == (50, 4)
    np.testing.assert_array_equal(est + val, np.tile(c, (50, 1)))
    assert np.all(est <= 8)
    assert np.all(val <= 8)


def test_splits_are_hypergeometric():
    est, _ = split_rollouts([6], [16], 8, np.random.default_rng(1), n_splits=20_000)
    assert est.mean() == pytest.approx(8 * 6 / 16, abs=0.03)
    assert est.var() == pytest.approx(8 * (6 / 16) * (10 / 16) * (16 - 8) / 15, rel=0.05)


def test_a_split_leaves_something_to_validate():
    with pytest.raises(ValueError, match="fewer than 8, the fewest rollouts of a task"):
        split_rollouts([1, 2], [16, 8], 8, np.random.default_rng(0))


def test_split_taxes_average_to_the_whole():
    """Splits are exchangeable and pass@k unbiased: means over splits are the full estimates."""
    rng = np.random.default_rng(6)
    base, post = cell(rng, 60, 24), cell(rng, 60, 24)
    split = few_rollout_taxes(base, post, [8, 16], n_splits=3000, rng=7)
    gap = coverage_curve(post, 1)[0] - coverage_curve(base, 1)[0]
    assert split.accuracy_gap.mean() == pytest.approx(gap, abs=2e-3)
    whole = sharpening_tax(base, post, 16, n_boot=0)
    for i, k in enumerate((8, 16)):
        hat = whole.consistency_post.value[k - 1] - whole.consistency_base.value[k - 1]
        assert split.consistency_gap[:, i].mean() == pytest.approx(hat, abs=2e-3)
        assert split.tax_val[:, i].mean() == pytest.approx(whole.tax_S.value[k - 1], abs=5e-3)
    assert split.tax_est.mean() == pytest.approx(whole.tax_S.value[7], abs=5e-3)
