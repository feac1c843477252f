"""lm-evaluation-harness: `samples_<task>_<date>.jsonl` (checked against lm-eval 0.4.13)."""

import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lib.outcomes import OutcomesError, contents
from lib.outcomes.importers.attempts import Attempt, Counted, Imported, Tried, collect
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.formats.lm_eval_responses import Responses, verdicts
from lib.outcomes.importers.records import NONE, Alike, get, json_document, json_lines
from lib.outcomes.importers.reports import ImportReport, one_document
from lib.outcomes.importers.verdicts import choose, error_measure, measures_errors
from lib.outcomes.wording import option, shortened

_NAME = re.compile(r"samples_(?P<task>.+?)(_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl(\.gz)?$")
_UNTOLD = "not recorded"
"""The filter of all rows of a log up to 0.4.6, which does not name it."""


def read_lm_eval(
    path: str | Path,
    *,
    metric: str | None = None,
    filter: str | None = None,  # the tool's own word
    model: str | None = None,
    reruns: str | None = None,
    threshold: float | None = None,
    **cell,
) -> Imported:
    """Read a samples file, or all samples files of a folder; a document is a task.

    metric, filter: which of the metrics and filters counts, where there are several; every file
    must have it. Where each of the tool's tasks has one, that one counts, whatever the others have.
    model: which, where the folder holds logs of several: by the results file beside
    the samples, or else by the folder they are in, which the tool names after the model.
    reruns: what the files are where several hold one task: "attempts" numbers a document that comes
    again on as a further attempt, and leaves copies of a file out; "last" takes the newest file,
    whole. One must be chosen. A document that comes again within a file replaces the earlier,
    unless they are "attempts".
    threshold: the score from which on an attempt is a success, where scores are neither 0 nor 1.

    The tool's tasks are benchmarks. Under one name for all, `benchmark`, the documents of several
    are told apart as "task/document". A document without a score, or with NaN, is missing.
    A document may have several responses (`repeats`). Where the filter keeps them all
    (take_first_k) and the metric is exact_match or pass@1, each was scored. Where it keeps one
    (take_first, the default, or a vote), that one was scored, and the others are missing.
    Raises OutcomesError naming file and line, or the files that do not go together, also where one
    number is that of two documents.
    """
    path = Path(path)
    report = ImportReport("lm-evaluation-harness")
    report.succeed_from(threshold)
    if reruns not in (None, "last", "attempts"):
        raise OutcomesError(f'reruns={reruns!r}: expected "attempts" or "last".')
    files = sorted(files_below(path, "samples_*.jsonl*")) if path.is_dir() else [path]
    if not files:
        raise OutcomesError(f"{path}: no samples_*.jsonl; run lm_eval with --log_samples.")
    results = _results(files)
    files = _of_one_model(path, files, results, model, report)
    files = _runs(path, files, reruns, report)
    report.files = [str(file) for file in files]
    files, filters = _with_filter(path, files, filter, report)
    metrics = _with_metric(path, files, results, filters, metric)
    report.scorer = _scored_by(metrics, filters)
    _note_conditions(files, results, report)
    rows = _chosen(files, filters, report, filter is not None, cell.get("benchmark"))
    return collect(_attempts(rows, metrics, report, reruns == "attempts"), report, **cell)


# --- which files, which filter, which metric ------------------------------------------------------


def _task(file) -> str:
    named = _NAME.match(file.name)
    return named["task"] if named else "default"


def _date(file) -> str:
    named = _NAME.match(file.name)
    return (named["date"] if named else None) or ""


def _results(files) -> dict[Path, dict]:
    """What the tool's results file beside each file of samples holds; {} where there is none."""
    read = {}
    for file in files:
        beside = sorted(file.parent.glob(f"*_{_date(file)}.json")) if _date(file) else []
        read |= {one: json_document(one) for one in beside if one not in read}
        read[file] = next((read[one] for one in beside if isinstance(read[one], dict)), {})
    return read


