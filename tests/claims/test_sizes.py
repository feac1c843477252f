"""Claims about size: who crosses earlier, who pays more, and what is no overtaking."""

import numpy as np
import pytest

from lib import claims
from tests.claims.test_sharpening import table

FAMILIES = {
    "Gemma-4": ["gemma-4-E4B", "gemma-4-12B", "gemma-4-31B"],
    "Qwen2.5": ["Qwen2.5-3B", "Qwen2.5-7B", "Qwen2.5-14B"],
}
BASE, EARLY, MIDDLE, LATE = (1, 2), (0.1, 0.1), (0.35, 0.3), (0.9, 0.5)
WORSE = (0.3, 4)


def families(*shapes):
    """Two families of three sizes, smallest first, post-trained to these Beta parameters."""
    pairs = [pair for family in FAMILIES.values() for pair in family]
    rates = {(pair, "x"): (BASE, shapes[i % 3]) for i, pair in enumerate(pairs)}
    return claims.study(table(rates, tasks=150), n_boot=100)


def test_size_claim_counts_couples_within_families():
    claim = claims.larger_cross_earlier(families(LATE, MIDDLE, EARLY))
    assert (claim.verdict, claim.why[:9]) == ("holds", "6 couples")
    assert claims.larger_cross_earlier(families(EARLY, MIDDLE, LATE)).verdict == "contradicted"


def test_worse_from_the_start_is_no_overtaking():
    claim = claims.larger_cross_earlier(families(LATE, MIDDLE, WORSE))
    assert claim.verdict == "not tested here"
    assert "left out, worse from the start (k* = 1): gemma-4-31B on x, Qwen2.5-14B" in claim.why


def test_size_claim_is_not_tested_by_the_published_pairs():
    claim = claims.larger_cross_earlier(claims.study(claims.load("published"), n_boot=0))
    assert claim.verdict == "not tested here"
    assert "Gemma-4 1, Qwen2.5 1, Qwen3.5 1, Ministral-3 1" in claim.why


def test_four_published_pairs_give_a_rank_and_no_interval():
    claim = claims.tax_by_size(claims.study(claims.load("published"), n_boot=0))
    assert claim.verdict == "no interval"
    assert claim.why.startswith("mean over benchmarks, by size: Ministral-3-14B 0.038, gemma-4-31B")
    assert claim.value == pytest.approx(-0.4)


def test_enough_pairs_give_an_interval(monkeypatch):
    monkeypatch.setattr("lib.claims.sizes.FEWEST_PAIRS", 6)
    pairs = sorted(
        (pair for family in FAMILIES.values() for pair in family), key=claims.sizes.size_of
    )
    shapes = {(pair, "x"): (BASE, (1 - i / 7, 1 - i / 7)) for i, pair in enumerate(pairs)}
    claim = claims.tax_by_size(claims.study(table(shapes, tasks=300), n_boot=0))
    assert claim.low <= 0.7 < claim.value <= claim.high
    assert claim.why.endswith("; 6 pairs")


def test_names_without_a_size_are_not_tested():
    assert np.isnan(claims.sizes.size_of("grpo fixed seed 0"))
    own = claims.study(table({("P", "x"): (BASE, EARLY)}), n_boot=0)
    assert claims.tax_by_size(own).verdict == "not tested here"
