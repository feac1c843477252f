"""The claims that the lab puts to its own runs: which runs, seeds and conditions they are about."""

from collections.abc import Sequence

import pandas as pd

from lib import claims
from lib.lab import comparisons, harness_ablation, plan, results


def by_base(studies: Sequence[claims.Study]) -> list[claims.Study]:
    """The lab's studies with the base as the pair, see `lib.lab.comparisons.by_base`."""
    renamed = comparisons.by_base([study.comparison for study in studies])
    return [
        claims.Study(comparison, study.tax)
        for comparison, study in zip(renamed, studies, strict=True)
    ]


def tax_claims(studies: Sequence[claims.Study], *, seed: int = 0) -> claims.ClaimTable:
    """Whether there is a tax, and what predicts it, over the lab's runs: none for no studies.

    By environment, as runs of one environment share bases and tasks; what predicts the tax also
    pooled. The published figures beside them are those of the paper's models.
    """
    if not studies:
        return claims.ClaimTable()
    groups = claims.by_benchmark(studies)
    ordered = [study for part in groups.values() for study in part]
    of_runs = [
        *claims.tax_by_environment(groups),
        *claims.rank_claims(groups, by_base(ordered), seed=seed),
    ]
    return claims.ClaimTable(claims.placed(of_runs, "in the lab, ", "other models"))


def ptgs_claims(
    scores: pd.DataFrame,
    environment: str,
    algorithm: str,
    K: int = plan.ATTEMPTS,
    *,
    committed: bool = False,
) -> claims.ClaimTable:
    """`lib.claims.ptgs_claims` over the lab's runs of one environment, algorithm, rate and size.

    scores: as `lib.lab.results.scores` makes them at K.  committed: whether they are the lab's
    committed results. All others, and all but what `plan.PRIMARY` fixed, are exploratory.
    """
    primary = plan.LAB.is_primary(environment, algorithm, plan.Run.rate, K, plan.SEEDS)
    seeds = plan.SEEDS if committed and primary else None
    return claims.ptgs_claims(scores, environment, algorithm, K, primary_seeds=seeds)


def signal_claims(
    steps: pd.DataFrame, scores: pd.DataFrame, environment: str, algorithm: str
) -> claims.ClaimTable:
    """`lib.claims.signal_claims` over the lab's runs of one environment, algorithm, rate and size.

    steps: step logs of those runs, see `lib.lab.results.read`.  scores: as for `ptgs_claims`.
    """
    here = {"world": environment, "algorithm": algorithm}
    here |= {"size": plan.Run.size, "rate": plan.Run.rate}
    return claims.signal_claims(
        results.select(steps, **here), results.select(scores, **here), environment, algorithm
    )


def headline_claims(evaluations: pd.DataFrame, K: int = plan.ATTEMPTS) -> claims.ClaimTable:
    """`lib.claims.headline_claims` over the lab's runs: held-out tasks, T = 0.5, usual rate."""
    scores = results.scores(evaluations, K=K, size=plan.Run.size, rate=plan.Run.rate)
    return claims.headline_claims(scores, K)


def harness_claims(table: pd.DataFrame, budgets: Sequence[int]) -> claims.ClaimTable:
    """What both parts of the lab's harness do to its models, against the native form alone.

    table: conditions as `lib.lab.harness_ablation.conditions` makes them, of one environment or
    more. Only the desk was planned for this, so the others are called exploratory.
    """
    models = [(name, "base") for name in harness_ablation.BASES.values()]
    models.append((harness_ablation.TRAINED, "post-trained"))
    contrasts = [claims.Contrast(name, kind, "native", "both") for name, kind in models]
    made = claims.ClaimTable()
    for environment, part in table.groupby("benchmark", sort=False):
        there = environment + ("" if environment == harness_ablation.PLANNED else " (exploratory)")
        made += claims.harness_claims(part, contrasts, budgets, place="in the lab, ", there=there)
    return made
