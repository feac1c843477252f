"""Repeated samples as data sets on the Hugging Face hub keep them: a list of verdicts a task.

Such data sets have no common schema; the names of columns known here are those of published ones.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, shown
from lib.outcomes.importers.attempts import (
    Imported,
    TaskAttempts,
    TaskWithoutAttempts,
    as_outcomes,
)
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.records import SameFields, as_object, get, json_rows
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose
from lib.outcomes.values import as_passed

FLAGS = ("is_correct", "is_corrects", "correct", "corrects", "passed", "is_passed", "labels")
TASKS = ("task_id", "task", "id", "unique_id", "problem_id", "question_id", "example_id", "uuid")
_BESIDE = ("responses", "generations", "samples", "completions", "outputs", "predictions")


def matches(head: Head) -> bool:
    """Whether the rows of a file hold a list of verdicts in one of the columns `FLAGS`."""
    if head.kind not in ("json", "parquet"):
        return False
    row, has_task = head.record, any(name in head.record for name in TASKS)
    return any((row[name] or has_task) and _are_verdicts(row[name]) for name in _lists(row, FLAGS))


def read_lists(
    path: str | Path, *, task: str | None = None, flags: str | None = None, **cell
) -> Imported:
    """Read rows with a list of verdicts: true, false or null (or 1, 0) for each attempt.

    Files are JSON lines, one JSON list of objects, or Parquet.
    task, flags: the columns with the task's name and with the list, if several could be meant, or
    if their names are not in `TASKS` and `FLAGS`.
    A later row of a task replaces an earlier one as a whole. An empty list is a task without
    attempts, which the report names.
    Raises OutcomesError naming file and row.
    """
    path = Path(path)
    report = ImportReport("lists of verdicts", [str(path)])
    return as_outcomes(_attempts(path, report, task, flags), report, **cell)


def _attempts(path, report, task, flags):
    fields = None
    for place, row in _rows(path):
        if fields is None:
            flags = choose(_flags(row, flags), flags, "flags", "list of verdicts", place)
            task = choose(_tasks(row, task), task, "task", "name of tasks", place)
            report.scorer = flags
            fields = SameFields(*_BESIDE, typed=[task])
        fields.check(row, place)
        name = get(row, task, (str, int), place)
        verdicts = get(row, flags, (list,), place)
        for column in _BESIDE:
            beside = row.get(column)
            if isinstance(beside, list) and len(beside) != len(verdicts):
                raise OutcomesError(
                    f"{place}: expected a verdict in {flags!r} for each of the {len(beside)} "
                    f"entries of {column!r}; got {len(verdicts)}."
                )
        if not verdicts:
            yield TaskWithoutAttempts(name, f"an empty list in {flags!r}")
        else:
            yield TaskAttempts(name, [_verdict(v, f"{place}, {flags!r}") for v in verdicts])


def _verdict(value, place) -> bool | str:
    passed = as_passed(value)
    if passed is None:
        raise OutcomesError(
            f"{place}: expected true, false (or 1, 0) or null; got {shown(value)}. Turn scores "
            "into true and false first."
        )
    return "null in the list" if passed is pd.NA else passed


def _flags(row, chosen) -> list[str]:
    usual = [] if chosen else _lists(row, FLAGS) or fields_of_verdicts(row)
    return usual or _lists(row, row)


def _tasks(row, chosen) -> list[str]:
    usual = [] if chosen else [name for name in TASKS if name in row]
    return usual or [name for name, value in row.items() if isinstance(value, str | int)]


def _lists(row, names) -> list[str]:
    return [name for name in names if isinstance(row.get(name), list)]


def fields_of_verdicts(row: dict) -> list[str]:
    """The fields of a row that hold a list of verdicts, whatever their names."""
    return [name for name in _lists(row, row) if row[name] and _are_verdicts(row[name])]


def _are_verdicts(values) -> bool:
    return all(not isinstance(v, str) and as_passed(v) is not None for v in values)


def _rows(path) -> Iterator[tuple[str, dict]]:
    is_parquet = contents.suffix(path) == ".parquet"
    rows, noun = (_parquet(path), "row") if is_parquet else json_rows(path)
    for number, row in rows:
        place = f"{path}, {noun} {number}"
        yield place, as_object(row, place)


def _parquet(path):
    with contents.parquet(path) as file:
        rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
        yield from enumerate(rows, 1)
