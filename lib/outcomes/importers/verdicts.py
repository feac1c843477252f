"""Which score of a log counts, and from where on it is a success."""

import math
import re
from collections.abc import Iterable
from typing import Any

from lib.outcomes import OutcomesError
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.values import shown
from lib.outcomes.wording import option

_LOWER_IS_BETTER = re.compile(
    r"(^|[^a-z])(wer|cer|ter|mer|perplexity|ppl|bits_per_byte|bpb|brier|nll|loss|mse|rmse|mae|ece|"
    r"error|errors)($|[^a-z])",
    re.IGNORECASE,
)


def choose(candidates: Iterable[str], given: str | None, argument: str, what: str, place: str):
    """The candidate that was asked for, or the only one; else an error that lists them."""
    candidates = list(dict.fromkeys(candidates))
    listed = ", ".join(map(repr, candidates)) or "none"
    if given in candidates or (given is None and len(candidates) == 1):
        return candidates[0] if given is None else given
    head, of, rest = what.partition(" of ")
    said = f"several {head}s{of}{rest}" if candidates else f"no {what}"
    said = f"{said} ({listed})." if given is None else f"no {what} {given!r}; it has {listed}."
    if candidates:
        said += (
            f" Choose one: {option(argument, candidates[0])}; for one arm alone, "
            f"base.{argument}=... or post.{argument}=..."
        )
    raise OutcomesError(f"{place}: {said}")


def verdict(value: Any, place: str, report: ImportReport) -> bool:
    """Whether a score is a success: 1 and 0, or by the threshold of the report, if it has one."""
    if type(value) not in (bool, int, float) or not math.isfinite(value):
        raise OutcomesError(
            f"{place}: got {shown(value)}, expected a score: a finite number, or a boolean."
        )
    if report.threshold is not None:
        low, high = report.scores
        report.scores = min(low, value), max(high, value)
        return value >= report.threshold
    if value not in (0, 1):
        raise OutcomesError(
            f"{place}: the score {value} is neither 0 nor 1. Say from which score on an attempt is "
            f"a success: {option('threshold', 1.0)}."
        )
    return bool(value)


def measures_errors(scorer: str) -> bool:
    """Whether a score's name is that of an error measure: wer, perplexity, brier_score, ..."""
    return _LOWER_IS_BETTER.search(scorer) is not None


def error_measure(scorer: str, place: str) -> OutcomesError:
    """The error that refuses a score that is better the lower."""
    return OutcomesError(
        f"{place}: {scorer!r} is better the lower, and a success is a score of 1, or from a "
        "threshold up. Choose another score, or turn this one into passed or not in a table (task, "
        "attempt, passed)."
    )
