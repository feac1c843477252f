"""Runs that share a base: claims by environment, pooled only beside that."""

from dataclasses import replace

import numpy as np
import pytest

from lib import claims
from tests.claims.test_sharpening import table


@pytest.fixture(scope="module")
def groups():
    """Two environments of nine runs: within each all runs are alike, between them they differ."""
    shapes = {"calm": (1.0, 2.2), "harsh": (0.15, 0.15)}
    rates = {
        (f"run {i} in {place}", place): ((1, 2), shape)
        for place, shape in shapes.items()
        for i in range(9)
    }
    return claims.by_benchmark(claims.study(table(rates, n=48, tasks=60), n_boot=100))


def by_base(studies):
    return [
        claims.Study(replace(study.comparison, pair=study.comparison.benchmark), study.tax)
        for study in studies
    ]


def test_the_tax_is_counted_by_environment(groups):
    calm, harsh = claims.tax_by_environment(groups)
    assert (calm.case, harsh.case) == ("calm", "harsh")
    assert harsh.verdict == "holds"
    assert harsh.why.startswith("positive in 8 of 9 runs, which share bases and tasks")
    assert harsh.low < harsh.value < harsh.high


def test_pooled_ranks_may_come_from_between_environments_alone(groups):
    studies = [study for part in groups.values() for study in part]
    pooled, calm, harsh, *consistency = claims.rank_claims(groups, by_base(studies))
    assert pooled.value > 0.6
    assert pooled.verdict == "no interval"  # two bases
    for within in (calm, harsh):
        assert within.value < 0.5
        assert within.low < within.value < within.high
        assert "9 runs that share 1 base, resampled as they are" in within.why
        assert "a narrower range" in within.why
    assert [claim.case for claim in consistency] == ["pooled", "within calm", "within harsh"]


def test_too_few_rollouts_are_named():
    short = claims.study(table({("P", "x"): ((1, 2), (0.1, 0.1))}, n=16), n_boot=40)
    first, second = claims.rank_claims({"x": short}, short)
    assert first.verdict == second.verdict == "not tested here"
    assert "needs 40 rollouts" in first.why
    assert np.isnan(first.value)


def test_claims_of_another_place_say_so(groups):
    [first, _] = claims.placed(claims.tax_by_environment(groups), "in the lab, ", "other models")
    assert first.statement == "in the lab, Tax_S(48) is positive, mean over runs: calm"
    assert first.published == "36 of 42; other models"
