"""EvalPlus: `*_eval_results.json` (fields as evalplus 0.3.1 writes them)."""

from pathlib import Path

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, Untried, collect
from lib.outcomes.importers.records import NONE, get, json_document
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose
from lib.outcomes.values import shown

_STATUSES = ("pass", "fail", "timeout")


def read_evalplus(path: str | Path, *, tests: str | None = None, **cell) -> Imported:
    """Read EvalPlus results: for each task a list of attempts with `base_status`, `plus_status`.

    tests: "base" (the original tests) or "plus", which is passed where both statuses are "pass", as
    the tool counts it. Results of a run with base tests only need no choice.
    Raises OutcomesError naming file, task and attempt.
    """
    path = Path(path)
    report = ImportReport("EvalPlus", [str(path)])
    return collect(_rows(path, report, tests), report, **cell)


def _rows(path, report, tests):
    document = json_document(path)
    tasks = get(document, "eval", (dict,), str(path))
    attempts = []
    for task, rows in tasks.items():
        if type(rows) is not list:
            raise OutcomesError(
                f"{path}, task {task!r}: expected a list of attempts, as evalplus 0.2 and later "
                f"write, got {type(rows).__name__}."
            )
        if not rows:
            yield Untried(task, "an empty list of attempts")
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
            raise OutcomesError(f"{place}: no plus_status, which other attempts have.")
        needed = ("base",) if tests == "base" else ("base", "plus")
        yield Attempt(task, number, all(statuses[name] == "pass" for name in needed))


def _status(row, name, kinds, place):
    status = get(row, name, kinds, place)
    if status is not None and status not in _STATUSES:
        raise OutcomesError(
            f"{place}, {name!r}: got {shown(status)}, expected {', '.join(_STATUSES)}."
        )
    return status
