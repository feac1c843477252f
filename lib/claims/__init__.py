"""The claims of the papers, put to a table of outcomes.

One function a claim: from measured comparisons to a value, its 95 % interval, the published value,
a verdict and one sentence why. The verdict is a rule and nothing else (`verdict`).
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
    LARGEST_DEFAULT_K,
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
    "LARGEST_DEFAULT_K",
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
