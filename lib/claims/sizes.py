"""The claims about model size: whether larger models cross earlier, and whether they pay more."""

import re
from collections.abc import Sequence

import numpy as np

from lib import metrics
from lib.claims import paper_tables
from lib.claims.claim import Claim, not_tested, verdict
from lib.claims.studies import FEWEST_PAIRS, Study
from lib.metrics import bootstrap


def size_of(pair: str) -> float:
    """The billions of parameters in a pair's name, the number before "B"; NaN without one.

    >>> size_of("Qwen3.5-35B-A3B"), size_of("gemma-4-E4B")
    (35.0, 4.0)
    """
    size = re.search(r"(\d+(?:\.\d+)?)B", pair)
    return float(size[1]) if size else np.nan


def larger_cross_earlier(studies: Sequence[Study]) -> Claim:
    """Within a family and benchmark, the larger of two pairs crosses at the smaller budget.

    The value is the share of such couples that agree, ties counting half; the size is `size_of`.
    Needs two families with three sizes each. Where a post-trained model is worse from the first
    attempt on (k* = 1) nothing is overtaken: that comparison is in no couple.
    """
    statement = "larger models cross earlier (share of couples within a family)"
    about = {
        "question": "size",
        "lead": True,
        "brief": "the larger model overtakes earlier in a share of",
    }
    families = paper_tables.table("model_pairs").set_index("pair")["family"]
    groups: dict[tuple, dict[float, Study]] = {}
    worse = [study.comparison.label for study in studies if study.tax.crossover.value == 1]
    note = f"; left out, worse from the start (k* = 1): {', '.join(worse)}" if worse else ""
    for study in studies:
        pair, size = study.comparison.pair, size_of(study.comparison.pair)
        if pair in families.index and not np.isnan(size) and study.tax.crossover.value > 1:
            groups.setdefault((families[pair], study.comparison.benchmark), {})[size] = study
    sizes: dict[str, int] = {}
    for (family, _), group in groups.items():
        sizes[family] = max(sizes.get(family, 0), len(group))
    if sum(count >= 3 for count in sizes.values()) < 2:
        seen = ", ".join(f"{family} {count}" for family, count in sizes.items()) or "none known"
        why = f"needs two families of three sizes; here, sizes by family: {seen}{note}"
        return not_tested(statement, "claimed", why, **about)
    agree = [
        _earlier(group[large].tax, group[small].tax)
        for group in groups.values()
        for small in group
        for large in group
        if small < large
    ]
    value, *samples = np.nanmean(agree, axis=0)
    low, high = bootstrap.percentile_interval(samples)
    return Claim(
        statement=statement,
        value=float(value),
        low=low,
        high=high,
        published="claimed",
        verdict=verdict(low, high, 0.5),
        why=f"{len(agree)} couples of sizes; tasks resampled, families taken as they are{note}",
        bound=0.5,
        **about,
    )


def _earlier(large, small):
    """1 where the large model crosses first, 0 where the small one, 1/2 for ties: [1 + n_boot].

    NaN in resamples where either is worse from the start, so that nothing is overtaken.
    """
    a = np.concatenate([[large.crossover.value], large.samples["crossover"]])
    b = np.concatenate([[small.crossover.value], small.samples["crossover"]])
    return np.where((a == 1) | (b == 1), np.nan, (a < b) + 0.5 * (a == b))


def tax_by_size(studies: Sequence[Study]) -> Claim:
    """Whether Tax_S(K) grows with the size of real model pairs: Spearman over pairs.

    A pair counts once, with the mean of its benchmarks. Pairs differ in more than their size, in
    family and recipe, so this describes them and says nothing of a cause.
    """
    K = studies[0].tax.K
    statement = f"Tax_S({K}) grows with the size of the model (Spearman over pairs)"
    about = {"question": "size", "lead": True, "brief": "rank correlation of Tax_S and size:"}
    known = set(paper_tables.table("model_pairs")["pair"])
    taxes: dict[str, list[float]] = {}
    for comparison, tax in studies:
        if comparison.pair in known and not np.isnan(tax.tax_S.value[-1]):
            taxes.setdefault(comparison.pair, []).append(float(tax.tax_S.value[-1]))
    if len({size_of(pair) for pair in taxes}) < 3:
        why = f"needs three sizes of known model pairs, there are {len(taxes)} pairs"
        return not_tested(statement, "not printed", why, **about)
    ordered = sorted(taxes, key=size_of)
    means = [float(np.mean(taxes[pair])) for pair in ordered]
    sizes = np.array([size_of(pair) for pair in ordered])
    rho = float(metrics.spearman(sizes[:, None], np.array(means)[:, None])[0])
    low = high = np.nan
    if len(ordered) >= FEWEST_PAIRS:
        low, high = _over_pairs(sizes, np.array(means))
    shown = ", ".join(f"{pair} {mean:.3f}" for pair, mean in zip(ordered, means, strict=True))
    few = "" if len(ordered) >= FEWEST_PAIRS else f"; fewer than {FEWEST_PAIRS} give no interval"
    return Claim(
        statement=statement,
        value=rho,
        low=low,
        high=high,
        published="not printed",
        verdict=verdict(low, high, 0),
        why=f"mean over benchmarks, by size: {shown}; {len(ordered)} pairs{few}",
        **about,
    )


def _over_pairs(sizes, means, n_boot=1000) -> tuple[float, float]:
    """Resampled pairs; a resample without two sizes or taxes has no rank order."""
    rhos = []
    for rows in bootstrap.cluster_resamples(range(len(sizes)), n_boot, np.random.default_rng(0)):
        if min(len(set(part[rows])) for part in (sizes, means)) > 1:
            rhos.append(metrics.spearman(sizes[rows][:, None], means[rows][:, None])[0])
    return bootstrap.percentile_interval(rhos)
