"""What a measured comparison says, in sentences: its headline, and what limits it."""

from collections.abc import Sequence

import numpy as np

from lib import claims, metrics, outcomes
from lib.metrics.formatting import crossover_with_interval, side, with_interval
from lib.reporting.comparison_answer import percents


def headline(tax: metrics.SharpeningTax) -> list[str]:
    """What happened to pass@1, to coverage at K and to the tax: a line each.

    All differences are base minus post, as the tax is.
    """
    K, gap = tax.K, tax.gap
    lines = [f"pass@1 {_change(gap.at(1))}: base minus post is {with_interval(gap.at(1))}."]
    if K == 1:
        return [*lines, "With one attempt a task there is no coverage gap, crossover or tax."]
    lines.append(
        f"Coverage pass@{K} {_change(gap.at(K))}: base minus post is "
        f"{with_interval(gap.at(K))}. {_crossing(tax)}."
    )
    taxes = (
        f"Tax_S({K}) = {with_interval(tax.tax_S.at(K), 4)}, "
        f"Tax_A({K}) = {with_interval(tax.tax_A.at(K), 2)}"
    )
    return [*lines, f"{taxes}: {'; '.join([_sign_of_tax(tax), *_meaning(tax)])}."]


def many_intervals(studies: Sequence[claims.Study]) -> str | None:
    """What to keep in mind where intervals are many; None where there are few."""
    certain = sum(np.isfinite(study.tax.gap.at(study.tax.K).low) for study in studies)
    if certain < 5:
        return None
    return (
        f"Each of the {certain} intervals holds 95 % of the time on its own: where nothing had "
        f"changed, about {0.05 * certain:.1f} of them would still exclude zero."
    )


def remarks(studies: Sequence[claims.Study]) -> list[str]:
    """What limits the comparisons: undefined values, tasks left out, missing attempts.

    A line each, none twice.
    """
    lines = []
    for comparison, tax in studies:
        lines += tax.notes
        where = "" if len(studies) == 1 else f"{comparison.label}: "
        limits = attempts_remarks(comparison, tax.K) + dropped_remarks(comparison)
        lines += [where + line for line in limits]
    return list(dict.fromkeys(lines))


def attempts_remarks(comparison: outcomes.Comparison, K: int) -> list[str]:
    """Unequal and missing attempts of a comparison, a line each."""
    lines = []
    for arm, cell in (("base", comparison.base), ("post", comparison.post)):
        n, names = np.asarray(cell.n), cell.names
        if n.min() != n.max():
            fewest = f", the fewest at {names[int(n.argmin())]!r}" if names else ""
            lines.append(
                f"{arm}: tasks have {n.min()} to {n.max()} scored attempts{fewest}; all weigh "
                f"the same, and budgets end at K = {K}"
            )
        if missing := comparison.missing[arm]:
            scored = int(np.sum(n if cell.tasks is None else n * cell.tasks))
            lines.append(
                f"{arm}: attempts without a score, neither success nor failure: {missing} "
                f"of {scored + missing}, so {scored / (scored + missing):.1%} were scored"
            )
    most = {"base": np.max(comparison.base.n), "post": np.max(comparison.post.n)}
    if most["base"] != most["post"]:
        lines.append(f"attempts a task differ: base {most['base']}, post {most['post']}")
    return lines


def dropped_remarks(comparison: outcomes.Comparison) -> list[str]:
    """Tasks left out of a comparison, a line a reason."""
    return [
        f"left out, {why} in {arm}: {', '.join(rows['task'][:10])}"
        + (f" and {len(rows) - 10} more tasks" if len(rows) > 10 else "")
        for (arm, why), rows in comparison.dropped.groupby(["arm", "why"])
    ]


def _change(band) -> str:
    """The verb for base minus post; only an interval that excludes zero makes it certain."""
    if band.value == 0:
        return "is the same"
    verb = "rose" if band.value < 0 else "fell"
    if np.isnan(band.low):
        return f"{verb}, without an interval"
    return verb if side(band.low, band.high) else f"{verb}, within chance"


def _sign_of_tax(tax) -> str:
    """What the interval of Tax_S says: it compares how two curves climb, not how high they are."""
    value, low, high = tax.tax_S.at(tax.K)
    if np.isnan(value):
        return "Tax_S is undefined, for the reason below"
    if np.isnan(low):
        return "Tax_S has no interval, for the reason below"
    return {
        1: "by Tax_S, more attempts buy the post-trained arm less than the base (positive)",
        -1: "by Tax_S, more attempts buy the post-trained arm more than the base (negative)",
        0: "by Tax_S undecided, since its interval includes zero",
    }[side(low, high)]


def _meaning(tax) -> list[str]:
    """What a positive or negative tax means, given both arms' pass@1 and coverage."""
    value, gap, clauses = tax.tax_S.at(tax.K).value, tax.gap, []
    if value > 0 and (gap.value <= metrics.MARGIN).all():
        clauses.append(
            "positive only because its curve is flatter: it covers at least as much at every k"
        )
    if value < 0 and (gap.value >= -metrics.MARGIN).all():
        clauses.append("negative only because its curve is steeper: it covers no more at any k")
    if value > 0 and gap.at(1).value >= -metrics.MARGIN:
        clauses.append("pass@1 did not rise, so nothing was bought")
    _, *last = gap.at(tax.K)
    _, *first = gap.at(1)
    if value > 0 and side(*last) == 1 and side(*first) == -1:
        clauses.append("post-training paid for pass@1 with coverage")
    return clauses


def _crossing(tax) -> str:
    """Where the base overtakes."""
    start, probability = tax.crossover.value, tax.crossover.probability
    shown = crossover_with_interval(tax.crossover)
    if start == 1:
        return (
            f"The base is ahead from the first attempt on, k* = {shown}: the post-trained arm is "
            "worse from the start, and nothing to overtake"
        )
    often = (
        "" if np.isnan(probability) else f" (in {percents(probability)[0]} of resamples it does)"
    )
    if not np.isfinite(start):
        return f"The base does not overtake within {tax.K} attempts{often}"
    return f"The base is ahead from k* = {shown} on{often}"
