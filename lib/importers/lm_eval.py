"""lm-evaluation-harness: `samples_<task>_<date>.jsonl` (checked against lm-eval 0.4.13)."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lib.importers.log import (
    Alike,
    Attempt,
    Counted,
    Imported,
    ImportReport,
    choose,
    collect,
    get,
    json_lines,
    verdict,
)
from lib.outcomes import OutcomesError
from lib.trajectory import Message

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl(\.gz)?$")
_SHARES = ("exact_match", "pass@1", "pass_at_1")
"""Metrics that, over a list of responses, are the share of those that succeeded."""


def read_lm_eval(
    path: str | Path,
    *,
    metric: str | None = None,
    filter: str | None = None,  # the tool's own word
    reruns: str | None = None,
    threshold: float | None = None,
    **cell,
) -> Imported:
    """Read a samples file, or all samples files of a folder; a document is a task.

    metric, filter: which of the metrics and filters counts, where rows have several.
    reruns: what a document that comes again is, in another file or further down in one: "attempts"
    numbers it on as a further attempt, "last" lets it replace the earlier. Within a file "last" is
    taken where nothing is said; for several files of one task one must be chosen.
    threshold: the score from which on an attempt is a success, where scores are neither 0 nor 1.

    A document may have several responses (`repeats`). Where the filter keeps them all
    (take_first_k) and the metric is exact_match or pass@1, each was scored. Where it keeps one
    (take_first, the default, or a vote), that one was scored, and the others are missing.
    Raises OutcomesError naming file and line.
    """
    path = Path(path)
    files = sorted(path.rglob("samples_*.jsonl*")) if path.is_dir() else [path]
    report = ImportReport("lm-evaluation-harness", [str(file) for file in files])
    if not files:
        raise OutcomesError(f"{path}: no samples_*.jsonl; run lm_eval with --log_samples.")
    if reruns not in (None, "last", "attempts"):
        raise OutcomesError(f'reruns={reruns!r}: expected "attempts" or "last".')
    tasks = [_task(file) for file in files]
    twice = next((task for task in tasks if tasks.count(task) > 1), None)
    if twice is not None and reruns is None:
        raise OutcomesError(
            f"{path}: {tasks.count(twice)} files hold the task {twice!r}. Say what the later ones "
            'are: reruns="attempts" (further attempts) or reruns="last" (the newest counts).'
        )
    rows = _rows(files, tasks, report, _Choice(metric, filter, threshold), reruns == "attempts")
    return collect(rows, report, **cell)


@dataclass
class _Choice:
    """Which rows and which of their numbers count; what was not chosen is settled by the first."""

    metric: str | None
    filter: str | None
    threshold: float | None


def _task(file) -> str:
    named = _NAME.match(file.name)
    return named["task"] if named else "default"


def _rows(files, tasks, report, choice, numbered_on):
    given, seen = choice.filter, Counter()
    for file, task in zip(files, tasks, strict=True):
        alike = Alike("metrics", "filter", "target", "doc_hash")
        listed = None
        for number, row in json_lines(file):
            place = f"{file}, line {number}"
            alike.check(row, place)
            name = get(row, "filter", (str,), place)
            seen[name] += 1
            if choice.filter is None:
                choice.filter = name
            if name != choice.filter:
                if given is None:
                    choose(_filters(files), None, "filter", "filter", str(file))
                continue
            if choice.metric is None or not report.scorer:
                choice.metric = choose(
                    _metrics(row, place), choice.metric, "metric", "metric", place
                )
                report.scorer = f"{choice.metric}, filter {choice.filter}"
            read = _Responses(row, place)
            if listed is None:
                listed = read.listed
            if read.listed != listed:
                raise OutcomesError(
                    f"{place}, 'filtered_resps': one response here and a list of them in other "
                    "rows, or the reverse; expected the same in all rows of a filter."
                )
            report.set(read.settings)
            yield from _attempts(read, task, choice, report, numbered_on)
    if choice.filter not in seen:
        choose(seen, choice.filter, "filter", "filter", ", ".join(map(str, files)))
    for name in seen:
        if name != choice.filter:
            report.skipped[f"rows of the filter {name!r}"] = seen[name]


def _filters(files) -> list[str]:
    return list({row["filter"]: None for file in files for _, row in json_lines(file)})


class _Responses:
    """What a row tells of its document's responses."""

    def __init__(self, row, place):
        self.row, self.place = row, place
        self.doc = get(row, "doc_id", (int,), place)
        self.target = get(row, "target", (str,), place)
        resps = get(row, "resps", (list,), place)
        kept = get(row, "filtered_resps", (list,), place)
        torn = any(type(r) is not list or not r for r in resps)
        if torn or not resps or len(resps) != len(kept):
            raise OutcomesError(
                f"{place}: expected as many lists in 'resps' as entries in 'filtered_resps', and "
                f"at least one; got {len(resps)} and {len(kept)}."
            )
        likelihood = type(resps[0][0]) is list  # [log-likelihood, whether greedy], not a text
        responses = [*resps[0], *(kept[0] if type(kept[0]) is list else kept)]
        if not likelihood and any(type(text) is not str for text in responses):
            raise OutcomesError(f"{place}: expected text in 'resps' and 'filtered_resps'.")
        self.single = len(resps) == 1 and not likelihood  # else a request for each choice
        self.texts = resps[0] if self.single else [""]
        self.kept = kept[0]
        self.listed = self.single and type(self.kept) is list
        arguments = row.get("arguments")
        self.prompt, self.settings = None, None
        if isinstance(arguments, dict):
            first = arguments.get("gen_args_0")
            if isinstance(first, dict):
                self.prompt, self.settings = first.get("arg_0"), first.get("arg_1")
        if not isinstance(self.settings, dict):
            self.settings = None

    def messages(self, number):
        """The prompt and one response, as a chat."""
        text = self.texts[number]
        made = [Message("user", self.prompt)] if isinstance(self.prompt, str) else []
        return [*made, Message("assistant", text if isinstance(text, str) else str(text))]


