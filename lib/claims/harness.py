"""The claims about the text harness, put to the outcomes of an ablation."""

from collections.abc import Sequence

import pandas as pd

from lib import outcomes
from lib.claims import harness_rates, paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.metrics import MARGIN


def harness_claims(table: pd.DataFrame, base: str, post: str, budgets: Sequence[int]) -> ClaimTable:
    """What the harness does for a base model, and to a post-trained one, at each budget.

    table: conditions as `harness_rates.conditions` makes them; base, post: pairs in it, two
    unrelated models as the case may be: their difference is not looked at.
    """
    return ClaimTable(
        [
            *(_lift(table, base, "cue off, exact", "cue on, lenient", k, +1) for k in budgets),
            *(
                _lift(table, post, "chat template, lenient", "cue on, lenient", k, -1)
                for k in budgets
            ),
        ]
    )


def lab_harness_claims(
    table: pd.DataFrame, bases: Sequence[str], post: str, budgets: Sequence[int]
) -> ClaimTable:
    """The same of the lab's models: both parts of its harness against the native form alone.

    table: conditions as `lib.lab.harness_ablation.conditions` makes them; bases, post: pairs in it.
    """
    models = [*((base, +1) for base in bases), (post, -1)]
    return ClaimTable(
        _lift(table, pair, "native", "both", k, direction, place="in the lab, ")
        for pair, direction in models
        for k in budgets
    )


def _lift(table, pair, without, having, k, direction, place="") -> Claim:
    """One condition against another: a claim that pass@k rises (direction 1) or falls (-1)."""
    does = "raises" if direction > 0 else "lowers"
    kind = "base" if direction > 0 else "post-trained"
    statement = f"{place}the harness {does} pass@{k} of a {kind} model"
    statement += "" if pair == kind else f": {pair}"
    printed = _printed(k) if direction > 0 else "shown as a figure"
    cells = table[(table["pair"] == pair) & table["arm"].isin([without, having])]
    if cells["arm"].nunique() < 2:
        return not_tested(statement, printed, f"needs the conditions {without!r} and {having!r}")
    found = harness_rates.lift(table, pair, without, having, k)
    counted = outcomes.counts(cells.drop(columns="valid_call", errors="ignore"))
    if not counted["c"].any():
        attempts = counted[["n", "missing"]].to_numpy().sum()
        why = f"none of {attempts} attempts succeeded: too weak a model for these tasks"
        return not_tested(statement, printed, why)
    low, high = sorted((direction * found.low, direction * found.high))
    return Claim(
        statement=statement,
        value=found.value,
        low=found.low,
        high=found.high,
        published=printed,
        verdict=verdict(low, high, 0),
        why=f"{having} against {without}, {cells['task'].nunique()} tasks"
        + (", no difference" if abs(found.value) <= MARGIN else ""),
    )


def _printed(k) -> str:
    rows = paper_tables.table("harness_ablation").set_index(["benchmark", "metric"])
    rows = rows[rows.index == ("bfcl", f"pass@{k}")]
    if rows.empty:
        return "not printed"
    row = rows.iloc[0]
    return f"{row['without_harness']} to {row['with_harness']} %, 8 models, other tasks of BFCL"
