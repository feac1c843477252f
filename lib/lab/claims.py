"""The claims of the first paper, put to the lab's runs: a group of their own."""

from collections.abc import Sequence
from dataclasses import replace

from lib.claims.claim import ClaimTable
from lib.claims.sharpening import few_rollouts_predict, tax_follows_consistency, tax_positive
from lib.claims.studies import Study
from lib.lab import comparisons


def by_base(studies: Sequence[Study]) -> list[Study]:
    """The lab's studies with the base as the pair, see `lib.lab.comparisons.by_base`."""
    renamed = comparisons.by_base([one.comparison for one in studies])
    return [Study(one, old.tax) for one, old in zip(renamed, studies, strict=True)]


def lab_claims(studies: Sequence[Study], *, seed: int = 0) -> ClaimTable:
    """Whether there is a tax, and what predicts it, over the lab's runs: none for no studies.

    The published figures beside them are those of the paper's models.
    """
    if not studies:
        return ClaimTable()
    grouped = by_base(studies)
    found = [
        tax_positive(studies),
        few_rollouts_predict(grouped, seed=seed),
        tax_follows_consistency(grouped, seed=seed),
    ]
    return ClaimTable(
        replace(
            claim,
            statement=f"in the lab, {claim.statement}",
            published=f"{claim.published}; other models",
        )
        for claim in found
    )
