"""The claims of the papers, put to any table of outcomes or of scores.

A function a claim: from measured comparisons to a value, its 95 % interval, the published value, a
verdict and a sentence why. The verdict is a rule and nothing else (`verdict`). Whose data they are
is up to the caller: tables, seeds and conditions come in as arguments.

>>> from lib import claims
>>> outcomes = claims.load("published", pairs=["gemma-4-31B"])
>>> studies = claims.study(outcomes, n_boot=200)
>>> claim = claims.tax_positive(studies)
>>> claim.statement, claim.row()["value"], claim.row()["interval"], claim.verdict
('Tax_S(128) is positive in most cases', '3 of 3', '3 to 3', 'holds')
>>> claim.published
'36 of 42'
"""

from lib.claims.advantage import advantage_claims, attribution_claims
from lib.claims.claim import MIME, Claim, ClaimTable, verdict
from lib.claims.harness import Contrast, harness_claims
from lib.claims.ptgs import pilot_claims, ptgs_claims
from lib.claims.sharpening import (
    all_claims,
    coverage_crossover,
    few_rollouts_predict,
    larger_cross_earlier,
    polarisation,
    tax_follows_consistency,
    tax_positive,
)
from lib.claims.studies import (
    ESTIMATION_ROLLOUTS,
    FEWEST_PAIRS,
    Agreement,
    Study,
    agreement,
    load,
    only,
    split_taxes,
    study,
)

__all__ = [
    "ESTIMATION_ROLLOUTS",
    "FEWEST_PAIRS",
    "MIME",
    "Agreement",
    "Claim",
    "ClaimTable",
    "Contrast",
    "Study",
    "advantage_claims",
    "agreement",
    "all_claims",
    "attribution_claims",
    "coverage_crossover",
    "few_rollouts_predict",
    "harness_claims",
    "larger_cross_earlier",
    "load",
    "only",
    "pilot_claims",
    "polarisation",
    "ptgs_claims",
    "split_taxes",
    "study",
    "tax_follows_consistency",
    "tax_positive",
    "verdict",
]
