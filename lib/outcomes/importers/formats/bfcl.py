"""BFCL v4: folders of `*_result.json` and `*_score.json` (checked against bfcl-eval 2026.3.23)."""

import hashlib
import json
import re
from pathlib import Path

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.folders import files_below, met_again
from lib.outcomes.importers.records import NONE, get, json_lines
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose

_NAME = re.compile(r"(?P<start>BFCL_v\d+_(?P<category>\w+?))_(?P<kind>result|score)\.json")
_PREPARES = re.compile(r"memory_\w+_prereq")
"""Categories that the tool never scores."""

_TROUBLE = "Error during inference:"


def read_bfcl(path: str | Path, *, model: str | None = None, **cell) -> Imported:
    """Read one run, or the runs below a folder: each run is one attempt at every task.

    A run is a folder with `result/MODEL/...` and `score/MODEL/...` as the tool writes them. A score
    file lists the failures only, after a header with counts, so the result file says which tasks
    there are. model: which one, where a folder has several.
    An error during inference is missing, with its message; the tool counts it as a failure (and, of
    the tasks that no function fits, as a success). A category with one of its two files is skipped,
    as are a copy of another run and files with other names; the report tells of each.
    Raises OutcomesError naming file and line, also where the two files do not fit together.
    """
    path = Path(path)
    if not path.is_dir():
        raise OutcomesError(
            f"{path}: expected a folder, which holds BFCL's result and score folders."
        )
    report = ImportReport("BFCL", scorer="the tool's checker")
    runs = _runs(path, report)
    models = [name for run in runs.values() for name in run]
    if not models:
        raise OutcomesError(
            f"{path}: no result/MODEL/.../BFCL_v4_*_result.json below it. Give the "
            "folder that holds `result` and `score`, or several such folders, one a run."
        )
    model = choose(models, model, "model", "model", str(path))
    for run in runs.values():
        for name in run.keys() - {model}:
            report.skipped[f"files of the model {name!r}"] += sum(map(len, run[name].values()))
    runs = {name: run[model] for name, run in runs.items() if model in run}
    return collect(_rows(path, runs, report), report, **cell)


def _runs(path, report):
    """{run: {model: {category's place below it: {"result" and "score": file}}}}, in order."""
    for link in met_again(path):
        report.skipped[f"{link.relative_to(path)} leads to a folder that is read already"] += 1
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
    for folder in sorted({path.joinpath(*run[:-1]) for run in runs if run}):
        for beside in sorted(one for one in folder.iterdir() if one.is_dir()):
            parts = beside.relative_to(path).parts
            if not any(run[: len(parts)] == parts for run in runs) and beside.name[0] != ".":
                report.skipped[f"{'/'.join(parts)}, beside the runs, has no file of a run"] += 1
    return runs


def _rows(path, runs, report):
    read, met = {run: set() for run in runs}, {}
    for number, (run, categories) in enumerate(runs.items()):
        for files in categories.values():
            if len(files) == 1:
                ((kind, file),) = files.items()
                prepares = _PREPARES.fullmatch(_NAME.fullmatch(file.name)["category"])
                lacks = {
                    "result": "no score file, since it only prepares the memory"
                    if prepares
                    else "no score file; run bfcl evaluate",
                    "score": "no result file, which says what its tasks are",
                }
                report.skipped[f"{file.relative_to(path)} has {lacks[kind]}"] += 1
                continue
            file, score = files["result"], files["score"]
            category = _NAME.fullmatch(file.name)["category"]
            read[run].add(category)
            results, digest = _results(file)
            failed = _failures(score, results)
            first, failed_there = met.setdefault(digest, (file, failed))
            if first != file and not all(map(_trouble, results.values())):
                if failed != failed_there:
                    raise OutcomesError(
                        f"{file}: the same results, to the letter, as {first}, and {score.name} "
                        "beside it lists other failures. Delete the copy, or score both alike."
                    )
                report.skipped[
                    f"{file.relative_to(path)} is a copy of {first.relative_to(path)}"
                ] += 1
                continue
            report.files += [str(file), str(score)]
            for task, result in results.items():
                reason = _trouble(result)
                yield Attempt(
                    task, number, None if reason else task not in failed, reason, None, category
                )
    for category in sorted(set().union(*read.values())):
        for run in (run for run in read if category not in read[run]):
            report.note(
                f"no attempts of {'/'.join(run) or 'run .'} at {category}, as of other runs"
            )


def _results(file) -> tuple[dict, str]:
    """What the model said to each task, and a digest of all that the file holds of it."""
    results, digests = {}, []
    for number, row in json_lines(file):
        place = f"{file}, line {number}"
        task = get(row, "id", (str,), place)
        if task in results:
            raise OutcomesError(f"{place}: task {task!r} is there twice.")
        results[task] = get(row, "result", (str, list, dict, NONE), place)
        digests.append(hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest())
    return results, hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


def _trouble(result) -> str | None:
    if isinstance(result, str) and result.startswith(_TROUBLE):
        return f"inference error:{result[len(_TROUBLE) :][:80]}"
    return None


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
