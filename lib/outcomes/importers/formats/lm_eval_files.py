"""Which samples files of lm-evaluation-harness to read, and which filter and metric of each."""

import re
from collections import Counter
from pathlib import Path

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, first_few, option
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.formats.lm_eval_responses import Responses
from lib.outcomes.importers.records import get, json_document, placed_lines
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose, error_measure, measures_errors

_NAME = re.compile(r"samples_(?P<task>.+?)(_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl(\.gz)?$")

NOT_RECORDED = "not recorded"
"""The filter of all rows of a log up to 0.4.6, which does not name it."""


def samples_files(folder: Path) -> list[Path]:
    """The samples files below a folder."""
    return files_below(folder, "samples_*.jsonl*")


def task_of(file: Path) -> str:
    """The tool's task, by the name of a samples file."""
    name = _NAME.match(file.name)
    return name["task"] if name else "default"


def _date_of(file) -> str:
    name = _NAME.match(file.name)
    return (name["date"] if name else None) or ""


def results_beside(files: list[Path]) -> dict[Path, dict]:
    """The content of the tool's results file beside each samples file; {} if there is none."""
    documents, results = {}, {}
    for file in files:
        beside = sorted(file.parent.glob(f"*_{_date_of(file)}.json")) if _date_of(file) else []
        for path in beside:
            if path not in documents:
                documents[path] = json_document(path)
        results[file] = next(
            (documents[path] for path in beside if isinstance(documents[path], dict)), {}
        )
    return results


def files_to_read(
    path: Path,
    files: list[Path],
    results: dict[Path, dict],
    report: ImportReport,
    *,
    model: str | None,
    reruns: str | None,
) -> list[Path]:
    """The files of the chosen model, oldest first; the report lists the others.

    If several files hold one task: all of them with reruns="attempts", the newest with "last".
    Raises OutcomesError if a choice is needed and missing.
    """
    files = _of_one_model(path, files, results, model, report)
    files = sorted(files, key=lambda file: (task_of(file), _date_of(file), str(file)))
    if reruns == "attempts":
        return _without_copies(files, report)
    newest = {task_of(file): file for file in files}
    earlier = [file for file in files if newest[task_of(file)] is not file]
    if not earlier:
        return files
    if reruns is None:
        task = task_of(earlier[0])
        n = sum(task_of(file) == task for file in files)
        raise OutcomesError(
            f"{path}: {n} files hold the task {task!r}. Choose what later files are: "
            f"{option('reruns', 'attempts')} for further attempts, or {option('reruns', 'last')} "
            "if only the newest counts."
        )
    for file in earlier:
        last = newest[task_of(file)]
        report.skipped[f"file {file.name}, an earlier run than {last.name}, which counts"] += 1
    return list(newest.values())


def _of_one_model(path, files, results, model, report) -> list[Path]:
    """The files of the chosen model, or of the only one."""
    models = {}
    for file in files:
        name = results[file].get("model_name")
        models[file] = name if isinstance(name, str) and name else ""
    folders = {_folder_of(name): name for name in models.values() if name}
    for file in files:
        folder = file.absolute().parent.name
        models[file] = models[file] or folders.get(folder, folder)
    place = str(path)
    if len(set(models.values())) > 1:
        place += " (models by the results file beside the samples, or else by the folder)"
    model = choose(models.values(), model, "model", "model", place)
    for file in files:
        if models[file] != model:
            report.skipped[f"files of the model {models[file]!r}"] += 1
    report.name_model(model)
    kept = [file for file in files if models[file] == model]
    configs = [results[file].get("config") for file in kept]
    arguments = dict.fromkeys(str(c["model_args"]) for c in configs if _has(c, "model_args"))
    if len(arguments) > 1:
        report.note(f"{model!r} was run with different model_args: {'; '.join(arguments)}")
    return kept


def _folder_of(model) -> str:
    """The folder that the tool names after a model."""
    return re.sub(r"[\"<>:/|\\?*\[\]]+", "__", model)


def _has(value, name) -> bool:
    return isinstance(value, dict) and name in value


def _without_copies(files, report) -> list[Path]:
    """The files without copies of another file of their task: two runs never agree that far."""
    of_task, first = Counter(map(task_of, files)), {}
    for file in files:
        key = (task_of(file), contents.digest(file) if of_task[task_of(file)] > 1 else "")
        if first.setdefault(key, file) is not file:
            report.skipped[f"file {file} is a copy of {first[key]}"] += 1
    return list(first.values())


def choose_filters(
    path: Path, files: list[Path], chosen: str | None, report: ImportReport
) -> dict[Path, str]:
    """The filter of each file that has rows: the chosen one, or the file's only one."""
    heads = {file: next(placed_lines(file), None) for file in files}
    for file in [file for file, head in heads.items() if head is None]:
        report.skipped[f"file {file.name} has no rows"] += 1
        del heads[file]
    if not heads:
        raise OutcomesError(f"{path}: no attempts; expected a log with some.")
    if chosen is None:
        filters = {file: [filter_of(*head)] for file, head in heads.items()}
    else:
        filters = {file: _filters(file, chosen) for file in heads}
    return _of_each(path, filters, chosen, "filter")


def filter_of(place: str, row: dict) -> str:
    """The filter of a row."""
    return get(row, "filter", (str,), place) if "filter" in row else NOT_RECORDED