def _of_one_model(path, files, results, model, report) -> list[Path]:
    """The files of the model that was asked for, or of the only one."""
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
        place += " (its files are told apart by the results file beside them, or else their folder)"
    model = choose(models.values(), model, "model", "model", place)
    for file in files:
        if models[file] != model:
            report.skipped[f"files of the model {models[file]!r}"] += 1
    kept = [file for file in files if models[file] == model]
    configs = [results[file].get("config") for file in kept]
    arguments = {str(one["model_args"]): 1 for one in configs if _has(one, "model_args")}
    if len(arguments) > 1:
        report.note(f"{model!r} was run with unlike model_args: {'; '.join(arguments)}")
    return kept


def _folder_of(model) -> str:
    """The folder that the tool names after a model."""
    return re.sub(r"[\"<>:/|\\?*\[\]]+", "__", model)


def _has(value, name) -> bool:
    return isinstance(value, dict) and name in value


def _runs(path, files, reruns, report) -> list[Path]:
    """The files to read, oldest first: of several with one task the newest, or all of them."""
    files = sorted(files, key=lambda file: (_task(file), _date(file), str(file)))
    if reruns == "attempts":
        return _without_copies(files, report)
    newest = {_task(file): file for file in files}
    earlier = [file for file in files if newest[_task(file)] is not file]
    if not earlier:
        return files
    if reruns is None:
        task = _task(earlier[0])
        held = sum(_task(file) == task for file in files)
        raise OutcomesError(
            f"{path}: {held} files hold the task {task!r}. Say what the later ones are: "
            f"{option('reruns', 'attempts')}: further attempts; or {option('reruns', 'last')}: the "
            "newest counts, whole."
        )
    for file in earlier:
        of = newest[_task(file)]
        report.skipped[f"file {file.name}, an earlier run than {of.name}, which counts whole"] += 1
    return list(newest.values())


def _without_copies(files, report) -> list[Path]:
    """The files without those that hold the same as another of their task, as no two runs do."""
    held, first = Counter(map(_task, files)), {}
    for file in files:
        of = (_task(file), contents.digest(file) if held[_task(file)] > 1 else "")
        if first.setdefault(of, file) is not file:
            report.skipped[f"file {file} is a copy of {first[of]}"] += 1
    return list(first.values())


def _with_filter(path, files, given, report) -> tuple[list[Path], dict[Path, str]]:
    """The files that hold rows, and the filter of each: the one asked for, or its only one."""
    heads = {file: next(_placed(file), None) for file in files}
    for file in [file for file, head in heads.items() if head is None]:
        report.skipped[f"file {file.name} holds no rows"] += 1
        del heads[file]
    if not heads:
        raise OutcomesError(f"{path}: no attempts; expected a log of some.")
    if given is None:
        found = {file: [_filter(*head)] for file, head in heads.items()}
    else:
        found = {file: _filters(file, given) for file in heads}
    return list(heads), _of_each(path, found, given, "filter")


def _with_metric(path, files, results, filters, given) -> dict[Path, str]:
    """The metric of each file: the one asked for, or the only one that says what is right."""
    found, lower = {}, {}
    for file in files:
        place, row = next(one for one in _placed(file) if _filter(*one) == filters[file])
        told = results[file].get("higher_is_better")
        told = told.get(_task(file)) if isinstance(told, dict) else None
        names = _metrics(row, place)
        lower |= {
            n: place for n in names if measures_errors(n) or (_has(told, n) and told[n] is False)
        }
        found[file] = [name for name in names if name not in lower or name == given]
    if given in lower or (lower and not any(found.values())):
        name = given or next(iter(lower))
        raise error_measure(name, lower[name])
    return _of_each(path, found, given, "metric")


