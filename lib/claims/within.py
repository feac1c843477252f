"""Claims over many runs that share a few bases: by environment, and pooled only beside that.

Runs from one base on the same tasks are alike. Counted together they look like more evidence than
they are, and what sets environments apart looks like agreement between runs.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lib import metrics
from lib.claims import paper_tables
from lib.claims.claim import Claim, not_tested, rank_claim, verdict
from lib.claims.studies import ESTIMATION_ROLLOUTS, FEWEST_PAIRS, Study, agreement, split_taxes
from lib.metrics import MARGIN

BRIEF = "rank correlation over runs"

Grouped = Mapping[str, Sequence[Study]]
"""Name of an environment -> the comparisons in it, whose pairs are runs."""


def by_benchmark(studies: Sequence[Study]) -> dict[str, list[Study]]:
    """The studies of each benchmark, in order."""
    groups: dict[str, list[Study]] = {}
    for study in studies:
        groups.setdefault(study.comparison.benchmark, []).append(study)
    return groups


def tax_by_environment(groups: Grouped) -> list[Claim]:
    """Whether Tax_S(K) is positive on average over the runs of each environment.

    The interval resamples tasks, the same for all runs; seeds and bases are taken as they are.
    """
    claims = []
    for environment, studies in groups.items():
        K = studies[0].tax.K
        values = np.array([tax.tax_S.value[-1] for _, tax in studies])
        samples = np.mean([tax.samples["tax_S"][:, -1] for _, tax in studies], axis=0)
        low, high = metrics.percentile_interval(samples)
        claims.append(
            Claim(
                statement=f"Tax_S({K}) is positive, mean over runs: {environment}",
                value=float(np.mean(values)),
                low=low,
                high=high,
                published=paper_tables.headline("tax_positive").printed,
                verdict=verdict(low, high, 0),
                why=f"positive in {np.sum(values > MARGIN)} of {len(values)} runs, which share "
                "bases and tasks; tasks resampled for all runs at once",
                digits=3,
                question="tax",
                case=environment,
                lead=True,
                brief="mean Tax_S over runs",
            )
        )
    return claims


def rank_claims(
    groups: Grouped, pooled: Sequence[Study], k: int = 32, *, seed: int = 0
) -> list[Claim]:
    """Whether Tax_S(8) of eight rollouts ranks runs as Tax_S(k) and the gap in pass^8 do.

    Each pooled over all runs and within every environment of at least eight runs; the paper's claim
    rests on both. Within an environment runs are resampled, given their base.

    pooled: the same studies in the same order, with their base as the pair.
    """
    studies = [study for part in groups.values() for study in part]
    needed = ESTIMATION_ROLLOUTS + k
    fewest = min(study.comparison.max_k for study in studies)
    statements = {
        f"Tax_S({ESTIMATION_ROLLOUTS}) predicts Tax_S({k}) (Spearman)": (
            paper_tables.headline("tax_8_to_32").printed if k == 32 else "not printed"
        ),
        f"Tax_S({ESTIMATION_ROLLOUTS}) follows the gap in pass^8 (Spearman)": "shown as a figure",
    }
    why = ""
    if fewest < needed:
        why = f"needs {needed} rollouts of every task, the shortest has {fewest}"
    elif len(studies) < 3:
        why = f"needs three comparisons, there are {len(studies)}"
    if why:
        return [not_tested(*each, why, "prediction", lead=True) for each in statements.items()]
    splits = split_taxes(pooled, [k, 8], seed=seed)
    outcomes = ([s.tax_val[:, 0] for s in splits], [s.consistency_gap[:, 1] for s in splits])
    claims = []
    for (statement, printed), outcome in zip(statements.items(), outcomes, strict=True):
        outcome = np.array(outcome)
        ranks = agreement(pooled, splits, outcome, seed=seed)
        bases = len({study.comparison.pair for study in pooled})
        few = f"; fewer than {FEWEST_PAIRS} bases give no interval" if bases < FEWEST_PAIRS else ""
        why = f"{len(studies)} runs of {len(groups)} environments from {bases} bases{few}"
        if not np.isnan(ranks.least):
            why += f"; leaving a base out gives {ranks.least:.2f} to {ranks.most:.2f}"
        claims.append(rank_claim(statement, ranks, printed, why, BRIEF, "pooled"))
        spread = float(np.std(np.mean(outcome, axis=1)))
        places = np.cumsum([0, *map(len, groups.values())])
        for (environment, part), start in zip(groups.items(), places, strict=False):
            if len(part) >= FEWEST_PAIRS:
                rows = slice(start, start + len(part))
                there = agreement(part, splits[rows], outcome[rows], seed=seed)
                why = _why_within(part, pooled[rows], splits[rows], outcome[rows], spread)
                case = f"within {environment}"
                claims.append(rank_claim(statement, there, printed, why, BRIEF, case))
    return claims


def _why_within(part, pooled, splits, outcome, spread) -> str:
    """What a rank correlation within an environment has to work with: range, noise, bases."""
    bases = len({study.comparison.pair for study in pooled})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is undefined is NaN in the result
        between = float(np.nanstd(np.nanmean(outcome, axis=1)))
        estimates = np.array([split.tax_est for split in splits])
        error = float(np.nanmean(np.nanstd(estimates, axis=1)))
        apart = float(np.nanstd(np.nanmean(estimates, axis=1)))
    narrow = "a narrower range" if between < spread else "as wide a range"
    return (
        f"{len(part)} runs that share {bases} base{'' if bases == 1 else 's'}, "
        f"resampled as they are; what is predicted has sd {between:.3f} between them, {spread:.3f} "
        f"over all runs, {narrow}; Tax_S(8) of eight attempts has sd {apart:.3f} between them and "
        f"{error:.3f} from the draw of attempts"
    )


def placed(claims: Sequence[Claim], place: str, beside: str) -> list[Claim]:
    """The claims with words before the statement, and behind what was published."""
    return [
        replace(
            claim, statement=f"{place}{claim.statement}", published=f"{claim.published}; {beside}"
        )
        for claim in claims
    ]
