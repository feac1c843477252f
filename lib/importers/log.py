"""A log as the one table: attempts in, outcomes and the report on them out."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from lib import outcomes
from lib.importers.reports import ImportReport, complete
from lib.importers.wording import count, shortened
from lib.outcomes import OutcomesError
from lib.outcomes.values import as_text, is_name
from lib.trajectory import Message, Rollout, TrajectoryError


class Attempt(NamedTuple):
    """One attempt as a log has it.

    attempt: its number, or None for the next of its task.  passed: None needs a reason.
    messages: makes the attempt's messages when they are asked for, or None where the log has none.
    record: the number of the record it is from, where a record holds all attempts at its task: a
    later record of the task then replaces an earlier one whole, whichever holds more.
    """

    task: str | int
    attempt: int | None
    passed: bool | None
    reason: str | None = None
    messages: Callable[[], Iterable[Message]] | None = None
    benchmark: str | None = None
    record: int | None = None


class Untried(NamedTuple):
    """A task that a log names without an attempt at it, and how it comes to have none."""

    task: str | int
    reason: str
    benchmark: str | None = None


class Counted(NamedTuple):
    """A task of which a log tells only how many of its n scored attempts succeeded."""

    task: str | int
    n: int
    c: int
    missing: int = 0
    benchmark: str | None = None


@dataclass(frozen=True)
class Imported:
    """A log as outcomes, with the report on it, and its rollouts where they were asked for."""

    outcomes: pd.DataFrame
    report: ImportReport
    rollouts: tuple[Rollout, ...] = ()


def collect(
    rows: Iterable[Attempt | Counted | Untried],
    report: ImportReport,
    *,
    arm: str = "base",
    pair: str = "default",
    benchmark: str | None = None,
    trajectories: bool = False,
) -> Imported:
    """Put attempts into the one table and complete the report; a later row of an attempt wins.

    benchmark: a name for all rows; None keeps what the log says.
    trajectories: also keep every attempt's messages, as rollouts, in memory.
    Raises OutcomesError where the log holds no attempt, or a task's name is none. Warns, with
    OutcomesWarning, where the threshold is below or above all scores.
    """
    columns = {name: [] for name in ("benchmark", "task", "attempt", "passed", "reason", "run")}
    benchmarks, tasks, numbers, verdicts, reasons, of_run = columns.values()
    counted, next_number, rollouts, untried, runs, names = [], Counter(), {}, {}, _Runs(), {}
    for row in rows:
        cell = benchmark or row.benchmark or "default"
        cell = names.get(cell) or _name(cell, "benchmark", report, names)
        task = names.get(row.task) or _name(row.task, "task", report, names)
        run = runs.of((cell, task), row)
        if isinstance(row, Untried):
            untried[cell, task] = run, row.reason
            continue
        if isinstance(row, Counted):
            counted.append((cell, task, row.n, row.c, row.missing, run))
            continue
        number, reason = row.attempt, None
        if number is None:
            number = next_number[cell, task]
            next_number[cell, task] += 1
        if row.passed is None:
            reason = sys.intern(as_text(row.reason) or "no reason given")
        benchmarks.append(cell)
        tasks.append(task)
        numbers.append(number)
        verdicts.append(row.passed)
        reasons.append(reason)
        of_run.append(run)
        if trajectories and row.messages is not None:
            made = (cell, pair, arm, task, number, row.passed, reason or "")
            rollouts[cell, task, number] = run, _rollout(report, made, row.messages)
    for (cell, task), (run, reason) in untried.items():
        if runs.is_last(cell, task, run):
            report.untried.setdefault(reason, []).append(task)
    runs.tell(report)
    columns["passed"] = pd.array(verdicts, dtype="boolean")
    table = runs.latest(pd.DataFrame(columns))
    of_counts = ["benchmark", "task", "n", "c", "missing", "run"]
    counts = runs.latest(pd.DataFrame(counted, columns=of_counts))
    if table.empty and counts.empty:
        raise OutcomesError(f"{shortened(report.files)}: no attempts; expected a log of some.")
    repeated = table.duplicated(["benchmark", "task", "attempt"], keep="last")
    report.duplicates += int(repeated.sum())
    table, source = table[~repeated].assign(pair=pair, arm=arm), shortened(report.files)
    if len(table):
        table = outcomes.validate(table, source=source)
    if len(counts):  # counts of all tasks, since of some the log tells no more
        if len(table):
            counts = pd.concat([outcomes.counts(table)[list(counts)], counts], ignore_index=True)
        table = outcomes.validate(counts.assign(pair=pair, arm=arm), source=source)
    kept = tuple(one for key, (run, one) in rollouts.items() if runs.is_last(*key[:2], run))
    _doubt_threshold(report)
    return Imported(complete(table, report), report, kept)


class _Runs:
    """Which rows of a task are of its last run, where a log holds a task as a whole repeatedly."""

    def __init__(self):
        self.records, self.sizes = {}, {}

    def of(self, key, row) -> int:
        """The number of the run that a row is of; rows are told in their order."""
        attempt = isinstance(row, Attempt)
        record = row.record if attempt else object()
        sizes = self.sizes.get(key)
        if sizes is None or record != self.records[key]:
            self.records[key] = record
            sizes = self.sizes.setdefault(key, [])
            sizes.append(0)
        if attempt:
            sizes[-1] += 1
        elif isinstance(row, Counted):
            sizes[-1] += row.n + row.missing
        return len(sizes) - 1

    def is_last(self, cell, task, run) -> bool:
        return run == len(self.sizes[cell, task]) - 1

    def latest(self, table) -> pd.DataFrame:
        """The rows of each task's last run, without the column `run`."""
        if max(map(len, self.sizes.values()), default=0) > 1:
            rows = zip(table["benchmark"], table["task"], table["run"], strict=True)
            table = table[pd.Series([self.is_last(*row) for row in rows], table.index, dtype=bool)]
        return table.drop(columns="run")

    def tell(self, report) -> None:
        """Report the attempts of earlier runs, above all where a run is longer than another."""
        again = {key: sizes for key, sizes in self.sizes.items() if len(sizes) > 1}
        report.duplicates += sum(sum(sizes[:-1]) for sizes in again.values())
        unlike = {key: sizes for key, sizes in again.items() if len(set(sizes)) > 1}
        if unlike:
            (_, task), sizes = next(iter(unlike.items()))
            report.note(
                f"{count(len(unlike), 'task')} came again with another number of attempts "
                f"({task!r}: {', then '.join(map(str, sizes))}), as where a log holds two runs; of "
                f"each task the last counts, whole ({len(self.sizes) - len(again)} came once)"
            )


def _name(value, what, report, names) -> str:
    """A name as text, also noted in `names`, since many rows have the same."""
    name = names[value] = str(value)
    if not is_name(name):
        raise OutcomesError(
            f"{shortened(report.files)}: the {what} {name!r} is no name; expected text, not "
            "empty, that UTF-8 can write."
        )
    return name


def _rollout(report, head, messages) -> Rollout:
    sampling = {name: values[0] for name, values in report.settings.items() if len(values) == 1}
    try:
        return Rollout(*head, messages=tuple(messages()), sampling=sampling)
    except TrajectoryError as error:
        raise OutcomesError(f"task {head[3]!r}, attempt {head[4]}: {error}") from error


def _doubt_threshold(report) -> None:
    """Warn where a threshold is below or above all scores: it may be of another scale."""
    low, high = report.scores
    if report.threshold is None or low > high or low <= report.threshold <= high:
        return
    which = "success" if low > report.threshold else "failure"
    said = (
        f"{shortened(report.files)}: every score is a {which} by the threshold "
        f"{report.threshold}, since scores run from {low} to {high}. Is it on the scores' scale?"
    )
    report.note(said)
    outcomes.warn(said)