def _attempts(read, task, choice, report, numbered_on):
    value = get(read.row, choice.metric, (int, float, bool), read.place)
    where = f"{read.place}, {choice.metric!r}"
    n, scored = len(read.texts), len(read.kept) if read.listed else 1
    if scored > n or scored == 0:
        raise OutcomesError(f"{read.place}: {scored} filtered responses of {n}.")
    if scored == 1:
        passed = [verdict(value, where, choice.threshold)]
        if n > 1:
            report.note(
                f"documents have several responses, and filter {choice.filter!r} keeps one, which "
                "alone was scored. If it is voted for rather than the first, its score is not that "
                "of an attempt. To have all scored, run lm_eval with the filter take_first_k."
            )
    else:
        c = _successes(value, scored, choice.metric, read, where)
        passed = [text == read.target for text in read.kept]
        if sum(passed) != c:  # compared after changes that the log does not tell
            if numbered_on:
                raise OutcomesError(
                    f'{where}: tells how many responses succeeded and not which; reruns="attempts" '
                    "needs that. Import the files one by one and add up their counts."
                )
            yield Counted(read.doc, scored, c, n - scored, task)
            return
    reason = f"not among the {scored} of {n} responses that were scored"
    for number in range(n):
        yield Attempt(
            read.doc,
            None if numbered_on else number,
            passed[number] if number < scored else None,
            None if number < scored else reason,
            partial(read.messages, number),
            task,
        )


def _successes(value, n, metric, read, where) -> int:
    """How many of n responses succeeded, of a metric that is their share."""
    if metric not in _SHARES:
        raise OutcomesError(
            f"{where}: one number for {n} responses; which succeeded cannot be told from it. "
            f"Expected {', '.join(_SHARES)}, or a filter that keeps one response."
        )
    if metric == "exact_match" and read.target.startswith("["):
        raise OutcomesError(
            f"{where}: with several targets, the tool writes 1 where any of the {n} responses is "
            "right; how many are cannot be told."
        )
    c = round(value * n) if value == value else -1
    if not 0 <= c <= n or abs(value * n - c) > 1e-6:
        raise OutcomesError(f"{where}: {value} is no share of {n} responses.")
    return c


def _metrics(row, place) -> list[str]:
    """The metrics of a row: as it lists them, or (before 0.4.5) its numbers."""
    if "metrics" in row:
        named = get(row, "metrics", (list,), place)
    else:
        named = [name for name, value in row.items() if type(value) in (int, float, bool)]
        named = [name for name in named if name != "doc_id"]
    return [name for name in named if type(row.get(name)) in (int, float, bool)]
