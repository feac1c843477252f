"""EvalPlus: `*_eval_results.json` (fields as evalplus 0.3.1 writes them)."""

from pathlib import Path

from lib.outcomes.errors import OutcomesError, shown
from lib.outcomes.importers.attempts import Attempt, Imported, TaskWithoutAttempts, as_outcomes
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.records import NONE, get, json_document
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose

_STATUSES = ("pass", "fail", "timeout")


def matches(head: Head) -> bool:
    """Whether a file is a results file of EvalPlus."""
    return head.has("eval", "hash")


def read_evalplus(path: str | Path, *, tests: str | None = None, **cell) -> Imported:
    """Read a results file: for each task a list of attempts with `base_status` and `plus_status`.

    tests: "base" (the original tests) or "plus" (both statuses must be "pass", as in the tool).
    Needed only if the run has results of both.
    Raises OutcomesError naming file, task and attempt.
    """
    path = Path(path)
    report = ImportReport("EvalPlus", [str(path)])
    return as_outcomes(_rows(path, report, tests), report, **cell)


def _rows(path, report, tests):
    document = json_document(path)
    tasks = get(document, "eval", (dict,), str(path))
    attempts = []
    for task, rows in tasks.items():
        if type(rows) is not list:
            raise OutcomesError(
                f"{path}, task {task!r}: expected a list of attempts, as written by evalplus 0.2 "
                f"and later; got {type(rows).__name__}."
            )
        if not rows:
            yield TaskWithoutAttempts(task, "an empty list of attempts")
        for number, row in enumerate(rows):
            place = f"{path}, task {task!r}, attempt {number}"
            if not isinstance(row, dict) or get(row, "task_id", (str,), place) != task:
                raise OutcomesError(f"{place}: expected an attempt at this task.")
            statuses = {
                "base": _status(row, "base_status", (str,), place),
                "plus": _status(row, "plus_status", (str, NONE), place),
            }
            attempts.append((task, number, statuses, place))
    ran = ["base"]
    if any(statuses["plus"] for _, _, statuses, _ in attempts):
        ran.append("plus")
    tests = choose(ran, tests, "tests", "kind of tests", str(path))
    report.scorer = f"{tests} tests"
    for task, number, statuses, place in attempts:
        if (statuses["plus"] is None) != ("plus" not in ran):
            raise OutcomesError(f"{place}: no 'plus_status', which other attempts have.")
        needed = ("base",) if tests == "base" else ("base", "plus")
        yield Attempt(task, number, all(statuses[name] == "pass" for name in needed))


def _status(row, name, kinds, place):
    status = get(row, name, kinds, place)
    if status is not None and status not in _STATUSES:
        raise OutcomesError(
            f"{place}, {name!r}: expected one of {', '.join(_STATUSES)}; got {shown(status)}."
        )
    return status
