"""Attempts as a format reads them from a log, put together into the one table."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pandas as pd

from lib import outcomes
from lib.outcomes.errors import OutcomesError, count, first_few, warn
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.values import as_name, as_text
from lib.trajectories.schema import Message, Rollout, TrajectoryError


class Attempt(NamedTuple):
    """One attempt at a task.

    attempt: its number; None numbers the attempts at a task in their order.  passed: None for a
    missing outcome, with a reason.
    messages: returns the attempt's messages; None if the log has none.
    """

    task: str | int
    attempt: int | None
    passed: bool | None
    reason: str | None = None
    messages: Callable[[], Iterable[Message]] | None = None
    benchmark: str | None = None


class TaskAttempts(NamedTuple):
    """All attempts at a task, numbered from 0, from a single record of a log.

    A later record of the task replaces an earlier one as a whole, whatever their lengths.
    verdicts: True, False, or the reason why an outcome is missing.
    messages: returns those of an attempt by its number.
    """

    task: str | int
    verdicts: Sequence[bool | str]
    messages: Callable[[int], Iterable[Message]] | None = None
    benchmark: str | None = None


class TaskWithoutAttempts(NamedTuple):
    """A task that a log names without an attempt at it, and why it has none."""

    task: str | int
    reason: str
    benchmark: str | None = None


class TaskCounts(NamedTuple):
    """A task whose log says only how many of its n scored attempts succeeded."""

    task: str | int
    n: int
    c: int
    missing: int = 0
    benchmark: str | None = None


Row = Attempt | TaskAttempts | TaskCounts | TaskWithoutAttempts


@dataclass(frozen=True)
class Imported:
    """A log as outcomes, with the report on it, and its rollouts if they were asked for."""

    outcomes: pd.DataFrame
    report: ImportReport
    rollouts: tuple[Rollout, ...] = ()


def as_outcomes(
    rows: Iterable[Row],
    report: ImportReport,
    *,
    arm: str = "base",
    pair: str = "default",
    benchmark: str | None = None,
    trajectories: bool = False,
) -> Imported:
    """Put rows into the one table and complete the report. A later row of an attempt replaces it.

    benchmark: a name for all rows; None keeps those of the log.
    trajectories: also keep the messages of every attempt, as rollouts, in memory.
    Raises OutcomesError for a log without attempts and for a task without a usable name. Issues an
    OutcomesWarning for a threshold below or above all scores.
    """
    columns = _Columns()
    next_number, rollouts, untried, runs, names = Counter(), {}, {}, _Runs(), {}
    for row in rows:
        cell = benchmark or row.benchmark or "default"
        cell = names.get(cell) or _name(cell, "benchmark", report, names)
        task = names.get(row.task) or _name(row.task, "task", report, names)
        run = runs.of((cell, task), row)
        if isinstance(row, TaskWithoutAttempts):
            untried[cell, task] = run, row.reason
            continue
        if isinstance(row, TaskCounts):
            columns.counted.append((cell, task, row.n, row.c, row.missing, run))
            continue
        if isinstance(row, TaskAttempts):
            numbers, verdicts = range(len(row.verdicts)), row.verdicts
        else:
            numbers, verdicts = [row.attempt], [row.reason if row.passed is None else row.passed]
            if row.attempt is None:
                numbers = [next_number[cell, task]]
                next_number[cell, task] += 1
        passed = [verdict if type(verdict) is bool else None for verdict in verdicts]
        reasons = [None if type(verdict) is bool else _reason(verdict) for verdict in verdicts]
        columns.add(cell, task, run, numbers, passed, reasons)
        if trajectories and row.messages is not None:
            of_each = isinstance(row, TaskAttempts)
            for number, outcome, reason in zip(numbers, passed, reasons, strict=True):
                messages = partial(row.messages, number) if of_each else row.messages
                head = (cell, pair, arm, task, number, outcome, reason or "")
                rollouts[cell, task, number] = run, _rollout(report, head, messages)
    for (cell, task), (run, reason) in untried.items():
        if runs.is_last(cell, task, run):
            report.untried.setdefault(reason, []).append(task)
    runs.note_repeated(report)
    if padded := [repr(written) for written, name in names.items() if str(written) != name]:
        report.note(f"blanks around names were dropped: {first_few(padded)}")
    table = columns.joined(runs, report, pair=pair, arm=arm)
    kept = tuple(rollout for key, (run, rollout) in rollouts.items() if runs.is_last(*key[:2], run))
    warn_of_threshold(report)
    report.complete(table)
    return Imported(table, report, kept)


class _Columns:
    """The columns of the table while rows come in: lists, since logs have millions of rows."""

    def __init__(self):
        self.cells, self.tasks, self.runs = [], [], []
        self.numbers, self.passed, self.reasons = [], [], []
        self.counted = []

    def add(self, cell, task, run, numbers, passed, reasons) -> None:
        self.cells += [cell] * len(passed)
        self.tasks += [task] * len(passed)
        self.runs += [run] * len(passed)
        self.numbers += numbers
        self.passed += passed
        self.reasons += reasons

    def joined(self, runs, report, **names) -> pd.DataFrame:
        """The rows of the last run of each task, as a valid table of attempts or counts."""
        source = first_few(report.files)
        columns = {"benchmark": self.cells, "task": self.tasks, "attempt": self.numbers}
        columns |= {"passed": pd.array(self.passed, dtype="boolean"), "reason": self.reasons}
        table = runs.latest(pd.DataFrame(columns | {"run": self.runs}))
        of_counts = ["benchmark", "task", "n", "c", "missing", "run"]
        counts = runs.latest(pd.DataFrame(self.counted, columns=of_counts))
        if table.empty and counts.empty:
            raise OutcomesError(f"{source}: no attempts; expected a log with some.")
        repeated = table.duplicated(["benchmark", "task", "attempt"], keep="last")
        report.duplicates += int(repeated.sum())
        table = table[~repeated].assign(**names)
        if len(table):
            table = outcomes.validate(table, source=source)
        if len(counts):  # a table has one shape, so attempts are counted as well
            if len(table):
                table = outcomes.counts(table)[list(counts)]
                counts = pd.concat([table, counts], ignore_index=True)
            table = outcomes.validate(counts.assign(**names), source=source)
        return table


class _Runs:
    """Which rows belong to the last run of a task, for logs that hold a task more than once."""

    def __init__(self):
        self.sizes, self.open = {}, set()

    def of(self, key, row) -> int:
        """The number of the run that a row belongs to; call it once for each row, in order."""
        sizes = self.sizes.setdefault(key, [])
        if not isinstance(row, Attempt):  # holds a run as a whole
            self.open.discard(key)
            if isinstance(row, TaskAttempts):
                sizes.append(len(row.verdicts))
            else:
                sizes.append(row.n + row.missing if isinstance(row, TaskCounts) else 0)
        elif key in self.open:
            sizes[-1] += 1
        else:
            self.open.add(key)
            sizes.append(1)
        return len(sizes) - 1

    def is_last(self, cell, task, run) -> bool:
        return run == len(self.sizes[cell, task]) - 1

    def latest(self, table) -> pd.DataFrame:
        """The rows of each task's last run, without the column `run`."""
        if max(map(len, self.sizes.values()), default=0) > 1:
            rows = zip(table["benchmark"], table["task"], table["run"], strict=True)
            table = table[pd.Series([self.is_last(*row) for row in rows], table.index, dtype=bool)]
        return table.drop(columns="run")

    def note_repeated(self, report) -> None:
        """Count the attempts of earlier runs in the report, and note runs of unequal lengths."""
        again = {key: sizes for key, sizes in self.sizes.items() if len(sizes) > 1}
        report.duplicates += sum(sum(sizes[:-1]) for sizes in again.values())
        unequal = {key: sizes for key, sizes in again.items() if len(set(sizes)) > 1}
        if unequal:
            (_, task), sizes = next(iter(unequal.items()))
            report.note(
                f"{count(len(unequal), 'task')} came again with another number of attempts "
                f"({task!r}: {', then '.join(map(str, sizes))}), as in a log of two runs; the last "
                f"record of a task counts, as a whole ({len(self.sizes) - len(again)} came once)"
            )


