"""Outcomes already: our own files, the authors', and a table with other names of columns."""

import warnings
from pathlib import Path

from lib import outcomes
from lib.importers.log import Imported
from lib.importers.reports import ImportReport, complete


def read_table(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    arm: str = "base",
    pair: str = "default",
    benchmark: str | None = None,
    trajectories: bool = False,
) -> Imported:
    """Read any file that `outcomes.read` takes: attempts, counts, lists of flags, a histogram.

    columns: our names to the file's, {"task": "Problem", "passed": "ok?"}, where they differ.
    benchmark, pair, arm: for files that do not say.  trajectories: such files have none.
    Raises OutcomesError naming file, line and column. What `outcomes.read` warns of is warned of
    here too, and is in the report.
    """
    report = ImportReport("table of outcomes", [str(path)])
    cell = {"arm": arm, "pair": pair}
    if benchmark:
        cell["benchmark"] = benchmark
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", outcomes.OutcomesWarning)
        table = outcomes.read(path, columns=columns, **cell)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        if issubclass(warning.category, outcomes.OutcomesWarning):
            report.note(str(warning.message))
    return Imported(complete(table, report), report)
