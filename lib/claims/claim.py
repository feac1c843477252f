"""A claim, its verdict, and claims as a table."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib.metrics.formatting import decimals, number, side

MIME = "application/vnd.sharpening-lab.claims+json"
"""The type under which a notebook carries its claims, so that they can be collected."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and what the data at hand say about it.

    value, low, high: the estimate and its 95 % interval, NaN where there is none.
    published: the figure as it was printed, if any.  verdict, why: a word and a sentence.
    of: the number of cases, where value counts cases.
    digits: decimals shown, or more where an end of the interval would look as if it were on the
    bound and is not.  bound: what the verdict compares the interval with.
    """

    statement: str
    value: float
    low: float
    high: float
    published: str
    verdict: str
    why: str
    of: int | None = None
    digits: int = 2
    bound: float = 0.0

    def row(self) -> dict[str, str]:
        """The claim as it is shown: one string a column."""
        return {
            "claim": self.statement,
            "value": self._shown(self.value) + (f" of {self.of}" if self.of else ""),
            "interval": ""
            if np.isnan(self.low)
            else f"{self._shown(self.low)} to {self._shown(self.high)}",
            "published": self.published,
            "verdict": self.verdict,
            "why": self.why,
        }

    def _shown(self, value: float) -> str:
        digits = 0 if self.of else decimals(self.low, self.high, self.digits, self.bound)
        return number(value, digits)


class ClaimTable(list):
    """Claims that show themselves as a table in a notebook, and carry their rows as JSON."""

    def frame(self) -> pd.DataFrame:
        """A row a claim, with the columns of `Claim.row`."""
        columns = ["claim", "value", "interval", "published", "verdict", "why"]
        return pd.DataFrame([claim.row() for claim in self], columns=columns)

    def __repr__(self) -> str:
        return "\n".join(
            f"{row.verdict.upper():<16} {row.claim}: {row.value}"
            + (f" [{row.interval}]" if row.interval else "")
            + f"; published: {row.published}\n{'':<17}{row.why}"
            for row in self.frame().itertuples()
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        rows = self.frame()
        return {
            "text/plain": repr(self),
            "text/html": rows.to_html(index=False, border=0, justify="left"),
            MIME: json.loads(rows.to_json(orient="records")),
        }


def verdict(low: float, high: float, bound: float) -> str:
    """`holds` if the interval lies wholly above the bound, `contradicted` if wholly below it.

    `undecided` otherwise, and where there is no interval. Rounding decides nothing: an end within
    1e-12 of the bound lies on it.

    >>> verdict(0.1, 0.2, 0), verdict(-0.1, 0.2, 0)
    ('holds', 'undecided')
    """
    return {1: "holds", -1: "contradicted", 0: "undecided"}[side(low, high, bound)]


def not_tested(statement: str, printed: str, why: str) -> Claim:
    """A claim that the data at hand cannot test, and why."""
    return Claim(statement, np.nan, np.nan, np.nan, printed, "not tested here", why)
