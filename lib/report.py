"""What measured comparisons come to, as tables, and the one-page report on two arms."""

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib import ROOT, claims, metrics, outcomes, plotting


def save_figure(figure: Figure, name: str, figures_dir: str | None) -> None:
    """Save a figure as NAME.png and NAME.svg, the same bytes for the same picture.

    figures_dir: a folder, relative to the root of the checkout; None saves nothing.
    """
    if figures_dir is None:
        return
    folder = ROOT / figures_dir
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


# Tables -------------------------------------------------------------------------------------------


def crossover_table(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row a comparison: accuracy, coverage and its gap, and where the base overtakes."""
    K = studies[0].tax.K
    return _by_comparison(
        studies,
        lambda tax: {
            "pass@1 base": _number(tax.coverage_base.at(1).value),
            "pass@1 post": _number(tax.coverage_post.at(1).value),
            f"pass@{K} base": _number(tax.coverage_base.at(K).value),
            f"pass@{K} post": _number(tax.coverage_post.at(K).value),
            f"gap at {K}": shown(tax.gap.at(K)),
            "k*": _crossover(tax.crossover),
            "P(cross)": f"{tax.crossover.probability:.2f}",
        },
    )


def tax_table(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row a comparison: A, S and the tax at K, with 95 % intervals of the taxes."""
    K = studies[0].tax.K
    return _by_comparison(
        studies,
        lambda tax: {
            "A base": f"{tax.A_base.at(K).value:.2f}",
            "A post": f"{tax.A_post.at(K).value:.2f}",
            f"Tax_A({K})": shown(tax.tax_A.at(K), 2),
            "S base": f"{tax.S_base.at(K).value:.4f}",
            "S post": f"{tax.S_post.at(K).value:.4f}",
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
                    "always fail": kinds.always_fail,
                    "pass given compute": kinds.given_compute,
                    "always pass": kinds.always_pass,
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
    interval = "-" if np.isnan(found.low) else f"{found.low:.2f} to {found.high:.2f}"
    return {
        "Spearman": f"{found.rho:.2f}",
        "sd over splits": f"{found.sd:.2f}",
        "pass@1 gap out": f"{found.partial:.2f}",
        "95 % interval": interval,
        "one pair left out": f"{found.least:.2f} to {found.most:.2f}",
    }


def agreement_points(
    studies: Sequence[claims.Study], splits: Sequence[metrics.SplitTaxes], outcome
) -> pd.DataFrame:
    """A row a comparison for `plotting.plot_agreement`: x = Tax_S(8), y, means over splits."""
    return pd.DataFrame(
        {
            "pair": [one.comparison.pair for one in studies],
            "benchmark": [one.comparison.benchmark for one in studies],
            "x": [split.tax_est.mean() for split in splits] or np.nan,
            "y": [values.mean() for values in outcome] or np.nan,
        }
    )


def budget_table(tax: metrics.SharpeningTax) -> pd.DataFrame:
    """A row a budget, 1, 2, 4 ... K: coverage and consistency of both arms, and the tax."""
    budgets = sorted({2**i for i in range(tax.K.bit_length()) if 2**i <= tax.K} | {tax.K})
    return pd.DataFrame(
        {
            "k": k,
            "pass@k base": shown(tax.coverage_base.at(k)),
            "pass@k post": shown(tax.coverage_post.at(k)),
            "pass^k base": shown(tax.consistency_base.at(k)),
            "pass^k post": shown(tax.consistency_post.at(k)),
            "Tax_A": shown(tax.tax_A.at(k), 2),
            "Tax_S": shown(tax.tax_S.at(k), 4),
        }
        for k in budgets
    )


def shown(band: metrics.Band, digits: int = 3) -> str:
    """An estimate and its interval as text; a dash where it is undefined.

    >>> shown(metrics.Band(0.0732, 0.0464, 0.1))
    '0.073 [0.046, 0.100]'
    """
    if np.isnan(band.value):
        return "-"
    value, low, high = (_number(part, digits) for part in band)
    return value if np.isnan(band.low) else f"{value} [{low}, {high}]"


def _number(value, digits=3) -> str:
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _crossover(found: metrics.Crossover) -> str:
    text = [f"{k:.0f}" if np.isfinite(k) else "none" for k in found[:3]]
    return text[0] if np.isnan(found.low) else f"{text[0]} [{text[1]}, {text[2]}]"


def _by_comparison(studies, columns) -> pd.DataFrame:
    return pd.DataFrame(
        {"benchmark": one.comparison.benchmark, "pair": one.comparison.pair, **columns(one.tax)}
        for one in studies
    )


# The one-page report ------------------------------------------------------------------------------


def write_report(
    base: str | Path, post: str | Path, *, max_k: int | None = None, out: str | Path
) -> Path:
    """Write `report.md` and a figure for each comparison into the folder `out`; return the page.

    base, post: files of outcomes as `outcomes.read` takes them, one an arm (or one file with both
    arms, given twice). max_k: the largest budget; None takes the largest that every task allows.
    Raises OutcomesError for input that cannot be read, or has no task in common.
    """
    out = Path(out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", outcomes.OutcomesWarning)
        arms = [_one_arm(path, arm) for path, arm in ((base, "base"), (post, "post"))]
    told = [
        str(one.message) for one in caught if issubclass(one.category, outcomes.OutcomesWarning)
    ]
    found = outcomes.comparisons(pd.concat(_same_names(*arms), ignore_index=True))
    out.mkdir(parents=True, exist_ok=True)
    plotting.use_house_style()
    pages = []
    for comparison in found:
        tax = comparison.tax(max_k or comparison.max_k)
        name = re.sub(r"[^\w.-]+", "-", f"{comparison.pair}-{comparison.benchmark}")
        figure = _figure(comparison, tax)
        figure.savefig(out / f"{name}.png", metadata={"Software": None})
        plt.close(figure)
        pages.append(_section(comparison, tax, f"{name}.png"))
    page = out / "report.md"
    heading = f"# Sharpening Tax: {Path(base).name} against {Path(post).name}\n"
    general = _list("Warnings", told)
    page.write_text("\n".join([heading, *general, *pages]) + "\n", encoding="utf-8")
    return page


def _one_arm(path, arm) -> pd.DataFrame:
    """The rows of one arm in a file, counted: those named so, or all where there is one arm."""
    table = outcomes.counts(outcomes.read(path, arm=arm, pair=_stem(path)))
    names = list(dict.fromkeys(table["arm"]))
    if len(names) == 1:
        return table.assign(arm=arm)
    if arm not in names:
        raise outcomes.OutcomesError(
            f"{path}: arms {', '.join(names)}; expected one arm only, or one named {arm!r}."
        )
    return table[table["arm"] == arm]


def _stem(path) -> str:
    return Path(path).name.split(".")[0]


def _same_names(base, post):
    """Two files of one pair each are compared, whatever they call it."""
    names = [list(dict.fromkeys(arm["pair"])) for arm in (base, post)]
    if len(names[0]) == len(names[1]) == 1 and names[0] != names[1]:
        pair = f"{names[0][0]} to {names[1][0]}"
        return base.assign(pair=pair), post.assign(pair=pair)
    return base, post


def _figure(comparison, tax) -> Figure:
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.6))
    plotting.plot_coverage(tax, ax=axes[0]).set_title("Coverage, 95 % bands")
    plotting.plot_consistency(tax, ax=axes[1]).set_title("Consistency, 95 % bands")
    plotting.plot_success_rates(comparison.base, comparison.post, ax=axes[2])
    axes[2].set_title("Tasks by observed success")
    axes[2].legend()
    return figure


def _section(comparison, tax, picture) -> str:
    K = tax.K
    tasks = len(comparison.base.c) if tax.paired else "histogram of"
    verdict = claims.verdict(*tax.tax_S.at(K)[1:], 0)
    said = {
        "holds": "the post-trained policy pays",
        "contradicted": "the post-trained policy gains coverage per room left; nothing is paid",
        "undecided": "undecided: the interval includes zero, or is undefined",
    }[verdict]
    one = [claims.Study(comparison, tax)]
    return "\n".join(
        [
            f"## {comparison.label}\n",
            f"Tax_S({K}) = {shown(tax.tax_S.at(K), 4)}, Tax_A({K}) = {shown(tax.tax_A.at(K), 2)}: "
            f"{said}. The base overtakes at k* = {_crossover(tax.crossover)} "
            f"(in {tax.crossover.probability:.0%} of resamples within {K}). {tasks} tasks; "
            "brackets are 95 % intervals from a task bootstrap.\n",
            f"![coverage, consistency and success rates of both arms]({picture})\n",
            budget_table(tax).to_markdown(index=False, disable_numparse=True) + "\n",
            category_table(one).drop(columns=["benchmark", "pair"]).to_markdown(index=False) + "\n",
            "Never and always describe the rollouts observed, not what is impossible or certain.\n",
            *_list("Notes", tax.notes),
            *_list("Warnings", _doubts(comparison, K)),
            *_list("Dropped tasks", _dropped(comparison)),
        ]
    )


def _doubts(comparison, K) -> list[str]:
    found = []
    cells = {"base": comparison.base, "post": comparison.post}
    for arm, cell in cells.items():
        least, most = int(np.min(cell.n)), int(np.max(cell.n))
        if least != most:
            found.append(
                f"{arm}: tasks have between {least} and {most} scored attempts; every task weighs "
                f"the same, and budgets end at K = {K}"
            )
        if missing := comparison.missing[arm]:
            scored = int(np.sum(cell.n))
            found.append(
                f"{arm}: {missing} attempts without a score count as neither success nor failure; "
                f"{scored} of {scored + missing} were scored ({scored / (scored + missing):.1%})"
            )
    most = {arm: int(np.max(cell.n)) for arm, cell in cells.items()}
    if most["base"] != most["post"]:
        found.append(
            f"the arms differ in attempts a task: base {most['base']}, post {most['post']}"
        )
    return found


def _dropped(comparison) -> list[str]:
    return [
        f"{len(rows)} in {arm} ({why}): {', '.join(rows['task'][:10])}{' ...' * (len(rows) > 10)}"
        for (arm, why), rows in comparison.dropped.groupby(["arm", "why"])
    ]


def _list(title, lines) -> list[str]:
    return [f"**{title}**\n", *(f"- {line}" for line in lines), ""] if lines else []
