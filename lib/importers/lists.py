"""Repeated samples as data sets on the Hugging Face hub keep them: a list of verdicts a task.

Such data sets have no one schema; names as in several that are published there.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from lib.importers.log import Attempt, Imported, Untried, collect
from lib.importers.records import NONE, Alike, get, json_document, json_lines
from lib.importers.reports import ImportReport
from lib.importers.scores import choose
from lib.outcomes import OutcomesError

FLAGS = ("is_correct", "is_corrects", "correct", "corrects", "passed", "is_passed", "labels")
TASKS = ("task_id", "task", "id", "unique_id", "problem_id", "question_id", "example_id", "uuid")
_BESIDE = ("responses", "generations", "samples", "completions", "outputs", "predictions")


def read_lists(
    path: str | Path, *, task: str | None = None, flags: str | None = None, **cell
) -> Imported:
    """Read rows with a list of true, false or null, one an attempt (.jsonl, .json, .parquet).

    task, flags: the columns with the task's name and with the list, where several could be meant.
    A row that comes again for a task replaces the earlier one whole. An empty list is a task
    without attempts, which the report names.
    Raises OutcomesError naming file and row.
    """
    path = Path(path)
    report = ImportReport("lists of verdicts", [str(path)])
    return collect(_attempts(path, report, task, flags), report, **cell)


def _attempts(path, report, task, flags):
    alike = None
    for record, (place, row) in enumerate(_rows(path)):
        if alike is None:
            flags = choose(_lists(row, FLAGS), flags, "flags", "list of verdicts", place)
            task = choose([n for n in TASKS if n in row], task, "task", "name of tasks", place)
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
        for number, passed in enumerate(verdicts):
            if type(passed) not in (bool, NONE):
                raise OutcomesError(
                    f"{place}, {flags!r}: got {passed!r}, expected true, false or null."
                )
            reason = "null in the list" if passed is None else None
            yield Attempt(name, number, passed, reason, record=record)


def _lists(row, names) -> list[str]:
    return [name for name in names if isinstance(row.get(name), list)]


def is_lists(row: dict) -> bool:
    """Whether a row looks like one of these."""
    named = any(name in row for name in TASKS)
    return any(
        (row[name] or named) and all(type(v) in (bool, NONE) for v in row[name])
        for name in _lists(row, FLAGS)
    )


def _rows(path) -> Iterator[tuple[str, dict]]:
    if path.name.endswith(".parquet"):
        rows: Iterable = enumerate(_parquet(path), 1)
        word = "row"
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        rows, word = json_lines(path), "line"
    else:
        rows, word = enumerate(json_document(path), 1), "row"
    for number, row in rows:
        if not isinstance(row, dict):
            raise OutcomesError(f"{path}, {word} {number}: expected an object.")
        yield f"{path}, {word} {number}", row


def _parquet(path):
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise OutcomesError(f"{path}: not a Parquet file ({error}).") from error
