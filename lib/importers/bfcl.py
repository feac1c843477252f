"""BFCL v4: folders of `*_result.json` and `*_score.json` (checked against bfcl-eval 2026.3.23)."""

import re
from pathlib import Path

from lib.importers.log import (
    Attempt,
    Imported,
    ImportReport,
    choose,
    collect,
    get,
    json_lines,
)
from lib.outcomes import OutcomesError

_NAME = re.compile(r"BFCL_v\d+_(?P<category>\w+?)_(?P<kind>result|score)\.json$")
_TROUBLE = "Error during inference:"


def read_bfcl(path: str | Path, *, model: str | None = None, **cell) -> Imported:
    """Read one run, or the runs below a folder: each run is one attempt at every task.

    A run is a folder with `result/MODEL/...` and `score/MODEL/...` as the tool writes them. A score
    file lists the failures only, after a header with counts, so the result file says which tasks
    there are. model: which one, where a folder has several.
    An error during inference is missing, with its message; the tool counts it as a failure (and, of
    the tasks that no function fits, as a success). A category without a score file is skipped.
    Raises OutcomesError naming file and line, also where the two files do not fit together.
    """
    path = Path(path)
    if not path.is_dir():
        raise OutcomesError(
            f"{path}: expected a folder, which holds BFCL's result and score folders."
        )
    report = ImportReport("BFCL", scorer="the tool's checker")
    runs = {}
    for file in sorted(path.rglob("BFCL_v*_result.json")):
        parts = file.relative_to(path).parts
        if "result" not in parts[:-1] or not _NAME.match(file.name):
            report.skipped[f"{file.name} is not below a folder called result"] += 1
            continue
        at = parts.index("result")
        runs.setdefault(parts[:at], {}).setdefault(parts[at + 1], []).append((file, at))
    if not runs:
        raise OutcomesError(f"{path}: no result/MODEL/.../BFCL_v4_*_result.json below it.")
    models = [name for run in runs.values() for name in run]
    model = choose(models, model, "model", "model", str(path))
    return collect(_rows(path, runs, model, report), report, **cell)


def _rows(path, runs, model, report):
    for number, run in enumerate(runs):
        for file, at in runs[run].get(model, ()):
            category = _NAME.match(file.name)["category"]
            parts = list(file.relative_to(path).parts)
            parts[at] = "score"
            parts[-1] = file.name.replace("_result.json", "_score.json")
            score = path.joinpath(*parts)
            if not score.is_file():
                report.skipped[f"category {category} has no score file; run bfcl evaluate"] += 1
                continue
            report.files += [str(file), str(score)]
            for task, passed, reason in _category(file, score):
                yield Attempt(task, number, passed, reason, None, category)


def _category(file, score):
    results = {}
    for number, row in json_lines(file):
        place = f"{file}, line {number}"
        task = get(row, "id", (str,), place)
        if task in results:
            raise OutcomesError(f"{place}: task {task!r} is there twice.")
        results[task] = get(row, "result", (str, list, dict), place)
    failed = _failures(score, results)
    for task, result in results.items():
        if isinstance(result, str) and result.startswith(_TROUBLE):
            yield task, None, f"inference error:{result[len(_TROUBLE) :][:80]}"
        else:
            yield task, task not in failed, None


def _failures(score, results) -> set[str]:
    """The tasks that a score file lists as failures, its header checked against both files."""
    rows = json_lines(score)
    number, header = next(rows, (1, {}))
    place = f"{score}, line {number}"
    total = get(header, "total_count", (int,), place)
    correct = get(header, "correct_count", (int,), place)
    accuracy = get(header, "accuracy", (int, float), place)
    failed = set()
    for number, row in rows:
        at = f"{score}, line {number}"
        task = get(row, "id", (str,), at)
        if get(row, "valid", (bool,), at) or task not in results or task in failed:
            raise OutcomesError(
                f"{at}: expected a failure, once, of a task in the result file; got {task!r}."
            )
        failed.add(task)
    if total != len(results):
        raise OutcomesError(
            f"{place}: counts {total} tasks, and the result file has {len(results)}. Run bfcl "
            "evaluate again."
        )
    if correct != total - len(failed) or (total and abs(accuracy - correct / total) > 1e-9):
        raise OutcomesError(
            f"{place}: says {correct} of {total} are correct (accuracy {accuracy}), and lists "
            f"{len(failed)} failures. Is the file cut short?"
        )
    return failed
