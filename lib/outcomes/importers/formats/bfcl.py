"""BFCL v4: folders of `*_result.json` and `*_score.json` (checked against bfcl-eval 2026.3.23)."""

import hashlib
import json
import re
from pathlib import Path

from lib.outcomes.errors import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, as_outcomes
from lib.outcomes.importers.folders import files_below, repeated_folders
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.records import NONE, get, placed_lines
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose

_NAME = re.compile(r"(?P<start>BFCL_v\d+_(?P<category>\w+?))_(?P<kind>result|score)\.json")
_PREPARES = re.compile(r"memory_\w+_prereq")
"""Categories that the tool never scores."""

_INFERENCE_ERROR = "Error during inference:"


def matches(head: Head) -> bool:
    """Whether a file is one of a BFCL run; `read_bfcl` then asks for the run's folder."""
    return head.has("id", "result") or head.has("accuracy", "correct_count")


def files_in(folder: Path) -> list[Path]:
    """The result files below a folder."""
    return files_below(folder, "BFCL_v*_result.json")


def read_bfcl(path: str | Path, *, model: str | None = None, **cell) -> Imported:
    """Read one run, or the runs below a folder: each run is one attempt at every task.

    A run is a folder with `result/MODEL/...` and `score/MODEL/...` as the tool writes them. Score
    files hold a header with counts, and the failures only; the tasks come from the result files.
    model: the model to read, if a folder has several.
    An error during inference is a missing outcome, with its message as the reason. (The tool counts
    it as a failure, or as a success if no function fits the task.) The report lists what is
    skipped: a category without one of its two files, a copy of another run, files of other names.
    Raises OutcomesError naming file and line, also if the two files contradict each other.
    """
    path = Path(path)
    if not path.is_dir():
        raise OutcomesError(
            f"{path}: one file of BFCL. Expected the folder that holds `result` and `score`."
        )
    report = ImportReport("BFCL", scorer="the tool's checker")
    runs = _runs(path, report)
    models = [name for run in runs.values() for name in run]
    if not models:
        raise OutcomesError(
            f"{path}: no result/MODEL/.../BFCL_v4_*_result.json below it. Expected a folder that "
            "holds `result` and `score`, or a folder of several such folders, one for each run."
        )
    model = choose(models, model, "model", "model", str(path))
    report.name_model(model)
    for run in runs.values():
        for name in run.keys() - {model}:
            report.skipped[f"files of the model {name!r}"] += sum(map(len, run[name].values()))
    runs = {name: run[model] for name, run in runs.items() if model in run}
    return as_outcomes(_rows(path, runs, report), report, **cell)


def _runs(path, report):
    """{run: {model: {path of a category: {"result" and "score": file}}}}, in order."""
    for link in repeated_folders(path):
        report.skipped[f"{link.relative_to(path)} links to a folder that was read already"] += 1
    runs = {}
    for file in files_below(path, "*"):
        parts = file.relative_to(path).parts
        named = _NAME.fullmatch(file.name)
        kinds = [named["kind"]] if named else ["result", "score"]
        at = next((i for i, part in enumerate(parts[:-2]) if part in kinds), None)
        if at is None and named:
            report.skipped[f"{'/'.join(parts)} is not below {named['kind']}/MODEL"] += 1
        elif at is not None and not named and "memory_snapshot" not in parts:
            expected = f"BFCL_v4_CATEGORY_{parts[at]}.json"
            report.skipped[f"{'/'.join(parts)} has another name than {expected}"] += 1
        elif at is not None and named:
            model = runs.setdefault(parts[:at], {}).setdefault(parts[at + 1], {})
            model.setdefault((*parts[at + 2 : -1], named["start"]), {})[named["kind"]] = file
    for parent in sorted({path.joinpath(*run[:-1]) for run in runs if run}):
        for folder in sorted(entry for entry in parent.iterdir() if entry.is_dir()):
            parts = folder.relative_to(path).parts
            if not any(run[: len(parts)] == parts for run in runs) and folder.name[0] != ".":
                report.skipped[f"{'/'.join(parts)}, beside the runs, has no file of a run"] += 1
    return runs


def _rows(path, runs, report):
    read, first_with = {run: set() for run in runs}, {}
    for number, (run, categories) in enumerate(runs.items()):
        for files in categories.values():
            if len(files) == 1:
                ((kind, file),) = files.items()
                report.skipped[f"{file.relative_to(path)} has {_lacking(kind, file)}"] += 1
                continue
            file, score = files["result"], files["score"]
            category = _NAME.fullmatch(file.name)["category"]
            read[run].add(category)
            results, digest = _results(file)
            failed = _failures(score, results)
            first, failed_there = first_with.setdefault(digest, (file, failed))
            if first != file and not all(map(_inference_error, results.values())):
                if failed != failed_there:
                    raise OutcomesError(
                        f"{file}: a copy of {first}, but {score.name} beside it lists other "
                        "failures. Delete one of the two, or score both alike."
                    )
                report.skipped[
                    f"{file.relative_to(path)} is a copy of {first.relative_to(path)}"
                ] += 1
                continue
            report.files += [str(file), str(score)]
            for task, result in results.items():
                reason = _inference_error(result)
                yield Attempt(
                    task, number, None if reason else task not in failed, reason, None, category
                )
    for category in sorted(set().union(*read.values())):
        for run in (run for run in read if category not in read[run]):
            report.note(
                f"{'/'.join(run) or 'run .'} has no attempts at {category}, which other runs have"
            )


def _lacking(kind, file) -> str:
    if kind == "score":
        return "no result file, which names its tasks"
    if _PREPARES.fullmatch(_NAME.fullmatch(file.name)["category"]):
        return "no score file, since it only prepares the memory"
    return "no score file; run bfcl evaluate"


def _results(file) -> tuple[dict, str]:
    """The model's result for each task, and a digest of all rows."""
    results, digests = {}, []
    for place, row in placed_lines(file):
        task = get(row, "id", (str,), place)
        if task in results:
            raise OutcomesError(f"{place}: task {task!r} is there twice.")
        results[task] = get(row, "result", (str, list, dict, NONE), place)
        digests.append(hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest())
    return results, hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


def _inference_error(result) -> str | None:
    if isinstance(result, str) and result.startswith(_INFERENCE_ERROR):
        return f"inference error:{result[len(_INFERENCE_ERROR) :][:80]}"
    return None


def _failures(score, results) -> set[str]:
    """The tasks that a score file lists as failures, once its header agrees with both files."""
    rows = placed_lines(score)
    place, header = next(rows, (f"{score}, line 1", {}))
    total = get(header, "total_count", (int,), place)
    correct = get(header, "correct_count", (int,), place)
    accuracy = get(header, "accuracy", (int, float), place)
    failed = set()
    for at, row in rows:
        task = get(row, "id", (str,), at)
        if get(row, "valid", (bool,), at) or task not in results or task in failed:
            raise OutcomesError(
                f"{at}: expected a failure of a task in the result file, listed once; got {task!r}."
            )
        failed.add(task)
    if total != len(results):
        raise OutcomesError(
            f"{place}: expected a total_count of {len(results)}, the tasks in the result file; got "
            f"{total}. Run bfcl evaluate again."
        )
    if correct != total - len(failed) or (total and abs(accuracy - correct / total) > 1e-9):
        raise OutcomesError(
            f"{place}: {correct} of {total} are correct (accuracy {accuracy}) by the header, but "
            f"{len(failed)} failures are listed. If the file was cut short, fetch it again."
        )
    return failed