def _filters(file, enough=None) -> list[str]:
    """The filters of a file, in order; stops at the filter `enough`."""
    seen = {}
    for place, row in placed_lines(file):
        seen[filter_of(place, row)] = None
        if enough in seen:
            break
    return list(seen)


def refuse_several_filters(files: list[Path], file: Path) -> None:
    """Raise the OutcomesError for a file of several filters, none of which was chosen."""
    filters = {other: _filters(other) for other in files}
    names = _common_first(filters, None, "filter", file)
    choose(names, None, "filter", "filter", f"{file} ({_scored_by_filter(file)})")


def _scored_by_filter(file) -> str:
    """How many of a task's responses each filter of a file scores, by its first row."""
    texts = {}
    for place, row in placed_lines(file):
        name = filter_of(place, row)
        if name not in texts:
            responses = Responses(row, place)
            scored = len(responses.kept) if responses.listed else 1
            of = len(responses.texts)
            texts[name] = f"filter {name!r} scores {scored} of {of} responses a task"
    return ", ".join(texts.values())


def choose_metrics(
    path: Path,
    results: dict[Path, dict],
    filters: dict[Path, str],
    chosen: str | None,
) -> dict[Path, str]:
    """The metric of each file: the chosen one, or the only one of which higher is better."""
    metrics, lower_is_better = {}, {}
    for file, filter in filters.items():
        place, row = next(
            (place, row) for place, row in placed_lines(file) if filter_of(place, row) == filter
        )
        higher = results[file].get("higher_is_better")
        higher = higher.get(task_of(file)) if isinstance(higher, dict) else None
        names = _metrics(row, place)
        lower_is_better |= {
            name: place
            for name in names
            if measures_errors(name) or (_has(higher, name) and higher[name] is False)
        }
        metrics[file] = [name for name in names if name not in lower_is_better or name == chosen]
    if chosen in lower_is_better or (lower_is_better and not any(metrics.values())):
        name = chosen or next(iter(lower_is_better))
        raise error_measure(name, lower_is_better[name])
    return _of_each(path, metrics, chosen, "metric")


def _metrics(row, place) -> list[str]:
    """The metrics that a row lists, or, before 0.4.5, the names of its numbers."""
    if "metrics" in row:
        names = get(row, "metrics", (list,), place)
        if any(type(name) is not str for name in names):
            raise OutcomesError(
                f"{place}, 'metrics': expected names of metrics, got {names!r:.80}."
            )
    else:
        names = [name for name, value in row.items() if type(value) in (int, float, bool)]
        names = [name for name in names if name not in ("doc_id", "target")]
    return [name for name in names if type(row.get(name)) in (int, float, bool)]


def _of_each(path, names_of, chosen, noun) -> dict[Path, str]:
    """The name for each file: the chosen one, which all must have, or the only one of its task."""
    of_tasks = {(task_of(file), name) for file, names in names_of.items() for name in names}
    one_each = len(of_tasks) == len({task for task, _ in of_tasks})
    if chosen is None and all(names_of.values()) and one_each:
        return {file: name for file, (name,) in names_of.items()}
    place = str(path) if path in names_of else f"{path} ({_by_names(names_of)})"
    names = _common_first(names_of, chosen, noun, path)
    return dict.fromkeys(names_of, choose(names, chosen, noun, noun, place))


def _common_first(names_of, chosen, noun, path) -> list[str]:
    """All names in the files, those in every file first. Raises OutcomesError if none will do."""
    names = dict.fromkeys(name for of_file in names_of.values() for name in of_file)
    common = [name for name in names if all(name in of_file for of_file in names_of.values())]
    if names and chosen not in common and (chosen in names or not common):
        lacking = f"the {noun} {chosen!r}" if chosen in names else f"a {noun} in common"
        none = "" if chosen in (None, *names) else f"no file has the {noun} {chosen!r}, and "
        remedy = "Choose one that all have, or put" if common else "Put"
        raise OutcomesError(
            f"{path}: {none}not all files have {lacking}: {_by_names(names_of)}. {remedy} the "
            "files of each into a folder of their own."
        )
    return list(dict.fromkeys([*common, *names]))


def _by_names(names_of) -> str:
    """Which files have which names: 'a' in x.jsonl; 'a', 'b' in y.jsonl and 3 more."""
    files = {}
    for file, names in names_of.items():
        files.setdefault(", ".join(map(repr, names)) or "none", []).append(file.name)
    return "; ".join(
        f"{names} in {of[0]}" + (f" and {len(of) - 1} more" if of[1:] else "")
        for names, of in files.items()
    )


def scoring_rule(metrics: dict[Path, str], filters: dict[Path, str]) -> str:
    """Metric and filter in words, with their tasks if not all tasks have the same."""
    groups = {}
    for file, metric in metrics.items():
        tasks = groups.setdefault(f"{metric}, filter {filters[file]}", {})
        tasks[task_of(file)] = None
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{rule} ({first_few(list(tasks))})" for rule, tasks in groups.items())


def record_conditions(files: list[Path], results: dict[Path, dict], report: ImportReport) -> None:
    """Record in the report how each task was put to the model, by the results files."""
    for file in files:
        for name, field in (("n-shot", "n-shot"), ("task version", "versions")):
            values = results[file].get(field)
            value = values.get(task_of(file)) if isinstance(values, dict) else None
            report.condition(name, task_of(file), value)
        config = results[file].get("config")
        report.condition("limit", "", config.get("limit") if isinstance(config, dict) else None)
