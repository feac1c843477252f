"""The claims of "Sharpening Tax in Post-Training", one function a claim."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import norm

from lib import metrics
from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, rank_claim, verdict
from lib.claims.sizes import larger_cross_earlier, tax_by_size
from lib.claims.studies import ESTIMATION_ROLLOUTS, FEWEST_PAIRS, Study, agreement, split_taxes
from lib.metrics import MARGIN, bootstrap


def all_claims(studies: Sequence[Study], *, seed: int = 0) -> ClaimTable:
    """Every claim of the first paper, in the order in which it makes them."""
    return ClaimTable(
        [
            *coverage_crossover(studies),
            tax_positive(studies),
            few_rollouts_predict(studies, seed=seed),
            tax_follows_consistency(studies, seed=seed),
            polarisation(studies),
            larger_cross_earlier(studies),
            tax_by_size(studies),
        ]
    )


def coverage_crossover(studies: Sequence[Study]) -> list[Claim]:
    """The base overtakes its post-trained sibling in most comparisons: over all, then by pair.

    It overtakes within K attempts exactly if its coverage is higher at K and not at every budget.
    Where it is ahead from the first attempt on (k* = 1), the post-trained arm is worse from the
    start: that is no case of overtaking, and the claim says so.
    """
    groups = {"": list(studies)}
    for study in studies:
        groups.setdefault(study.comparison.pair, []).append(study)
    return [_crossover_claim(pair, group) for pair, group in groups.items()]


def _crossover_claim(pair, studies) -> Claim:
    """The claim over the comparisons of one pair, or over all where pair is empty."""
    K = studies[0].tax.K
    statement = f"the base overtakes within {K} attempts in most cases"
    statement += f": {pair}" if pair else ""
    crossings = {
        comparison.benchmark if pair else comparison.label: tax.crossover.value
        for comparison, tax in studies
    }
    worse = [name for name, k in crossings.items() if k == 1]
    note = f"worse from the start, nothing to overtake: {_listed(worse)}" if worse else ""
    cases = [tax for _, tax in studies if tax.crossover.value > 1]
    about = {"question": "crossover", "case": pair, "lead": not pair}
    about["brief"] = f"the base overtakes within {K} attempts in"
    if not cases:
        return not_tested(statement, "shown as a figure", note, **about)
    finite = [k for k in crossings.values() if 1 < k < np.inf]
    shown = ", ".join(
        f"{name} {'none' if np.isinf(k) else f'k = {k:.0f}'}"
        for name, k in crossings.items()
        if k > 1
    )
    if not pair:
        shown = f"median of those that cross: k = {np.median(finite):.0f}" if finite else ""
    return _count_claim(
        [(tax.gap.value[-1], tax.samples["gap"][:, -1]) for tax in cases],
        statement,
        "shown as a figure",
        (shown or "no base overtakes") + (f"; {note}" if note else ""),
        **about,
    )


def tax_positive(studies: Sequence[Study]) -> Claim:
    """Tax_S(K) is positive in most comparisons."""
    K = studies[0].tax.K
    defined = [study for study in studies if not np.isnan(study.tax.tax_S.value[-1])]
    printed = paper_tables.headline("tax_positive").printed + (" at 128" if K != 128 else "")
    statement = f"Tax_S({K}) is positive in most cases"
    if not defined:
        reason = "a budget of 1 allows no second attempt" if K == 1 else "pass@1 is 1"
        why = f"Tax_S is undefined in every case: {reason}"
        return not_tested(statement, printed, why, "tax", lead=True)
    others = [comparison.label for comparison, tax in defined if tax.tax_S.value[-1] <= MARGIN]
    undefined = len(studies) - len(defined)
    return _count_claim(
        [(tax.tax_S.value[-1], tax.samples["tax_S"][:, -1]) for _, tax in defined],
        statement,
        printed,
        (f"not positive: {_listed(others)}" if others else "positive in every case")
        + (f"; undefined in {undefined} (pass@1 = 1)" if undefined else ""),
        question="tax",
        lead=True,
        brief=f"Tax_S({K}) is positive in",
    )


def few_rollouts_predict(studies: Sequence[Study], k: int = 32, *, seed: int = 0) -> Claim:
    """Tax_S(8) of eight rollouts a task ranks comparisons as Tax_S(k) of the others does."""
    return _rank_claim(
        studies,
        f"Tax_S({ESTIMATION_ROLLOUTS}) predicts Tax_S({k})",
        paper_tables.headline("tax_8_to_32").printed if k == 32 else "not printed",
        k,
        lambda split: split.tax_val[:, 0],
        seed,
    )


def tax_follows_consistency(studies: Sequence[Study], *, seed: int = 0) -> Claim:
    """Tax_S(8) ranks comparisons as the gain in consistency, pass^8 post - base, does."""
    k = ESTIMATION_ROLLOUTS
    return _rank_claim(
        studies,
        f"Tax_S({k}) follows the gap in pass^{k}",
        "shown as a figure",
        k,
        lambda split: split.consistency_gap[:, 0],
        seed,
    )


def polarisation(studies: Sequence[Study]) -> Claim:
    """Post-training moves tasks to the extremes: K rollouts all fail, or all pass."""
    K = studies[0].tax.K
    values = np.array([tax.polarisation.value[-1] for _, tax in studies])
    samples = np.mean([tax.samples["polarisation"][:, -1] for _, tax in studies], axis=0)
    low, high = bootstrap.percentile_interval(samples)
    return Claim(
        statement=f"post-training polarises tasks (chance that {K} rollouts all fail or all pass, "
        "post - base)",
        value=float(np.mean(values)),
        low=low,
        high=high,
        published="shown as a figure",
        verdict=verdict(low, high, 0),
        why=f"more so in {np.sum(values > MARGIN)} of {len(studies)} cases",
        question="polarisation",
        lead=True,
        brief="the chance that all attempts fail or all succeed changes by",
    )


# What the claims share ----------------------------------------------------------------------


def _listed(names, most=6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _count_claim(cases, statement, printed, why, **about) -> Claim:
    """How many of the cases, (value, replicates) each, are positive, and whether that is most.

    The interval runs from the number of cases that are certainly positive to the number that are
    not certainly negative: by Holm's method at 2.5 % a side, so that all of them hold together.
    The value always lies inside. Fewer than three cases are no test of "most".
    """
    values = np.array([value for value, _ in cases])
    low, high = _certain_counts(cases)
    few = len(cases) < 3
    return Claim(
        statement=statement,
        value=int(np.sum(values > MARGIN)),
        low=low,
        high=high,
        published=printed,
        verdict="not tested here" if few else verdict(low, high, len(cases) / 2),
        why=why + ("; fewer than three cases do not show what most do" if few else ""),
        of=len(cases),
        **about,
    )


def _certain_counts(cases) -> tuple[float, float]:
    z = []
    for value, replicates in cases:
        replicates = replicates[~np.isnan(replicates)]
        if len(replicates) < metrics.FEWEST_RESAMPLES:
            return np.nan, np.nan
        value, sd = (
            0.0 if abs(number) <= MARGIN else number for number in (value, replicates.std())
        )
        z.append(value / sd if sd else np.sign(value) * np.inf if value else 0.0)
    z = np.array(z)
    return float(_holm(norm.sf(z))), float(len(z) - _holm(norm.cdf(z)))


def _holm(p, level=0.025) -> int:
    """How many hypotheses Holm's step-down method rejects; `level` is the chance of any error."""
    passed = np.sort(p) <= level / np.arange(len(p), 0, -1)
    return int(np.argmin(np.append(passed, False)))


