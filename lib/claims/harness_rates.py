"""How a text harness changes success: rates in each condition, and lifts between conditions.

A table of outcomes whose arms are conditions: which prompt was given, and how replies were read.
Where it has a column `valid_call`, "True" marks an attempt that called an offered tool with all
required arguments, right or wrong.
"""

import numpy as np
import pandas as pd

from lib import metrics, outcomes


def whole_tasks(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """The tasks with n attempts in every condition of their pair: an unfinished run lacks some."""
    attempts = table.groupby(["pair", "task", "arm"]).size().rename("attempts").reset_index()
    whole = attempts[attempts["attempts"] >= n].groupby(["pair", "task"])["arm"].nunique()
    arms = table.groupby("pair")["arm"].nunique()
    kept = whole[whole == arms.reindex(whole.index.get_level_values("pair")).to_numpy()]
    return table[pd.MultiIndex.from_frame(table[["pair", "task"]]).isin(kept.index)]


def valid_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The same attempts, where passing means to have made a valid call."""
    called = (table["valid_call"] == "True").astype("boolean")
    return table.assign(passed=called.mask(table["passed"].isna())).drop(columns="valid_call")


def rates(table: pd.DataFrame, K: int, *, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """A row a pair and condition: tasks, and `metrics.Band`s of valid calls, pass@1 and pass@K.

    The column of valid calls is left out where the table has none.
    """
    rows, has_calls = [], "valid_call" in table
    for (pair, arm), cell in table.groupby(["pair", "arm"], sort=False):
        passed, valid = (_counts(part) for part in (cell, valid_calls(cell) if has_calls else cell))
        tax = metrics.sharpening_tax(passed, valid, K, n_boot=n_boot, rng=seed)
        rows.append(
            {"pair": pair, "condition": arm, "tasks": len(passed.c)}
            | ({"valid calls": tax.coverage_post.at(1)} if has_calls else {})
            | {"pass@1": tax.coverage_base.at(1), f"pass@{K}": tax.coverage_base.at(K)}
        )
    columns = ["pair", "condition", "tasks", *["valid calls"] * has_calls, "pass@1", f"pass@{K}"]
    return pd.DataFrame(rows, columns=list(dict.fromkeys(columns)))  # K may be 1


def lift(
    table: pd.DataFrame,
    pair: str,
    without: str,
    having: str,
    k: int,
    *,
    n_boot: int = 1000,
    seed: int = 0,
) -> metrics.Band:
    """pass@k in the condition `having` minus pass@k in the condition `without`, tasks paired."""
    cells = [table[(table["pair"] == pair) & (table["arm"] == arm)] for arm in (without, having)]
    aligned = outcomes.align(*(cell.drop(columns="valid_call", errors="ignore") for cell in cells))
    lower, upper = (_counts(part) for part in (aligned.base, aligned.post))
    gap = metrics.sharpening_tax(lower, upper, k, n_boot=n_boot, rng=seed).gap.at(k)
    return metrics.Band(0 - gap.value, 0 - gap.high, 0 - gap.low)


def lifts(
    table: pd.DataFrame, without: str, K: int, *, n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """`lift` of every other condition of a pair: `metrics.Band`s of pass@1 and pass@K."""
    rows = []
    for pair, cells in table.groupby("pair", sort=False):
        arms = list(dict.fromkeys(cells["arm"]))
        for arm in arms if without in arms else []:
            if arm != without:
                bands = {
                    f"pass@{k}": lift(cells, pair, without, arm, k, n_boot=n_boot, seed=seed)
                    for k in (1, K)
                }
                rows.append({"pair": pair, "condition": arm} | bands)
    return pd.DataFrame(rows, columns=["pair", "condition", "pass@1", f"pass@{K}"])


def largest_unseen(tasks: int, level: float = 0.95) -> float:
    """The largest share of tasks that may be solvable though none of n was: 1 - 0.05^(1/n).

    A bootstrap cannot see beyond tasks that all failed; this bound (Clopper and Pearson) can.

    >>> round(largest_unseen(40), 3)
    0.072
    """
    return 1 - (1 - level) ** (1 / tasks)


def _counts(cell: pd.DataFrame) -> metrics.Counts:
    table = outcomes.counts(cell).sort_values("task")
    return metrics.Counts(np.asarray(table["c"]), np.asarray(table["n"]), names=list(table["task"]))
