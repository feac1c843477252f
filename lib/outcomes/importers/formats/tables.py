"""Outcomes already: our own files, the authors', and a table with other names of columns."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from lib import outcomes
from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Imported, doubt_threshold
from lib.outcomes.importers.reports import ImportReport, complete, number_of, setting_called
from lib.outcomes.importers.verdicts import verdict
from lib.outcomes.values import as_passed
from lib.outcomes.wording import shortened

_USED = ("task", "attempt", "passed", "reason", "tasks", "n", "c", "missing")
"""Columns of the one table that say what its rows count."""


def read_table(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    threshold: float | None = None,
    arm: str = "base",
    pair: str = "default",
    benchmark: str | None = None,
    trajectories: bool = False,
) -> Imported:
    """Read any file that `outcomes.read` takes: attempts, counts, lists of flags, a histogram.

    columns: our names to the file's, {"task": "Problem", "passed": "ok?"}, where they differ.
    threshold: the score from which on an attempt is a success, where `passed` holds scores.
    pair, arm: for files that do not say.  benchmark: for those, and another name for the one that
    a file says.  trajectories: such files have none.
    Raises OutcomesError naming file, line and column, and for several benchmarks under one name.
    What `outcomes.read` warns of is warned of here too, and is in the report, as are settings that
    differ within an arm. Columns of decoding settings are settings of the report.
    """
    report = ImportReport("table of outcomes", [str(path)])
    report.succeed_from(threshold)
    cell = {"arm": arm, "pair": pair}
    if benchmark:
        cell["benchmark"] = benchmark
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", outcomes.OutcomesWarning)
        judge = None if threshold is None else partial(_judged, report=report)
        table = outcomes.read(path, columns=columns, judge=judge, **cell)
        _note_columns(table, report, path)
    if threshold is not None and outcomes.kind(table) != "attempts":
        raise OutcomesError(
            f"{path}: holds counts, and a threshold is of scores; expected a row an attempt, or no "
            "threshold."
        )
    told = list(dict.fromkeys(table["benchmark"]))
    if benchmark and len(told) > 1:
        raise OutcomesError(
            f"{path}: has the benchmarks {shortened([repr(one) for one in told])}; expected one "
            f"where benchmark={benchmark!r} names it (on the command line: --choose "
            f"benchmark={benchmark}). Leave that out, or make a file of each."
        )
    table = table.assign(benchmark=benchmark or table["benchmark"])
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        if issubclass(warning.category, outcomes.OutcomesWarning):
            report.note(str(warning.message))
    doubt_threshold(report)
    return Imported(complete(table, report), report)


def _judged(value, place, report):
    """The outcome of a score, a number or its text; missing where it is blank."""
    value = value.item() if isinstance(value, np.generic) else value
    if as_passed(value) is pd.NA:
        return pd.NA
    number = value if isinstance(value, bool) else number_of(value)
    return verdict(value if number is None else number, place, report)


def _note_columns(table, report, path) -> None:
    """Note which columns of a table are settings, and which are not used."""
    further = [name for name in table if name not in (*outcomes.CELL, *_USED)]
    unused = []
    for column in further:
        name = setting_called(column)
        by_arm = table[column].groupby(table["arm"], sort=False).unique()
        values = {value for of_arm in by_arm for value in of_arm}
        if name is None or any(number_of(value) is None for value in values):
            unused.append(str(column))
            continue
        for value in sorted(values, key=float):
            report.set({name: value})
        if len(values) > 1:
            told = "; ".join(f"{arm}: {', '.join(map(str, of))}" for arm, of in by_arm.items())
            outcomes.warn(
                f"{path}: the column {column!r} is a decoding setting and has several values "
                f"({told}). Attempts under unlike settings cannot be pooled or compared: make a "
                "file of each."
            )
    if unused:
        report.note(f"columns not used: {', '.join(unused)}")
