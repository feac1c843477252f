"""The figures that the two papers printed, each with its source and the tolerance of its print.

Sources: "Sharpening Tax in Post-Training" (arXiv 2610.01509) and "Neglected Free Lunch from
Post-training: Progress Advantage for LLM Agents" (arXiv 2606.26080). The tables lie in
`data/published`, whose README describes them.
"""

import re
from typing import NamedTuple

import pandas as pd

from lib import ROOT

FOLDER = ROOT / "data" / "published"
_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")


class Figure(NamedTuple):
    """A published number, how far a recomputation may be off, and how and where it was printed."""

    value: float
    tolerance: float
    printed: str
    source: str


def figure(printed: str, source: str) -> Figure:
    """Read a printed number such as "0.036", "36 of 42", "56 %" or "> 85 %".

    The tolerance is half a unit of the last digit; counts ("36 of 42") are exact.

    >>> figure("0.036", "page 1")
    Figure(value=0.036, tolerance=0.0005, printed='0.036', source='page 1')
    """
    match = _NUMBER.search(printed)
    if match is None:
        raise ValueError(f"{printed!r}: expected a printed number, such as '0.85' or '36 of 42'.")
    exact = " of " in printed
    return Figure(
        value=float(match[0]),
        tolerance=0.0 if exact else 0.5 * 10.0 ** -len(match[1] or ""),
        printed=printed,
        source=source,
    )


def headline(name: str) -> Figure:
    """A figure that a paper states in prose, by its `id` in headline_claims.csv."""
    rows = table("headline_claims").set_index("id")
    if name not in rows.index:
        raise KeyError(f"{name!r}: no such published claim; there are {', '.join(rows.index)}.")
    return figure(rows.loc[name, "value"], rows.loc[name, "source"])


def table(name: str) -> pd.DataFrame:
    """One of the published tables, by its name in sources.csv, numbers as numbers."""
    _source_row(name)
    return pd.read_csv(FOLDER / f"{name}.csv")


def source(name: str) -> str:
    """Where a published table was printed."""
    return _source_row(name)["source"]


def figures(name: str) -> pd.DataFrame:
    """Every number of a table, a row each: labels, `column`, printed, value, tolerance, source."""
    row = _source_row(name)
    printed = pd.read_csv(FOLDER / f"{name}.csv", dtype=str)
    numbers = str(row["numbers"] or "").split()
    labels = [column for column in printed if column not in numbers]
    long = printed.melt(labels, numbers, var_name="column", value_name="printed")
    # A table of mixed sources says in its own column where each row was printed.
    sources = long["source"] if "source" in long else [row["source"]] * len(long)
    read = [figure(*pair) for pair in zip(long["printed"], sources, strict=True)]
    return long.assign(
        value=[number.value for number in read],
        tolerance=[number.tolerance for number in read],
        source=[number.source for number in read],
    )


def rollout_counts() -> pd.DataFrame:
    """The 12 published comparisons as a histogram of outcomes (see `lib.outcomes`), 24 cells."""
    return table("rollout_counts").rename(columns={"rollouts": "n", "successes": "c"})


def _source_row(name: str) -> pd.Series:
    sources = pd.read_csv(FOLDER / "sources.csv", keep_default_na=False).set_index("table")
    if name not in sources.index:
        raise KeyError(f"{name!r}: no such published table; there are {', '.join(sources.index)}.")
    return sources.loc[name]