def _rank_claim(
    studies, statement, printed, k, outcome_of: Callable[[metrics.SplitTaxes], np.ndarray], seed
) -> Claim:
    """Spearman over comparisons of Tax_S(8) of 8 rollouts a task against an outcome of the rest."""
    needed = ESTIMATION_ROLLOUTS + k
    fewest = min(study.comparison.max_k for study in studies)
    if fewest < needed:
        why = f"needs {needed} rollouts of every task, the shortest has {fewest}"
        return not_tested(statement, printed, why, "prediction", lead="predicts" in statement)
    if len(studies) < 3:
        why = f"needs three comparisons, there are {len(studies)}"
        return not_tested(statement, printed, why, "prediction", lead="predicts" in statement)
    splits = split_taxes(studies, [k], seed=seed)
    y = np.array([outcome_of(split) for split in splits])
    defined = ~np.isnan(y + [split.tax_est for split in splits]).any(axis=0)
    if defined.mean() < 0.5:
        why = "Tax_S is undefined (pass@1 = 1) in some comparison, in most of the splits"
        return not_tested(statement, printed, why, "prediction", lead="predicts" in statement)
    ranks = agreement(studies, splits, y, seed=seed)
    partial = "undefined" if np.isnan(ranks.partial) else f"{ranks.partial:.2f}"
    why = f"sd over splits {ranks.sd:.2f}; {partial} with the pass@1 gap partialled out"
    if not defined.all():
        why += f"; {np.sum(~defined)} splits left out, where Tax_S is undefined (pass@1 = 1)"
    if len({study.comparison.pair for study in studies}) < FEWEST_PAIRS:
        why += f"; fewer than {FEWEST_PAIRS} pairs give no interval"
        if not np.isnan(ranks.least):
            why += f", leaving one pair out gives {ranks.least:.2f} to {ranks.most:.2f}"
    brief = f"rank correlation over {len(studies)} comparisons:"
    return rank_claim(f"{statement} (Spearman)", ranks, printed, why, brief)
