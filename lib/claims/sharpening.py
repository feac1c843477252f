"""The claims of "Sharpening Tax in Post-Training", one function a claim."""

import re
from collections.abc import Sequence

import numpy as np

from lib import published
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.claims.studies import ESTIMATION_ROLLOUTS, Study, agreement, split_taxes


def all_claims(studies: Sequence[Study], *, seed: int = 0) -> ClaimTable:
    """Every claim of the first paper, in the order it makes them."""
    return ClaimTable(
        [
            *coverage_crossover(studies),
            tax_positive(studies),
            few_rollouts_predict(studies, seed=seed),
            tax_follows_consistency(studies, seed=seed),
            polarisation(studies),
            larger_cross_earlier(studies),
        ]
    )


def coverage_crossover(studies: Sequence[Study]) -> list[Claim]:
    """The base overtakes its sibling in most comparisons: over all, then pair by pair."""
    K = studies[0].tax.K
    groups = {"": list(studies)}
    for one in studies:
        groups.setdefault(one.comparison.pair, []).append(one)
    claims = []
    for pair, group in groups.items():
        crossings = np.array([one.tax.crossover.value for one in group])
        samples = np.array([one.tax.samples["crossover"] for one in group])
        low, high = _count_interval(np.isfinite(samples))
        shown = ", ".join(
            f"{one.comparison.benchmark} {'none' if np.isinf(k) else f'k = {k:.0f}'}"
            for one, k in zip(group, crossings, strict=True)
        )
        finite = crossings[np.isfinite(crossings)]
        if not pair:
            shown = (
                f"median of those that cross: k = {np.median(finite):.0f}" if len(finite) else ""
            )
        claims.append(
            Claim(
                statement=f"the base overtakes within {K} attempts in most cases"
                + (f": {pair}" if pair else ""),
                value=len(finite),
                low=low,
                high=high,
                published="shown, not counted",
                verdict=verdict(low, high, len(group) / 2),
                why=shown or "no base overtakes",
                of=len(group),
            )
        )
    return claims


def tax_positive(studies: Sequence[Study]) -> Claim:
    """Tax_S(K) is positive in most comparisons."""
    K = studies[0].tax.K
    defined = [one for one in studies if not np.isnan(one.tax.tax_S.value[-1])]
    printed = published.headline("tax_positive").printed
    statement = f"Tax_S({K}) is positive in most cases"
    if not defined:
        return not_tested(statement, printed, "Tax_S is undefined in every case (pass@1 = 1)")
    values = np.array([one.tax.tax_S.value[-1] for one in defined])
    low, high = _count_interval(np.array([one.tax.samples["tax_S"][:, -1] for one in defined]) > 0)
    exceptions = [
        one.comparison.label for one, tax in zip(defined, values, strict=True) if tax <= 0
    ]
    undefined = len(studies) - len(defined)
    return Claim(
        statement=statement,
        value=int(np.sum(values > 0)),
        low=low,
        high=high,
        published=printed,
        verdict=verdict(low, high, len(defined) / 2),
        why=("not positive: " + ", ".join(exceptions) if exceptions else "positive in every case")
        + (f"; undefined in {undefined} (pass@1 = 1)" if undefined else ""),
        of=len(defined),
    )


def few_rollouts_predict(studies: Sequence[Study], k: int = 32, *, seed: int = 0) -> Claim:
    """Tax_S(8) of eight rollouts a task ranks comparisons as Tax_S(k) of the others does."""
    return _rank_claim(
        studies,
        f"Tax_S({ESTIMATION_ROLLOUTS}) predicts Tax_S({k})",
        published.headline("tax_8_to_32").printed if k == 32 else "not printed",
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
        "shown, not printed",
        k,
        lambda split: split.consistency_gap[:, 0],
        seed,
    )


def polarisation(studies: Sequence[Study]) -> Claim:
    """Post-training moves tasks to the extremes: always or never solved in n rollouts."""
    value = float(np.mean([one.tax.polarisation.value for one in studies]))
    samples = np.mean([one.tax.samples["polarisation"] for one in studies], axis=0)
    low, high = np.quantile(samples, [0.025, 0.975]) if len(samples) else (np.nan, np.nan)
    more = sum(one.tax.polarisation.value > 0 for one in studies)
    return Claim(
        statement="post-training polarises tasks (share never or always solved in the rollouts "
        "observed, post - base)",
        value=value,
        low=float(low),
        high=float(high),
        published="shown, not printed",
        verdict=verdict(low, high, 0),
        why=f"more tasks at the extremes in {more} of {len(studies)} cases",
    )


