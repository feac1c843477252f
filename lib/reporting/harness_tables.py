"""Tables for people of what a text harness does."""

import pandas as pd

from lib import metrics
from lib.claims import harness_rates
from lib.metrics.formatting import with_interval


def rates_table(rates: pd.DataFrame) -> pd.DataFrame:
    """`harness_rates.rates` as text; beside a rate of zero, how high it may be all the same."""
    shown = rates.copy()
    last = [name for name in rates if name.startswith("pass@")][-1]
    shown["at most"] = [
        f"{harness_rates.largest_unseen(tasks):.1%}" if band.value == 0 else ""
        for band, tasks in zip(rates[last], rates["tasks"], strict=True)
    ]
    bands = [name for name in rates if isinstance(rates[name].iloc[0], metrics.Band)]
    shown[bands] = rates[bands].map(with_interval)
    return shown


def harness_parts(
    table: pd.DataFrame, K: int, *, without: str = "native", n_boot: int = 1000, seed: int = 0
) -> list[pd.DataFrame]:
    """A table a benchmark: rates in every condition, and lifts over `without` alone, as text."""
    parts = []
    for benchmark, part in table.groupby("benchmark", sort=False):
        rates = harness_rates.rates(part, K, n_boot=n_boot, seed=seed)
        lifts = harness_rates.lifts(part, without, K, n_boot=n_boot, seed=seed)
        both = rates.merge(lifts, "left", ["pair", "condition"], suffixes=("", f" over {without}"))
        bands = [name for name in both if name.startswith("pass@")]
        both[bands] = both[bands].map(lambda x: with_interval(x) if isinstance(x, tuple) else "")
        both.insert(0, "environment", benchmark)
        parts.append(both)
    return parts


def calls_table(table: pd.DataFrame) -> pd.DataFrame:
    """A row a model and condition: attempts, how many wrote a valid call, and how many passed."""
    called = table.assign(called=table["valid_call"] == "True")
    cells = called.groupby(["pair", "arm"], sort=False)
    counts = cells[["called", "passed"]].sum().assign(attempts=cells.size())
    return counts.assign(tasks=cells["task"].nunique()).reset_index()


def beside_the_paper(paper: pd.DataFrame, rates: pd.DataFrame, model: str, K: int) -> pd.DataFrame:
    """The printed ablation and, in columns of their own, this model's rates; percent.

    The paper's control lends the base its sibling's chat template, ours is a plain prompt read
    exactly; where the latter was not collected the cell is empty.
    """
    rows = paper.rename(
        columns={"without_harness": "sibling's template", "with_harness": "with the harness"}
    )
    rows["change"] = (rows["with the harness"] - rows["sibling's template"]).round(2)
    by_condition = rates.set_index("condition")
    here = {
        "benchmark": f"here: {model}, BFCL simple_python",
        "sibling's template": "not collected",
    }
    ours = []
    for metric in dict.fromkeys(("pass@1", f"pass@{K}")):
        row = here | {"metric": metric}
        names = {"cue off, exact": "plain prompt", "cue on, lenient": "with the harness"}
        for condition, name in names.items():
            if condition in by_condition.index:
                row[name] = round(100 * by_condition.loc[condition, metric].value, 2)
        ours.append(row)
    rows = pd.concat([rows, pd.DataFrame(ours)], ignore_index=True)
    prompts = ["sibling's template", "plain prompt", "with the harness"]
    table = rows.reindex(columns=["benchmark", "metric", *prompts, "change"])
    return table.astype(object).where(table.notna(), "")
