"""Verdicts on progress advantage: selection of attempts, and the decisive step."""

import pytest

from lib import claims
from lib.advantage import attribution
from tests import scored_attempts


@pytest.mark.parametrize(("right", "expected"), [(True, "holds"), (False, "contradicted")])
def test_claims_follow_from_the_scores(right, expected):
    table = claims.advantage_claims([scored_attempts.setting(right=right)], 4, n_boot=100)
    assert [claim.verdict for claim in table] == [expected] * 4


def test_the_best_baseline_is_named_and_what_needs_training_stands_beside():
    *_, pooled, equal = claims.advantage_claims([scored_attempts.setting()], 4, n_boot=100)
    assert pooled.why.startswith("AUROC 1.00 [1.00, 1.00] (0.5 is chance) against 0.50 by policy")
    assert "ahead of 5 of 5 with certainty" in pooled.why
    assert pooled.why.endswith("not among them: minus turns 0.75, reward model 1.00")
    assert pooled.lead
    assert not equal.lead


def test_a_score_below_chance_beats_no_baseline():
    *_, pooled, _ = claims.advantage_claims([scored_attempts.setting(right=False)], 4, n_boot=100)
    assert pooled.verdict == "contradicted"
    assert pooled.high < 0


def test_claims_without_attempts_are_not_tested():
    assert [claim.verdict for claim in claims.advantage_claims([])] == ["not tested here"]


def test_the_claim_is_not_tested_without_a_pair():
    table = attribution.compare({"log-prob": [[0, -1]]}, [[1, 1]], [1], n_boot=0)
    (claim,) = claims.attribution_claims({"logs": table})
    assert claim.verdict == "not tested here"
    assert "--reference" in claim.why
