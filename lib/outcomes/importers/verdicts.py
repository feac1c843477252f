"""Which score of a log counts, and whether a score is a success."""

import math
import re
from collections.abc import Iterable
from typing import Any

from lib.outcomes.errors import OutcomesError, option, shown
from lib.outcomes.importers.reports import ImportReport

_LOWER_IS_BETTER = re.compile(
    r"(^|[^a-z])(wer|cer|ter|mer|perplexity|ppl|bits_per_byte|bpb|brier|nll|loss|mse|rmse|mae|ece|"
    r"error|errors)($|[^a-z])",
    re.IGNORECASE,
)


def choose(
    candidates: Iterable[str], chosen: str | None, argument: str, noun: str, place: str
) -> str:
    """The chosen candidate, or the only one. Raises OutcomesError listing them otherwise.

    argument: the name of the argument that chooses.  noun: what the candidates are.
    """
    candidates = list(dict.fromkeys(candidates))
    names = ", ".join(map(repr, candidates)) or "none"
    if chosen in candidates or (chosen is None and len(candidates) == 1):
        return candidates[0] if chosen is None else chosen
    if chosen is not None:
        problem = f"no {noun} {chosen!r}; expected one of {names}."
    elif candidates:
        head, of, rest = noun.partition(" of ")
        problem = f"several {head}s{of}{rest} ({names})."
    else:
        problem = f"no {noun}."
    if candidates:
        remedy = option(argument, candidates[0])
        problem += f" Choose one: {remedy}; for one arm alone, `base.{argument}` or "
        problem += f"`post.{argument}`."
    raise OutcomesError(f"{place}: {problem}")


def verdict(value: Any, place: str, report: ImportReport) -> bool:
    """Whether a score is a success: by the threshold of the report, or, without one, 1 and 0."""
    if type(value) not in (bool, int, float) or not math.isfinite(value):
        raise OutcomesError(
            f"{place}: expected a score, a finite number or a boolean; got {shown(value)}."
        )
    if report.threshold is not None:
        low, high = report.scores
        report.scores = min(low, value), max(high, value)
        return value >= report.threshold
    if value not in (0, 1):
        raise OutcomesError(
            f"{place}: the score {value} is neither 0 nor 1. Pass the lowest score of a success: "
            f"{option('threshold', 1.0)}."
        )
    return bool(value)


def measures_errors(scorer: str) -> bool:
    """Whether a score is an error measure by its name: wer, perplexity, brier_score, ..."""
    return _LOWER_IS_BETTER.search(scorer) is not None


def error_measure(scorer: str, place: str) -> OutcomesError:
    """The error for a score of which lower values are better."""
    return OutcomesError(
        f"{place}: lower values of {scorer!r} are better, but a success is a score of 1, or one "
        "from a threshold up. Choose another score, or make a table of outcomes (task, attempt, "
        "passed)."
    )
