"""What measured comparisons come to, as tables for people, and what to know before reading them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import claims, metrics, outcomes


def crossover_table(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row a comparison: accuracy, coverage and its gap, and where the base overtakes."""
    K = studies[0].tax.K
    return _by_comparison(
        studies,
        lambda tax: {
            "pass@1 base": number(tax.coverage_base.at(1).value),
            "pass@1 post": number(tax.coverage_post.at(1).value),
            f"pass@{K} base": number(tax.coverage_base.at(K).value),
            f"pass@{K} post": number(tax.coverage_post.at(K).value),
            f"gap at {K}": shown(tax.gap.at(K)),
            "k*": shown_crossover(tax.crossover) if K > 1 else "-",
            "P(cross)": number(tax.crossover.probability, 2) if K > 1 else "-",
        },
    )


def tax_table(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row a comparison: A, S and the tax at K, with 95 % intervals of the taxes."""
    K = studies[0].tax.K
    return _by_comparison(
        studies,
        lambda tax: {
            "A base": number(tax.A_base.at(K).value, 2) if K > 1 else "-",
            "A post": number(tax.A_post.at(K).value, 2) if K > 1 else "-",
            f"Tax_A({K})": shown(tax.tax_A.at(K), 2) if K > 1 else "-",
            "S base": number(tax.S_base.at(K).value, 4),
            "S post": number(tax.S_post.at(K).value, 4),
            f"Tax_S({K})": shown(tax.tax_S.at(K), 4),
        },
    )


def category_table(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row an arm: how many tasks succeeded never, sometimes, always in the rollouts observed."""
    rows = []
    for comparison, _ in studies:
        for arm, cell in (("base", comparison.base), ("post", comparison.post)):
            kinds = metrics.task_categories(cell.c, cell.n, cell.tasks)
            rows.append(
                {
                    "benchmark": comparison.benchmark,
                    "pair": comparison.pair,
                    "arm": arm,
                    "never": kinds.always_fail,
                    "sometimes": kinds.given_compute,
                    "always": kinds.always_pass,
                    "at the extremes": f"{kinds.extremes:.2f}",
                }
            )
    return pd.DataFrame(rows)


def agreement_table(
    studies: Sequence[claims.Study], *, budgets: Sequence[int] = (32, 64), seed: int = 0
) -> pd.DataFrame:
    """How Tax_S(8) from 8 and from 16 rollouts a task agrees in rank with what the others say.

    A row a pair of quantities; budgets that the rollouts left for validation do not allow are left
    out. Columns as in `claims.Agreement`.
    """
    rollouts = min(comparison.max_k for comparison, _ in studies)
    rows = []
    for n_est in (8, 16):
        feasible = [k for k in (8, *budgets) if k <= rollouts - n_est]
        splits = claims.split_taxes(studies, feasible, n_est=n_est, seed=seed) if feasible else []
        for i, k in enumerate(feasible):
            targets = {f"pass^{k} post - base": [split.consistency_gap[:, i] for split in splits]}
            if k > 8:
                targets = {f"Tax_S({k})": [split.tax_val[:, i] for split in splits]} | targets
            for target, outcome in targets.items():
                found = claims.agreement(studies, splits, outcome, seed=seed)
                rows.append({"rollouts": n_est, "Tax_S(8) against": target, **_agreement(found)})
    return pd.DataFrame(rows)


def _agreement(found: claims.Agreement) -> dict[str, str]:
    digits = claims.decimals(found.low, found.high, 2)
    ends = (number(end, digits) for end in (found.low, found.high))
    return {
        "Spearman": number(found.rho, 2),
        "sd over splits": number(found.sd, 2),
        "pass@1 gap out": number(found.partial, 2),
        "95 % interval": "-" if np.isnan(found.low) else " to ".join(ends),
        "one pair left out": f"{number(found.least, 2)} to {number(found.most, 2)}",
    }


def agreement_points(
    studies: Sequence[claims.Study], splits: Sequence[metrics.SplitTaxes], outcome
) -> pd.DataFrame:
    """A row a comparison for `plotting.plot_agreement`: Tax_S(8) and outcome, mean and sd."""
    return pd.DataFrame(
        {
            "pair": one.comparison.pair,
            "benchmark": one.comparison.benchmark,
            "x": np.nanmean(split.tax_est),
            "x_sd": np.nanstd(split.tax_est),
            "y": np.nanmean(values),
            "y_sd": np.nanstd(values),
        }
        for one, split, values in zip(studies, splits, outcome, strict=True)
    )


def budget_table(tax: metrics.SharpeningTax) -> pd.DataFrame:
    """A row a budget, 1, 2, 4 ... K: both arms' coverage and consistency, gap, tax."""
    budgets = sorted({2**i for i in range(tax.K.bit_length()) if 2**i <= tax.K} | {tax.K})
    return pd.DataFrame(
        {
            "k": k,
            "pass@k base": shown(tax.coverage_base.at(k)),
            "pass@k post": shown(tax.coverage_post.at(k)),
            "pass^k base": shown(tax.consistency_base.at(k)),
            "pass^k post": shown(tax.consistency_post.at(k)),
            "gap": shown(tax.gap.at(k)),
            "Tax_A": shown(tax.tax_A.at(k), 2) if k > 1 else "-",  # 0 by definition, not measured
            "Tax_S": shown(tax.tax_S.at(k), 4),
        }
        for k in budgets
    )


def shown(band: metrics.Band, digits: int = 3) -> str:
    """An estimate and its interval as text; a dash where it is undefined.

    digits: decimals, or more where an end of the interval that is off zero would else be shown as
    zero.

    >>> shown(metrics.Band(0.0732, 0.0464, 0.1)), shown(metrics.Band(0.01, 0.0002, 0.019))
    ('0.073 [0.046, 0.100]', '0.0100 [0.0002, 0.0190]')
    """
    if np.isnan(band.value):
        return "-"
    digits = claims.decimals(band.low, band.high, digits)
    value, low, high = (number(part, digits) for part in band)
    return value if np.isnan(band.low) else f"{value} [{low}, {high}]"


def number(value: float, digits: int = 3) -> str:
    """A number as text; a dash where it is undefined, and no minus before a zero."""
    if np.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def shown_crossover(found: metrics.Crossover) -> str:
    """k* and its interval as text, none for nowhere within K."""
    text = [f"{k:.0f}" if np.isfinite(k) else "none" for k in found[:3]]
    return text[0] if np.isnan(found.low) else f"{text[0]} [{text[1]}, {text[2]}]"


def _by_comparison(studies, columns) -> pd.DataFrame:
    return pd.DataFrame(
        {"benchmark": one.comparison.benchmark, "pair": one.comparison.pair, **columns(one.tax)}
        for one in studies
    )


def remarks(studies: Sequence[claims.Study]) -> list[str]:
    """What a reader must know of the data: undefined values, dropped tasks, missing attempts ...

    One line each, none twice.
    """
    lines = []
    for comparison, tax in studies:
        lines += tax.notes
        about = "" if len(studies) == 1 else f"{comparison.label}: "
        lines += [about + line for line in doubts(comparison, tax.K) + dropped(comparison)]
    return list(dict.fromkeys(lines))


def doubts(comparison: outcomes.Comparison, K: int) -> list[str]:
    """Unequal and missing attempts of a comparison, one line each."""
    found = []
    for arm, cell in (("base", comparison.base), ("post", comparison.post)):
        n, names = np.asarray(cell.n), cell.names
        if n.min() != n.max():
            shortest = f", the fewest at {names[int(n.argmin())]!r}" if names else ""
            found.append(
                f"{arm}: tasks have {n.min()} to {n.max()} scored attempts{shortest}; all weigh "
                f"the same, and budgets end at K = {K}"
            )
        if missing := comparison.missing[arm]:
            scored = int(np.sum(n if cell.tasks is None else n * cell.tasks))
            found.append(
                f"{arm}: attempts without a score, neither success nor failure: {missing} "
                f"of {scored + missing}, so {scored / (scored + missing):.1%} were scored"
            )
    most = {"base": np.max(comparison.base.n), "post": np.max(comparison.post.n)}
    if most["base"] != most["post"]:
        found.append(f"attempts a task differ: base {most['base']}, post {most['post']}")
    return found


def dropped(comparison: outcomes.Comparison) -> list[str]:
    """Tasks left out of a comparison, a line a reason."""
    return [
        f"left out, {why} in {arm}: {', '.join(rows['task'][:10])}"
        + (f" and {len(rows) - 10} more tasks" if len(rows) > 10 else "")
        for (arm, why), rows in comparison.dropped.groupby(["arm", "why"])
    ]
