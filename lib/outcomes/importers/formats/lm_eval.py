"""lm-evaluation-harness: `samples_<task>_<date>.jsonl` (checked against lm-eval 0.4.13)."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from lib.outcomes.errors import OutcomesError, option
from lib.outcomes.importers.attempts import (
    Attempt,
    Imported,
    TaskAttempts,
    TaskCounts,
    as_outcomes,
)
from lib.outcomes.importers.formats.lm_eval_files import (
    NOT_RECORDED,
    choose_filters,
    choose_metrics,
    files_to_read,
    filter_of,
    record_conditions,
    refuse_several_filters,
    results_beside,
    samples_files,
    scoring_rule,
    task_of,
)
from lib.outcomes.importers.formats.lm_eval_responses import Responses, verdicts
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.records import NONE, SameFields, get, placed_lines
from lib.outcomes.importers.reports import ImportReport, same_document


def matches(head: Head) -> bool:
    """Whether a file is a samples file."""
    return head.has("doc_id", "resps", "filtered_resps")


def files_in(folder: Path) -> list[Path]:
    """The samples files below a folder."""
    return samples_files(folder)


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

    metric, filter: the metric and filter that count, if there are several; every file must have
    them. If each of the tool's tasks has a single one, that one counts for the task.
    model: the model to read, if a folder holds logs of several. It is named by the results file
    beside the samples, or else by their folder, which the tool names after the model.
    reruns: needed if several files hold one task. "attempts" numbers a document that comes again as
    a further attempt, and leaves out copies of a file; "last" reads the newest file only. Without
    "attempts", a document that comes again within a file replaces the earlier one.
    threshold: the lowest score of a success, unless scores are 0 and 1.

    The tool's tasks are benchmarks. If `benchmark` names all of them, documents of several tasks
    are called "task/document". A document without a score, or with NaN, is a missing outcome.
    A document may have several responses (`repeats`). If the filter keeps them all (take_first_k)
    and the metric is exact_match or pass@1, each response was scored. If it keeps one (take_first,
    the default, or a vote), that response was scored, and the others are missing.
    Raises OutcomesError naming file and line, or the files that contradict each other, also if two
    documents have one number.
    """
    path = Path(path)
    report = ImportReport("lm-evaluation-harness")
    report.succeed_from(threshold)
    if reruns not in (None, "last", "attempts"):
        raise OutcomesError(f'Expected reruns="attempts" or reruns="last", got {reruns!r}.')
    files = sorted(samples_files(path)) if path.is_dir() else [path]
    if not files:
        raise OutcomesError(f"{path}: no samples_*.jsonl; run lm_eval with --log_samples.")
    results = results_beside(files)
    files = files_to_read(path, files, results, report, model=model, reruns=reruns)
    report.files = [str(file) for file in files]
    filters = choose_filters(path, files, filter, report)
    metrics = choose_metrics(path, results, filters, metric)
    report.scorer = scoring_rule(metrics, filters)
    record_conditions(list(filters), results, report)
    rows = _rows(filters, report, filter is not None, cell.get("benchmark"))
    return as_outcomes(_attempts(rows, metrics, report, reruns == "attempts"), report, **cell)


class _Row(NamedTuple):
    """A row that counts, with its file and the names of its benchmark and task."""

    responses: Responses
    file: Path
    benchmark: str
    task: str


def _rows(filters, report, filter_chosen, benchmark):
    """The rows of each file's filter. Documents of one name must be the same document."""
    prefixed = benchmark is not None and len({task_of(file) for file in filters}) > 1
    first = {}
    for file, filter in filters.items():
        name, prefix = benchmark or task_of(file), f"{task_of(file)}/" if prefixed else ""
        for responses in _of_filter(file, filter, report, list(filters), filter_chosen):
            key = name, f"{prefix}{responses.doc}"
            known, place = first.setdefault(key, (responses.document, responses.place))
            if not same_document(known, responses.document):
                raise OutcomesError(
                    f"{responses.place}: document {responses.doc} differs from {place} in "
                    "'doc_hash' or 'target'. Expected one document for each doc_id. Put the files "
                    "of each set of documents into a folder of their own, or read the newest file "
                    f"alone: {option('reruns', 'last')}."
                )
            report.documents[key] = known
            yield _Row(responses, file, *key)


def _of_filter(file, filter, report, files, filter_chosen):
    """The responses of the rows of a filter. Rows of other filters need a choice of filter."""
    fields = SameFields("metrics", "filter", "target", "doc_hash")
    typed = SameFields(typed=["target"])
    listed, seen, settings = None, set(), None
    for place, row in placed_lines(file):
        fields.check(row, place)
        name = filter_of(place, row)
        if name != filter:
            if not filter_chosen:
                refuse_several_filters(files, file)
            report.skipped[f"rows of the filter {name!r}"] += 1
            continue
        responses = Responses(row, place)
        if name == NOT_RECORDED and responses.doc in seen:
            raise OutcomesError(
                f"{place}: document {responses.doc} comes again. Rows without a 'filter' may be of "
                "several filters, so each document is expected once. Keep the rows of one filter, "
                "or log with lm-eval 0.4.7 or later."
            )
        seen.add(responses.doc)
        listed = responses.listed if listed is None else listed
        if responses.listed != listed:
            raise OutcomesError(
                f"{place}, 'filtered_resps': expected a list of responses in all rows of a filter "
                "or in none; got both."
            )
        if listed:
            typed.check(row, place)
        if responses.settings != settings:  # rows usually share their settings
            settings = responses.settings
            report.set(settings, task_of(file))
        yield responses


def _attempts(rows, metrics, report, numbered_on):
    """The attempts of rows; numbered on from file to file, or all of a document at once."""
    for responses, file, benchmark, task in rows:
        metric = metrics[file]
        where = f"{responses.place}, {metric!r}"
        n, scored = len(responses.texts), len(responses.kept) if responses.listed else 1
        if scored > n or scored == 0:
            raise OutcomesError(
                f"{responses.place}: expected 1 to {n} filtered responses of {n}, got {scored}."
            )
        value = get(responses.row, metric, (int, float, bool, NONE), responses.place)
        passed = ["not scored"] * scored
        if value is not None and value == value:
            passed = verdicts(value, responses, metric, where, report)
        if isinstance(passed, int):
            if numbered_on:
                raise OutcomesError(
                    f"{where}: the score says how many responses succeeded, but not which, as "
                    "further attempts need. Read the files one by one and add up their counts."
                )
            yield TaskCounts(task, scored, passed, n - scored, benchmark)
            continue
        if scored == 1 < n:
            report.note(
                "documents have several responses, of which the filter keeps one, and only that "
                "one was scored. If the filter keeps a vote rather than the first response, the "
                "score is not that of an attempt. To score all responses, run lm_eval with the "
                "filter take_first_k."
            )
        rest = f"not among the {scored} of {n} responses that were scored"
        judged = [*passed, *[rest] * (n - scored)]
        if not numbered_on:
            yield TaskAttempts(task, judged, responses.messages, benchmark)
            continue
        for number, verdict in enumerate(judged):
            passed, reason = (verdict, None) if type(verdict) is bool else (None, verdict)
            messages = partial(responses.messages, number)
            yield Attempt(task, None, passed, reason, messages, benchmark)
