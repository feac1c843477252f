"""Outcomes already: our own files, the authors', and a table with other names of columns."""

import warnings
from pathlib import Path

from lib import outcomes
from lib.importers.log import Imported
from lib.importers.reports import ImportReport, complete
from lib.importers.wording import shortened
from lib.outcomes import OutcomesError


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
    pair, arm: for files that do not say.  benchmark: for those, and another name for the one that
    a file says.  trajectories: such files have none.
    Raises OutcomesError naming file, line and column, and for several benchmarks under one name.
    What `outcomes.read` warns of is warned of here too, and is in the report.
    """
    report = ImportReport("table of outcomes", [str(path)])
    cell = {"arm": arm, "pair": pair}
    if benchmark:
        cell["benchmark"] = benchmark
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", outcomes.OutcomesWarning)
        table = outcomes.read(path, columns=columns, **cell)
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
    return Imported(complete(table, report), report)
