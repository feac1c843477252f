"""Repeated samples as data sets on the Hugging Face hub keep them: a list of verdicts a task.

Such data sets have no one schema; names as in several that are published there.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from lib.outcomes import OutcomesError, contents
from lib.outcomes.importers.attempts import Imported, Tried, Untried, collect
from lib.outcomes.importers.records import Alike, get, json_rows
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose
from lib.outcomes.values import as_passed, shown

FLAGS = ("is_correct", "is_corrects", "correct", "corrects", "passed", "is_passed", "labels")
TASKS = ("task_id", "task", "id", "unique_id", "problem_id", "question_id", "example_id", "uuid")
_BESIDE = ("responses", "generations", "samples", "completions", "outputs", "predictions")


def read_lists(
    path: str | Path, *, task: str | None = None, flags: str | None = None, **cell
) -> Imported:
    """Read rows with a list of true, false or null (or 1, 0), one an attempt.

    Files are JSON lines, one JSON list of objects, or Parquet.
    task, flags: the columns with the task's name and with the list, where several could be meant,
    or where they have other names than `TASKS` and `FLAGS`.
    A row that comes again for a task replaces the earlier one whole. An empty list is a task
    without attempts, which the report names.
    Raises OutcomesError naming file and row.
    """
    path = Path(path)
    report = ImportReport("lists of verdicts", [str(path)])
    return collect(_attempts(path, report, task, flags), report, **cell)


def _attempts(path, report, task, flags):
    alike = None
    for place, row in _rows(path):
        if alike is None:
            flags = choose(_flags(row, flags), flags, "flags", "list of verdicts", place)
            task = choose(_tasks(row, task), task, "task", "name of tasks", place)
            report.scorer = flags
            alike = Alike(*_BESIDE, typed=[task])
        alike.check(row, place)
        name = get(row, task, (str, int), place)
        verdicts = get(row, flags, (list,), place)
        for column in _BESIDE:
            beside = row.get(column)
            if isinstance(beside, list) and len(beside) != len(verdicts):
                raise OutcomesError(
                    f"{place}: {flags!r} is a list of {len(verdicts)} and {column!r} of "
                    f"{len(beside)}; expected a verdict for each."
                )
        if not verdicts:
            yield Untried(name, f"an empty list in {flags!r}")
        else:
            yield Tried(name, [_verdict(one, f"{place}, {flags!r}") for one in verdicts])


def _verdict(value, place) -> bool | str:
    passed = as_passed(value)
    if passed is None:
        raise OutcomesError(
            f"{place}: got {shown(value)}, expected true, false (or 1, 0) or null; turn a score "
            "into pass or fail first."
        )
    return "null in the list" if passed is pd.NA else passed


def _flags(row, given) -> list[str]:
    usual = [] if given else _lists(row, FLAGS) or like_verdicts(row)
    return usual or _lists(row, row)


def _tasks(row, given) -> list[str]:
    usual = [] if given else [name for name in TASKS if name in row]
    return usual or [name for name, value in row.items() if isinstance(value, str | int)]


def _lists(row, names) -> list[str]:
    return [name for name in names if isinstance(row.get(name), list)]


def is_lists(row: dict) -> bool:
    """Whether a row looks like one of these."""
    named = any(name in row for name in TASKS)
    return any((row[name] or named) and _are_verdicts(row[name]) for name in _lists(row, FLAGS))


def like_verdicts(row: dict) -> list[str]:
    """The fields of a row with verdicts in a list, whatever they are called."""
    return [name for name in _lists(row, row) if row[name] and _are_verdicts(row[name])]


def _are_verdicts(values) -> bool:
    return all(not isinstance(v, str) and as_passed(v) is not None for v in values)


def _rows(path) -> Iterator[tuple[str, dict]]:
    rows, word = json_rows(path) if contents.suffix(path) != ".parquet" else (_parquet(path), "row")
    for number, row in rows:
        if not isinstance(row, dict):
            raise OutcomesError(f"{path}, {word} {number}: expected an object.")
        yield f"{path}, {word} {number}", row


def _parquet(path):
    with contents.parquet(path) as file:
        rows = (row for batch in file.iter_batches() for row in batch.to_pylist())
        yield from enumerate(rows, 1)