def larger_cross_earlier(studies: Sequence[Study]) -> Claim:
    """Within a family and benchmark, the larger of two pairs crosses at the smaller budget.

    The value is the share of such couples that agree, ties counting half; the size is the number
    before "B" in the pair's name. Needs two families with three sizes each.
    """
    statement = "larger models cross earlier (share of couples within a family)"
    families = published.table("model_pairs").set_index("pair")["family"]
    groups: dict[tuple, dict[float, Study]] = {}
    for one in studies:
        size = re.search(r"(\d+(?:\.\d+)?)B", one.comparison.pair)
        if one.comparison.pair in families.index and size:
            family = families[one.comparison.pair]
            groups.setdefault((family, one.comparison.benchmark), {})[float(size[1])] = one
    sizes = {}
    for (family, _), group in groups.items():
        sizes[family] = max(sizes.get(family, 0), len(group))
    if sum(count >= 3 for count in sizes.values()) < 2:
        seen = ", ".join(f"{family} {count}" for family, count in sizes.items()) or "none known"
        why = f"needs two families of three sizes; sizes here: {seen}"
        return not_tested(statement, "claimed", why)
    agree = [
        _earlier(group[large].tax, group[small].tax)
        for group in groups.values()
        for small in group
        for large in group
        if small < large
    ]
    value, *samples = np.mean(agree, axis=0)
    low, high = np.quantile(samples, [0.025, 0.975]) if samples else (np.nan, np.nan)
    return Claim(
        statement=statement,
        value=float(value),
        low=float(low),
        high=float(high),
        published="claimed",
        verdict=verdict(low, high, 0.5),
        why=f"{len(agree)} couples of sizes; tasks resampled, families taken as they are",
    )


# What the claims share ----------------------------------------------------------------------


def _count_interval(happened) -> tuple[float, float]:
    """95 % interval of how many cases happen, from [cases, n_boot] booleans, rounded outwards."""
    counts = np.sort(np.sum(happened, axis=0))
    if counts.size == 0:
        return np.nan, np.nan
    last = counts.size - 1
    return float(counts[int(0.025 * last)]), float(counts[int(np.ceil(0.975 * last))])


def _earlier(large, small):
    """1 where the large model crosses first, 0 where the small one, 1/2 for ties: [1 + n_boot]."""
    a = np.concatenate([[large.crossover.value], large.samples["crossover"]])
    b = np.concatenate([[small.crossover.value], small.samples["crossover"]])
    return (a < b) + 0.5 * (a == b)


def _rank_claim(studies, statement, printed, k, outcome_of, seed) -> Claim:
    """Spearman over comparisons of Tax_S(8) of 8 rollouts a task against an outcome of the rest."""
    needed = ESTIMATION_ROLLOUTS + k
    shortest = min(one.comparison.max_k for one in studies)
    if shortest < needed:
        why = f"needs {needed} rollouts of every task, the shortest has {shortest}"
        return not_tested(statement, printed, why)
    if len(studies) < 3:
        return not_tested(statement, printed, f"needs three comparisons, there are {len(studies)}")
    splits = split_taxes(studies, [k], seed=seed)
    y = np.array([outcome_of(split) for split in splits])
    if any(np.isnan(split.tax_est).any() for split in splits) or np.isnan(y).any():
        return not_tested(statement, printed, "Tax_S is undefined in some comparison (pass@1 = 1)")
    found = agreement(studies, splits, y, seed=seed)
    why = f"sd over splits {found.sd:.2f}; {found.partial:.2f} with the pass@1 gap partialled out"
    if np.isnan(found.low):
        why += (
            "; too few pairs for an interval, leaving one out gives "
            f"{found.least:.2f} to {found.most:.2f}"
        )
    return Claim(
        statement=f"{statement} (Spearman)",
        value=found.rho,
        low=found.low,
        high=found.high,
        published=printed,
        verdict=verdict(found.low, found.high, 0),
        why=why,
    )
