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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["harness_rates", "paper_tables", "seed_differences", "sizes"],
    submod_attrs={
        "advantage": ["advantage_claims", "attribution_claims"],
        "claim": ["Claim", "ClaimTable", "MIME", "verdict"],
        "harness": ["Contrast", "harness_claims", "untested_harness_claims"],
        "ptgs": ["headline_claims", "pilot_claims", "ptgs_claims", "signal_claims"],
        "questions": ["QUESTIONS", "answer", "finding", "grouped"],
        "sharpening": [
            "all_claims",
            "coverage_crossover",
            "few_rollouts_predict",
            "polarisation",
            "tax_follows_consistency",
            "tax_positive",
        ],
        "sizes": ["larger_cross_earlier", "tax_by_size"],
        "studies": [
            "Agreement",
            "ESTIMATION_ROLLOUTS",
            "FEWEST_PAIRS",
            "Study",
            "agreement",
            "load",
            "only",
            "split_taxes",
            "study",
        ],
        "within": ["by_benchmark", "placed", "rank_claims", "tax_by_environment"],
    },
)
