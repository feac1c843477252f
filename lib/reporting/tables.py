"""Tables for people of what measured comparisons come to."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import claims, metrics
from lib.claims import paper_tables
from lib.metrics.formatting import (
    crossover_with_interval,
    decimals,
    number,
    with_interval,
)


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
            f"gap at {K}": with_interval(tax.gap.at(K)),
            "k*": crossover_with_interval(tax.crossover) if K > 1 else "-",
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
            f"Tax_A({K})": with_interval(tax.tax_A.at(K), 2) if K > 1 else "-",
            "S base": number(tax.S_base.at(K).value, 4),
            "S post": number(tax.S_post.at(K).value, 4),
            f"Tax_S({K})": with_interval(tax.tax_S.at(K), 4),
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
                ranks = claims.agreement(studies, splits, outcome, seed=seed)
                rows.append({"rollouts": n_est, "Tax_S(8) against": target, **_agreement(ranks)})
    return pd.DataFrame(rows)


def _agreement(ranks: claims.Agreement) -> dict[str, str]:
    digits = decimals(ranks.low, ranks.high, 2)
    ends = (number(end, digits) for end in (ranks.low, ranks.high))
    return {
        "Spearman": number(ranks.rho, 2),
        "sd over splits": number(ranks.sd, 2),
        "pass@1 gap out": number(ranks.partial, 2),
        "95 % interval": "-" if np.isnan(ranks.low) else " to ".join(ends),
        "one pair left out": f"{number(ranks.least, 2)} to {number(ranks.most, 2)}",
    }


def agreement_points(
    studies: Sequence[claims.Study], splits: Sequence[metrics.SplitTaxes], outcome
) -> pd.DataFrame:
    """A row a comparison for `plotting.plot_agreement`: Tax_S(8) and outcome, mean and sd."""
    return pd.DataFrame(
        {
            "pair": study.comparison.pair,
            "benchmark": study.comparison.benchmark,
            "x": np.nanmean(split.tax_est),
            "x_sd": np.nanstd(split.tax_est),
            "y": np.nanmean(values),
            "y_sd": np.nanstd(values),
        }
        for study, split, values in zip(studies, splits, outcome, strict=True)
    )


def settings_table(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row a setting, the pair without its seed: runs, how many pay, mean taxes at K."""
    rows = pd.DataFrame(
        {
            "environment": comparison.benchmark,
            "setting": comparison.pair.rpartition(" seed ")[0] or comparison.pair,
            "pays": tax.tax_S.value[-1] > 0,
            "Tax_A": tax.tax_A.value[-1],
            "Tax_S": tax.tax_S.value[-1],
        }
        for comparison, tax in studies
    )
    settings = rows.groupby(["environment", "setting"], sort=False)
    return settings.agg(
        runs=("pays", "size"),
        pays=("pays", "sum"),
        mean_tax_A=("Tax_A", "mean"),
        mean_tax_S=("Tax_S", "mean"),
    ).round(4)


def headline_table(
    wanted: Mapping[str, tuple[str, str, int]], studies: Sequence[claims.Study]
) -> pd.DataFrame:
    """A row a headline of the paper: what it is, as printed, and what the studies give.

    wanted: its id in headline_claims.csv -> label of the comparison, name of the band of its tax,
    and budget. "not in these data" where the comparison or the budget is missing.
    """
    taxes = {study.comparison.label: study.tax for study in studies}
    statements = paper_tables.table("headline_claims").set_index("id")["statement"]
    rows = []
    for name, (label, band, k) in wanted.items():
        tax, here = taxes.get(label), "not in these data"
        if tax is not None and k <= tax.K:
            value = getattr(tax, band).at(k)
            share = band.startswith("coverage")
            here = f"{value.value:.1%}" if share else with_interval(value, 4 if "S" in band else 2)
        printed = paper_tables.headline(name).printed
        rows.append({"headline": statements[name], "paper": printed, "here": here})
    return pd.DataFrame(rows)


def budget_table(tax: metrics.SharpeningTax) -> pd.DataFrame:
    """A row a budget, 1, 2, 4 ... K: both arms' coverage and consistency, gap, tax."""
    budgets = sorted({2**i for i in range(tax.K.bit_length()) if 2**i <= tax.K} | {tax.K})
    return pd.DataFrame(
        {
            "k": k,
            "pass@k base": with_interval(tax.coverage_base.at(k)),
            "pass@k post": with_interval(tax.coverage_post.at(k)),
            "pass^k base": with_interval(tax.consistency_base.at(k)),
            "pass^k post": with_interval(tax.consistency_post.at(k)),
            "gap": with_interval(tax.gap.at(k)),
            "Tax_A": with_interval(tax.tax_A.at(k), 2)
            if k > 1
            else "-",  # 0 by definition, not measured
            "Tax_S": with_interval(tax.tax_S.at(k), 4),
        }
        for k in budgets
    )


def _by_comparison(studies, columns) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "benchmark": study.comparison.benchmark,
            "pair": study.comparison.pair,
            **columns(study.tax),
        }
        for study in studies
    )
