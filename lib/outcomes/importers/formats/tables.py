"""Outcomes already: our own files, the authors', and a table with other names of columns."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from lib import outcomes
from lib.outcomes.errors import OutcomesError, OutcomesWarning, first_few, option, warn
from lib.outcomes.importers.attempts import Imported, warn_of_threshold
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.reports import ImportReport, number_of, setting_called
from lib.outcomes.importers.verdicts import verdict
from lib.outcomes.values import as_passed

_USED = ("task", "attempt", "passed", "reason", "tasks", "n", "c", "missing")
"""Columns of the one table that say what its rows count."""

_LAYOUTS = ({"passed"}, {"pass_flags"}, {"n", "c"}, {"rollouts", "successes"})
"""Columns by which a file is known to be a table."""


def matches(head: Head) -> bool:
    """Whether a file is a sheet, Parquet, or JSON rows with columns of outcomes."""
    names = {name.strip().casefold() for name in head.record}
    has_columns = any(columns <= names for columns in _LAYOUTS)
    return head.kind in ("sheet", "parquet") or (head.kind == "json" and has_columns)


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
    """Read any file that `outcomes.read` reads: attempts, counts, lists of flags, a histogram.

    columns: as in `outcomes.read`, {"task": "Problem", "passed": "ok?"}.
    threshold: the lowest score of a success, if `passed` holds scores.
    pair, arm: for files without such a column.  benchmark: replaces the one benchmark of the file.
    trajectories: ignored; tables have none.
    Columns named after decoding settings become settings of the report.
    Raises OutcomesError naming file, line and column, and if `benchmark` would replace several.
    Issues the warnings of `outcomes.read`, and one for settings with several values; the report
    has them as notes.
    """
    report = ImportReport("table of outcomes", [str(path)])
    report.succeed_from(threshold)
    cell = {"arm": arm, "pair": pair}
    if benchmark:
        cell["benchmark"] = benchmark
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OutcomesWarning)
        judge = None if threshold is None else partial(_judged, report=report)
        table = outcomes.read(path, columns=columns, judge=judge, **cell)
        _note_columns(table, report, path)
    if threshold is not None and outcomes.kind(table) != "attempts":
        raise OutcomesError(
            f"{path}: holds counts, but a threshold applies to scores. Expected a row for each "
            "attempt, or no threshold."
        )
    names = list(dict.fromkeys(table["benchmark"]))
    if benchmark and len(names) > 1:
        raise OutcomesError(
            f"{path}: has the benchmarks {first_few([repr(name) for name in names])}, but "
            f"{option('benchmark', benchmark)} names a single one. Leave it out, or make a file of "
            "each benchmark."
        )
    table = table.assign(benchmark=benchmark or table["benchmark"])
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        if issubclass(warning.category, OutcomesWarning):
            report.note(str(warning.message))
    warn_of_threshold(report)
    report.complete(table)
    return Imported(table, report)


def _judged(value, place, report):
    """The outcome of a score, a number or text that spells one; NA for a blank."""
    value = value.item() if isinstance(value, np.generic) else value
    if as_passed(value) is pd.NA:
        return pd.NA
    number = value if isinstance(value, bool) else number_of(value)
    return verdict(value if number is None else number, place, report)


def _note_columns(table, report, path) -> None:
    """Record columns of settings in the report, and note the columns that are not used."""
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
            texts = "; ".join(f"{arm}: {', '.join(map(str, of))}" for arm, of in by_arm.items())
            warn(
                f"{path}: the decoding setting in column {column!r} has several values ({texts}). "
                "Attempts under different settings cannot be pooled or compared: make a file of "
                "each."
            )
    if unused:
        report.note(f"columns not used: {', '.join(unused)}")