def _of_each(path, found, given, what) -> dict[Path, str]:
    """By file, the name that was asked for, which each must have, or else its task's only one."""
    of_tasks = {(_task(file), name) for file, names in found.items() for name in names}
    if given is None and all(found.values()) and len(of_tasks) == len({t for t, _ in of_tasks}):
        return {file: name for file, (name,) in found.items()}
    place = str(path) if path in found else f"{path} ({_listing(found)})"
    names = _those_of_all_first(found, given, what, path)
    return dict.fromkeys(found, choose(names, given, what, what, place))


def _those_of_all_first(found, given, what, path) -> list[str]:
    """The names in the files, those that all have first; an error where that leaves no choice."""
    names = dict.fromkeys(name for names in found.values() for name in names)
    of_all = [name for name in names if all(name in names for names in found.values())]
    if names and given not in of_all and (given in names or not of_all):
        lacking = f"the {what} {given!r}" if given in names else f"a {what} in common"
        none = "" if given in (None, *names) else f"no {what} {given!r} in any file, and "
        choice = "Choose one that all have, or put" if of_all else "Put"
        raise OutcomesError(
            f"{path}: {none}not all files have {lacking}: {_listing(found)}. {choice} the files of "
            "each into a folder of their own."
        )
    return list(dict.fromkeys([*of_all, *names]))


def _scored_by(metrics, filters) -> str:
    """What scored, and in which tasks of the tool, where not all have the same."""
    groups = {}
    for file, metric in metrics.items():
        tasks = groups.setdefault(f"{metric}, filter {filters[file]}", {})
        tasks[_task(file)] = None
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{rule} ({shortened(list(tasks))})" for rule, tasks in groups.items())


def _note_conditions(files, results, report) -> None:
    """Note what the results files say of how each task was put to the model."""
    for file in files:
        for name, field in (("n-shot", "n-shot"), ("task version", "versions")):
            told = results[file].get(field)
            value = told.get(_task(file)) if isinstance(told, dict) else None
            report.condition(name, _task(file), value)
        config = results[file].get("config")
        report.condition("limit", "", config.get("limit") if isinstance(config, dict) else None)


def _listing(found) -> str:
    """Which files have what: 'a' in x.jsonl; 'a', 'b' in y.jsonl and 3 more."""
    files = {}
    for file, names in found.items():
        files.setdefault(", ".join(map(repr, names)) or "none", []).append(file.name)
    return "; ".join(
        f"{names} in {of[0]}" + (f" and {len(of) - 1} more" if of[1:] else "")
        for names, of in files.items()
    )


def _placed(file):
    return ((f"{file}, line {number}", row) for number, row in json_lines(file))


def _filter(place, row) -> str:
    return get(row, "filter", (str,), place) if "filter" in row else _UNTOLD


def _filters(file, enough=None) -> list[str]:
    """The filters of a file, up to the one that is enough."""
    seen = {}
    for place, row in _placed(file):
        seen[_filter(place, row)] = None
        if enough in seen:
            break
    return list(seen)


def _scored_of_each(file) -> str:
    """How many of a document's responses each filter of a file scores, by its first row."""
    told = {}
    for place, row in _placed(file):
        name = _filter(place, row)
        if name not in told:
            read = Responses(row, place)
            scored = len(read.kept) if read.listed else 1
            told[name] = f"filter {name!r} scores {scored} of {len(read.texts)} responses a task"
    return ", ".join(told.values())


# --- rows -----------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A row that counts: what it tells, the metric's file, and the names in the table."""

    read: "Responses"
    file: Path
    benchmark: str
    task: str


def _chosen(files, filters, report, asked, benchmark):
    """The rows of each file's filter, as `_Row`s; of other filters none may be unless asked."""
    apart = benchmark is not None and len({_task(file) for file in files}) > 1
    first = {}
    for file in files:
        of, inside = benchmark or _task(file), f"{_task(file)}/" if apart else ""
        for read in _of_filter(file, filters[file], report, files, asked):
            key = of, f"{inside}{read.doc}"
            known, place = first.setdefault(key, (read.document, read.place))
            if not one_document(known, read.document):
                raise OutcomesError(
                    f"{read.place}: document {read.doc} is not the one of that number in {place}: "
                    "they differ in 'doc_hash', or else in 'target'; expected one document for a "
                    "number. Put the files of each set of documents into a folder of their own, or "
                    f"take the newest file alone: {option('reruns', 'last')}."
                )
            report.documents[key] = known
            yield _Row(read, file, *key)


