"""What pictures of many comparisons draw: tables with the columns that `lib.plotting` names."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import claims, metrics
from lib.claims import harness_rates, paper_tables
from lib.claims.sizes import size_of
from lib.metrics.formatting import with_interval


def task_kinds(studies: Sequence[claims.Study]) -> pd.DataFrame:
    """A row an arm: the shares of tasks that succeeded never, sometimes, always (they sum to 1)."""
    rows = []
    for comparison, _ in studies:
        for arm, cell in (("base", comparison.base), ("post", comparison.post)):
            kinds = metrics.task_categories(cell.c, cell.n, cell.tasks)
            counts = np.array([kinds.always_fail, kinds.given_compute, kinds.always_pass])
            shares = dict(zip(("never", "sometimes", "always"), counts / counts.sum(), strict=True))
            cell_of = {"benchmark": comparison.benchmark, "pair": comparison.pair, "arm": arm}
            rows.append(cell_of | shares)
    return pd.DataFrame(rows)


def consistency_shifts(studies: Sequence[claims.Study], k: int) -> pd.DataFrame:
    """A row a comparison for `plotting.plot_shift`: pass^k of both arms.

    `low` and `high` bound the difference from outside: both intervals' far ends, subtracted.
    """
    rows = []
    for comparison, tax in studies:
        before, after = tax.consistency_base.at(k), tax.consistency_post.at(k)
        rows.append(
            {"benchmark": comparison.benchmark, "label": comparison.pair}
            | _ends(before, after)
            | {"note": f"{after.value - before.value:+.2f}"}
            | {"low": after.low - before.high, "high": after.high - before.low}
        )
    return pd.DataFrame(rows)


def harness_shifts(
    table: pd.DataFrame, without: str, having: str, k: int, *, n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """A row a model for `plotting.plot_shift`: pass@k without and with the harness, tasks paired.

    table: outcomes whose arms are conditions. Models without both conditions are left out. `low`
    and `high` are the ends of the lift's 95 % interval.
    """
    rows = []
    for pair, cells in table.groupby("pair", sort=False):
        if not {without, having} <= set(cells["arm"]):
            continue
        rates = harness_rates.rates(cells, k, n_boot=n_boot, seed=seed).set_index("condition")
        lift = harness_rates.lift(cells, pair, without, having, k, n_boot=n_boot, seed=seed)
        before, after = (rates.loc[arm, f"pass@{k}"] for arm in (without, having))
        rows.append(
            {"label": pair}
            | _ends(before, after)
            | {
                "note": "+" * (lift.value > 0) + with_interval(lift),
                "low": lift.low,
                "high": lift.high,
            }
        )
    columns = ["label", "before", "after", "note", "low", "high"]
    return pd.DataFrame(rows, columns=None if rows else columns)


def _ends(before, after) -> dict[str, float]:
    return {
        "before": before.value,
        "before_low": before.low,
        "before_high": before.high,
        "after": after.value,
        "after_low": after.low,
        "after_high": after.high,
    }


def conditions_above(rates: pd.DataFrame, least: float) -> dict[str, pd.DataFrame]:
    """Model -> rows for `plotting.plot_conditions`, for the models with some rate that high.

    rates: as `lib.claims.harness_rates.rates` makes them.
    """
    names = [name for name in rates if name == "valid calls" or name.startswith("pass@")]
    models = {}
    for model, part in rates.groupby("pair", sort=False):
        if max(band.value for name in names for band in part[name]) >= least:
            models[model] = pd.DataFrame(
                {"condition": row["condition"], "rate": name, **row[name]._asdict()}
                for row in part.to_dict("records")
                for name in names
            )
    return models


def taxes(studies: Sequence[claims.Study], name: str, k: int) -> pd.DataFrame:
    """A row a comparison for `plotting.plot_tax`, by benchmark.  name: "tax_A" or "tax_S"."""
    rows = pd.DataFrame(
        {
            "pair": comparison.pair,
            "benchmark": comparison.benchmark,
            **getattr(tax, name).at(k)._asdict(),
        }
        for comparison, tax in studies
    )
    order = {benchmark: i for i, benchmark in enumerate(dict.fromkeys(rows["benchmark"]))}
    return rows.sort_values("benchmark", key=lambda names: names.map(order), kind="stable")


def sizes_of_pairs(studies: Sequence[claims.Study], name: str, k: int) -> pd.DataFrame:
    """The rows of `taxes` whose pair is one of the paper's and names its size, with both.

    size: the number before "B" in the pair's name: all parameters, of which a mixture of experts
    uses a part at a time.
    """
    families = paper_tables.table("model_pairs").set_index("pair")["family"]
    rows = taxes(studies, name, k)
    rows = rows.assign(
        family=rows["pair"].map(families),
        size=[size_of(pair) for pair in rows["pair"]],
    )
    return rows.dropna(subset=["family", "size"])


def ptgs_headlines() -> pd.DataFrame:
    """The paper's headlines on PTGS beside what its own printed table gives, PTGS against fixed.

    A row a headline: what it is, as printed, from the table, and the cell of the table.
    """
    table = paper_tables.table("ptgs").set_index(["environment", "algorithm"])
    ptgs, fixed = (table[table["sampler"] == sampler] for sampler in ("ptgs", "fixed"))
    of = {
        "ptgs_pass_1": (ptgs["pass@1"] - fixed["pass@1"], "{:.1f} points"),
        "ptgs_pass_128": (ptgs["pass@128"] - fixed["pass@128"], "{:.1f} points"),
        "ptgs_tax": (100 * (1 - ptgs["tax_S@128"] / fixed["tax_S@128"]), "{:.0f} %"),
    }
    statements = paper_tables.table("headline_claims").set_index("id")["statement"]
    return pd.DataFrame(
        {
            "headline": statements[name],
            "paper": paper_tables.headline(name).printed,
            "from its printed table": shown.format(change.max()),
            "where": ", ".join(change.idxmax()),
        }
        for name, (change, shown) in of.items()
    )
