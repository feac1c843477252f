"""The claims about the text harness, put to the outcomes of an ablation."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

import pandas as pd

from lib import outcomes
from lib.claims import harness_rates, paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.metrics import MARGIN


class Contrast(NamedTuple):
    """Two conditions of one model, and what the harness is claimed to do to it.

    kind: a harness "raises" pass@k of a base model and "lowers" that of a post-trained one.
    without, having: the conditions that are compared, arms of the table.
    """

    pair: str
    kind: Literal["base", "post-trained"]
    without: str
    having: str


def harness_claims(
    table: pd.DataFrame,
    contrasts: Iterable[Contrast],
    budgets: Sequence[int],
    *,
    place: str = "",
    there: str = "",
) -> ClaimTable:
    """What the harness does to pass@k of each model, at each budget k.

    table: outcomes whose arms are conditions, as `harness_rates` describes; only conditions of one
    pair are compared, so that models may be unrelated.  place: what precedes every statement, such
    as "in the lab, ".  there: the environment, which then precedes the model in the case.
    """
    return ClaimTable(
        _lift(table, contrast, k, place, there) for contrast in contrasts for k in budgets
    )


def untested_harness_claims(tested: Collection[str] = ("bfcl",)) -> ClaimTable:
    """What the paper prints of benchmarks on which nothing was run here, ACEBench among them.

    tested: the benchmarks that have claims of their own.
    """
    rows = paper_tables.table("harness_ablation")
    return ClaimTable(
        not_tested(
            f"the harness raises {row.metric} of a base model: {row.benchmark}",
            f"{row.without_harness} to {row.with_harness} %, 8 models"
            + (": it does not help there" if row.with_harness < row.without_harness else ""),
            f"no model was run on {row.benchmark} here",
            "harness",
            row.benchmark,
        )
        for row in rows.itertuples()
        if row.benchmark not in tested
    )


def _lift(table, contrast, k, place, there) -> Claim:
    pair, kind, without, having = contrast
    direction, verb = (1, "raises") if kind == "base" else (-1, "lowers")
    statement = f"{place}the harness {verb} pass@{k} of a {kind} model"
    case = ": ".join(filter(None, (there, "" if pair == kind else pair)))
    statement += f": {case}" if case else ""
    about = {
        "question": "harness",
        "case": case,
        "lead": kind == "base",
        "brief": f"pass@{k} is higher with the harness",
    }
    printed = _printed(k) if kind == "base" else "shown as a figure"
    cells = table[(table["pair"] == pair) & table["arm"].isin([without, having])]
    if cells["arm"].nunique() < 2:
        return not_tested(
            statement, printed, f"needs the conditions {without!r} and {having!r}", **about
        )
    lift = harness_rates.lift(table, pair, without, having, k)
    counted = outcomes.counts(cells.drop(columns="valid_call", errors="ignore"))
    if not counted["c"].any():
        attempts = counted[["n", "missing"]].to_numpy().sum()
        why = f"none of {attempts} attempts succeeded: too weak a model for these tasks"
        return not_tested(statement, printed, why, **about)
    low, high = sorted((direction * lift.low, direction * lift.high))
    return Claim(
        statement=statement,
        value=lift.value,
        low=lift.low,
        high=lift.high,
        published=printed,
        verdict=verdict(low, high, 0),
        why=f"{having} against {without}, {cells['task'].nunique()} tasks"
        + (", no difference" if abs(lift.value) <= MARGIN else ""),
        **about,
    )


def _printed(k) -> str:
    rows = paper_tables.table("harness_ablation").set_index(["benchmark", "metric"])
    rows = rows[rows.index == ("bfcl", f"pass@{k}")]
    if rows.empty:
        return "not printed"
    row = rows.iloc[0]
    return f"{row['without_harness']} to {row['with_harness']} %, 8 models, other tasks of BFCL"