def _name(value, noun, report, names) -> str:
    """A name as text, also kept in `names`: many rows have the same."""
    name = names[value] = as_name(str(value))
    if name is None:
        raise OutcomesError(
            f"{first_few(report.files)}: the {noun} {str(value)!r} cannot be a name. Expected text "
            "that UTF-8 can encode, not empty."
        )
    return name


def _reason(text) -> str:
    """Why an outcome is missing, kept once in memory, since many are missing for one reason."""
    return sys.intern(as_text(text) or "no reason given")


def _rollout(report, head, messages) -> Rollout:
    sampling = {name: values[0] for name, values in report.settings.items() if len(values) == 1}
    try:
        return Rollout(*head, messages=tuple(messages()), sampling=sampling)
    except TrajectoryError as error:
        raise OutcomesError(f"task {head[3]!r}, attempt {head[4]}: {error}") from error


def warn_of_threshold(report: ImportReport) -> None:
    """Warn if a threshold is below or above all scores: it may be meant for another scale."""
    low, high = report.scores
    if report.threshold is None or low > high or low <= report.threshold <= high:
        return
    outcome = "success" if low > report.threshold else "failure"
    message = (
        f"{first_few(report.files)}: every score is a {outcome}: scores run from {low} to {high}, "
        f"and the threshold is {report.threshold}. Choose a threshold on the scale of the scores."
    )
    report.note(message)
    warn(message)
