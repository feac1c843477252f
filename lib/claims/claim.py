"""A claim, its verdict, and claims as a table."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib.claims import questions
from lib.claims.questions import NOT_TESTED
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
    question: a key of `lib.claims.QUESTIONS`, under which it is shown.  case: what sets it apart
    from claims of the same test, such as a setting; the statement then ends in ": " and the case.
    lead: whether the answer to the question rests on it; the other claims are details.
    brief: what the value is, in a few words, for the README.
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
    question: str = ""
    case: str = ""
    lead: bool = False
    brief: str = ""

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

    def payload(self) -> dict:
        """The row as a notebook carries it: with question, case, lead and the plain numbers.

        estimate, low, high: None where they are undefined.
        """
        numbers = {"estimate": self.value, "low": self.low, "high": self.high}
        known = {key: None if np.isnan(x) else float(x) for key, x in numbers.items()}
        about = {"question": self.question, "case": self.case, "lead": self.lead}
        about |= {"brief": self.brief}
        return self.row() | about | known | {"bound": self.of / 2 if self.of else self.bound}

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
        rows = [claim.payload() for claim in self]
        return {
            "text/plain": repr(self),
            "text/html": questions.as_html(rows),
            MIME: json.loads(json.dumps(rows)),
        }


def verdict(low: float, high: float, bound: float) -> str:
    """`holds` if the interval lies wholly above the bound, `contradicted` if wholly below it.

    `undecided` otherwise; `no interval` where there is none. Rounding decides nothing: an end
    within 1e-12 of the bound lies on it.

    >>> verdict(0.1, 0.2, 0), verdict(-0.1, 0.2, 0), verdict(np.nan, np.nan, 0)
    ('holds', 'undecided', 'no interval')
    """
    if np.isnan(low) or np.isnan(high):
        return "no interval"
    return {1: "holds", -1: "contradicted", 0: "undecided"}[side(low, high, bound)]


def rank_claim(statement: str, ranks, printed: str, why: str, brief: str, case: str = "") -> Claim:
    """The claim that a rank correlation is positive.

    ranks: its `rho`, `low` and `high`, see `lib.claims.studies.Agreement`.  case: which studies.
    """
    return Claim(
        statement=f"{statement}: {case}" if case else statement,
        value=ranks.rho,
        low=ranks.low,
        high=ranks.high,
        published=printed,
        verdict=verdict(ranks.low, ranks.high, 0),
        why=why,
        question="prediction",
        case=case,
        lead="predicts" in statement,
        brief=brief,
    )


def not_tested(
    statement: str,
    printed: str,
    why: str,
    question: str = "",
    case: str = "",
    lead: bool = False,
    brief: str = "",
) -> Claim:
    """A claim that the data at hand cannot test, and why."""
    none = (np.nan, np.nan, np.nan)
    about = {"question": question, "case": case, "lead": lead, "brief": brief}
    return Claim(statement, *none, printed, NOT_TESTED, why, **about)
