"""The lab's runs as comparisons of a base with what was trained from it, those that are there."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from lib import claims, outcomes
from lib.lab import plan, results
from lib.lab.plan import Run

SHOWN = plan.KEPT
"""Runs that stand for all where a figure has a panel a comparison: their models are committed."""

CELL = ["benchmark", "pair"]


def every(folder: str | Path | None = None) -> pd.DataFrame:
    """The table of outcomes of all runs beside their bases, held-out tasks at T = 0.5, as counts.

    folder: see `results.read`, which raises FileNotFoundError where there are no results. A run
    whose base was not evaluated yet is left out.
    """
    table = results.as_outcomes(results.read("evaluations", folder))
    return table[table.groupby(CELL)["arm"].transform("nunique") == 2].reset_index(drop=True)


def load(
    pairs: Sequence[str] | None = None, benchmarks: Sequence[str] | None = None
) -> pd.DataFrame:
    """The committed results as outcomes: the runs of `SHOWN`, or those that `pairs` names.

    pairs, benchmarks: keep only these, in this order; None keeps all. Raises OutcomesError for a
    name that the lab does not have.
    """
    table = every()
    table = of(SHOWN, table) if pairs is None else table
    return claims.only(table, "lab", pairs=pairs, benchmarks=benchmarks)


def of(runs: Sequence[Run], table: pd.DataFrame) -> pd.DataFrame:
    """The rows of these runs, run by run in their order; a run that is not there has none."""
    cells = dict(iter(table.groupby(CELL, sort=False)))
    there = [cells[key(run)] for run in runs if key(run) in cells]
    return pd.concat(there, ignore_index=True) if there else table.iloc[:0]


def absent(runs: Sequence[Run], table: pd.DataFrame) -> list[str]:
    """The runs that a table does not have, each as "pair on benchmark"."""
    there = set(zip(table["benchmark"], table["pair"], strict=True))
    return [f"{pair} on {world}" for world, pair in map(key, runs) if (world, pair) not in there]


def key(run: Run) -> tuple[str, str]:
    """Benchmark and pair of a run in the tables of outcomes."""
    return run.environment, results.label(run.settings())


def by_base(comparisons: Sequence[outcomes.Comparison]) -> list[outcomes.Comparison]:
    """The same comparisons, in which the pair is the base: what its runs share, and no more.

    Runs from one base, on the same tasks, are one case where cases are counted or left out.
    """
    return [
        replace(comparison, pair=f"{comparison.benchmark} {_size(comparison.pair)}")
        for comparison in comparisons
    ]


def _size(pair: str) -> str:
    """The size at the head of a label (`results.label`), where it is not the usual one."""
    first = pair.split()[0]
    return first if first.endswith("M") else Run.size