def _of_filter(file, filter, report, files, asked):
    """What the rows of a filter tell; rows of one that is not told must be one a document."""
    alike, judged = Alike("metrics", "filter", "target", "doc_hash"), Alike(typed=["target"])
    listed, met, settings = None, set(), None
    for place, row in _placed(file):
        alike.check(row, place)
        name = _filter(place, row)
        if name != filter:
            if not asked:
                place = f"{file} ({_scored_of_each(file)})"
                found = {one: _filters(one) for one in files}
                names = _those_of_all_first(found, None, "filter", file)
                choose(names, None, "filter", "filter", place)
            report.skipped[f"rows of the filter {name!r}"] += 1
            continue
        read = Responses(row, place)
        if name == _UNTOLD and read.doc in met:
            raise OutcomesError(
                f"{place}: document {read.doc} comes again, and no row tells its 'filter', so that "
                "rows of several filters cannot be told apart; expected each document once. Keep "
                "the rows of one filter, or log with lm-eval 0.4.7 or later."
            )
        met.add(read.doc)
        listed = read.listed if listed is None else listed
        if read.listed != listed:
            raise OutcomesError(
                f"{place}, 'filtered_resps': one response here and a list of them in other "
                "rows, or the reverse; expected the same in all rows of a filter."
            )
        if listed:
            judged.check(row, place)
        if read.settings != settings:  # as a rule, those of all rows are the same
            settings = read.settings
            report.set(settings, _task(file))
        yield read


def _attempts(rows, metrics, report, numbered_on):
    for read, file, benchmark, task in rows:
        metric = metrics[file]
        where = f"{read.place}, {metric!r}"
        n, scored = len(read.texts), len(read.kept) if read.listed else 1
        if scored > n or scored == 0:
            raise OutcomesError(f"{read.place}: {scored} filtered responses of {n}.")
        value = get(read.row, metric, (int, float, bool, NONE), read.place)
        passed = ["not scored"] * scored
        if value is not None and value == value:
            passed = verdicts(value, read, metric, where, report)
        if isinstance(passed, int):
            if numbered_on:
                raise OutcomesError(
                    f"{where}: tells how many responses succeeded and not which, and reruns that "
                    "are further attempts need that. Import the files one by one and add up their "
                    "counts."
                )
            yield Counted(task, scored, passed, n - scored, benchmark)
            continue
        if scored == 1 < n:
            report.note(
                "documents have several responses, and the filter keeps one, which alone was "
                "scored. If it is voted for rather than the first, its score is not that of an "
                "attempt. To have all scored, run lm_eval with the filter take_first_k."
            )
        rest = f"not among the {scored} of {n} responses that were scored"
        told = [*passed, *[rest] * (n - scored)]
        if not numbered_on:
            yield Tried(task, told, read.messages, benchmark)
            continue
        for number, one in enumerate(told):
            passed, reason = (one, None) if type(one) is bool else (None, one)
            messages = partial(read.messages, number)
            yield Attempt(task, None, passed, reason, messages, benchmark)


def _metrics(row, place) -> list[str]:
    """The metrics of a row: as it lists them, or (before 0.4.5) its numbers."""
    if "metrics" in row:
        named = get(row, "metrics", (list,), place)
        if any(type(name) is not str for name in named):
            raise OutcomesError(
                f"{place}, 'metrics': got {named!r:.80}, expected names of metrics."
            )
    else:
        named = [name for name, value in row.items() if type(value) in (int, float, bool)]
        named = [name for name in named if name not in ("doc_id", "target")]
    return [name for name in named if type(row.get(name)) in (int, float, bool)]
