"""What a picture shows, as its title: a sentence computed from the numbers that are drawn."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import metrics
from lib.metrics import MARGIN
from lib.metrics.formatting import number, side


def opening_title(tax: metrics.SharpeningTax) -> str:
    """Who solves more at the first and at the last budget, with both shares.

    A lead whose interval reaches over 0 is called within chance.
    """
    first = _ahead(tax, 0)
    if tax.K == 1:
        return f"With one attempt {first}"
    last = _ahead(tax, -1)
    return f"With one attempt {first};\nwith {tax.K} attempts {last}"


def _ahead(tax, at: int) -> str:
    base, post = tax.coverage_base.value[at], tax.coverage_post.value[at]
    if abs(base - post) <= MARGIN:
        return f"both solve {base:.0%}"
    ahead = "the base" if base > post else "the post-trained model"
    _, low, high = tax.gap.at(1 if at == 0 else tax.K)
    chance = " (within chance)" if not np.isnan(low) and side(low, high) == 0 else ""
    return f"{ahead} is ahead, {max(base, post):.0%} to {min(base, post):.0%}{chance}"


def crossover_title(tax: metrics.SharpeningTax) -> str:
    """From which number of attempts the base is ahead, and how sure that is.

    The interval of the crossover decides: one that reaches "not within K" says so.
    """
    k, low, high, _ = tax.crossover
    if tax.K == 1:
        return "one attempt: no crossover to see"
    if np.isinf(k):
        title, certain = f"base not ahead within {tax.K}", np.isinf(low)
    else:
        title = f"base ahead from {f'{k:.0f} attempts' if k > 1 else 'the first attempt'}"
        certain = high <= 1 if k == 1 else np.isfinite(high)
    if np.isnan(low):
        return f"{title}, no interval"
    return title if certain else f"{title}, uncertain"


def kinds_title(benchmark: str, kinds: pd.DataFrame) -> str:
    """How the shares of tasks never and always solved change, means over the pairs.

    kinds: as `figure_rows.task_kinds` makes them, of one benchmark.
    """
    means = kinds.groupby("arm")[["never", "always"]].mean()
    changes = [
        f"{kind} {means.loc['base', kind]:.0%} → {means.loc['post', kind]:.0%}"
        for kind in ("never", "always")
    ]
    return f"{benchmark}: {', '.join(changes)}"


def shifts_title(name: str, rows: pd.DataFrame) -> str:
    """In how many rows a rate rose, fell, or changed within chance.

    rows: as `figure_rows` makes them, with the change in `low` and `high`.
    """
    sides = [side(*ends) for ends in zip(rows["low"], rows["high"], strict=True)]
    return f"{name}: {_counts_of(sides, 'up', 'down')}"


def tax_title(name: str, rows: pd.DataFrame) -> str:
    """In how many comparisons the tax is certainly positive, certainly negative, or neither.

    rows: columns value, low, high; an undefined value is counted apart.
    """
    defined = rows[rows["value"].notna()]
    undefined = len(rows) - len(defined)
    sides = [side(*ends) for ends in zip(defined["low"], defined["high"], strict=True)]
    counts = _counts_of(sides, "positive", "negative") if sides else ""
    parts = [counts] * bool(counts) + [f"{undefined} undefined"] * bool(undefined)
    return f"{name}: {', '.join(parts)}"


def _counts_of(sides, above, below) -> str:
    counts = {above: sides.count(1), below: sides.count(-1), "undecided": sides.count(0)}
    shown = [f"{count} {word}" for word, count in counts.items() if count]
    return f"{', '.join(shown)}" + (f" of {len(sides)}" if len(shown) == 1 else "")


def agreement_title(where: str, count: int, rho: float) -> str:
    """Where, over how many comparisons, and the rank correlation.

    >>> agreement_title("sokoban", 56, 0.18)
    'sokoban, 56 comparisons: ρ = 0.18'
    """
    return f"{where}, {count} comparisons: ρ = {number(rho, 2)}"


def pooled_against_within(pooled: float, within: dict[str, float]) -> str:
    """Whether a rank correlation over all groups also stands within each, in a sentence.

    within: group -> its own correlation; groups too small for one are left out.
    """
    shown = ", ".join(f"{number(rho, 2)} within {name}" for name, rho in within.items())
    if not within or np.isnan(pooled):
        return "No group is large enough for a correlation of its own."
    if pooled > 0 and max(within.values()) < pooled / 2:
        reason = (
            "much of the pooled one is differences between the environments. Within one the runs "
            "share a base and its tasks and differ little, so there is little to rank"
        )
    else:
        reason = "the pooled one is not only differences between the environments"
    return f"ρ is {number(pooled, 2)} pooled, {shown}: {reason}."


def sizes_title(rows: pd.DataFrame) -> str:
    """Whether size can be told apart from family: that takes families of several sizes.

    rows: as `figure_rows.sizes_of_pairs` makes them.
    """
    sizes = rows.groupby("family")["size"].nunique()
    several = int((sizes >= 2).sum())
    if several == 0:
        return f"{len(sizes)} families, one size each: size cannot be told apart from family"
    couples = [
        (small.value, large.value)
        for _, part in rows.dropna(subset="value").groupby(["family", "benchmark"])
        for small in part.itertuples()
        for large in part.itertuples()
        if small.size < large.size
    ]
    more = sum(small < large for small, large in couples)
    return f"The larger of two models of a family pays more in {more} of {len(couples)} couples"


def floor_sentence(rates: pd.DataFrame, K: int) -> str:
    """How often the best condition of each model succeeds, and whether that is a floor.

    rates: as `lib.claims.harness_rates.rates` makes them at K.
    """
    parts = []
    for model, part in rates.groupby("pair", sort=False):
        best = max(band.value for band in part[f"pass@{K}"])
        parts.append(f"{model} solves at most {best:.1%} of the tasks in {K} attempts")
    floor = all(band.value < 0.05 for band in rates[f"pass@{K}"])
    verdict = ": a floor, on which conditions cannot be compared" if floor else ""
    return f"In its best condition {'; '.join(parts)}{verdict}."


def harness_sentence(paper: pd.DataFrame) -> str:
    """On which benchmarks of the printed table the harness helps a base, and on which not.

    paper: columns benchmark, metric, without_harness, with_harness.
    """
    gains = (paper["with_harness"] - paper["without_harness"]).groupby(paper["benchmark"])
    helped = [name for name, gain in gains if (gain > 0).all()]
    others = [name for name, gain in gains if not (gain > 0).all()]
    parts = [f"it helps on {_and(helped)}"] * bool(helped)
    parts += [f"not on {_and(others)}"] * bool(others)
    return f"As printed, {', '.join(parts)}."


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
