"""A log as the one table: attempts in, outcomes and the report on them out."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pandas as pd

from lib import outcomes
from lib.outcomes import OutcomesError
from lib.outcomes.importers.reports import ImportReport, complete
from lib.outcomes.values import as_name, as_text
from lib.outcomes.wording import count, shortened
from lib.trajectories.schema import Message, Rollout, TrajectoryError


class Attempt(NamedTuple):
    """One attempt as a log has it.

    attempt: its number, or None for the next of its task.  passed: None needs a reason.
    messages: makes the attempt's messages when they are asked for, or None where the log has none.
    """

    task: str | int
    attempt: int | None
    passed: bool | None
    reason: str | None = None
    messages: Callable[[], Iterable[Message]] | None = None
    benchmark: str | None = None


class Tried(NamedTuple):
    """All attempts at a task, numbered from 0, where a record of a log holds them all.

    A later record of the task replaces an earlier one whole, whichever holds more.
    verdicts: True, False, or in words why one is missing.
    messages: makes those of an attempt by its number.
    """

    task: str | int
    verdicts: Sequence[bool | str]
    messages: Callable[[int], Iterable[Message]] | None = None
    benchmark: str | None = None


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
    rows: Iterable[Attempt | Tried | Counted | Untried],
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
        if isinstance(row, Tried):
            numbered, told = range(len(row.verdicts)), row.verdicts
        else:
            numbered, told = [row.attempt], [row.reason if row.passed is None else row.passed]
            if row.attempt is None:
                numbered = [next_number[cell, task]]
                next_number[cell, task] += 1
        judged = [one if type(one) is bool else None for one in told]
        why = [None if type(one) is bool else _reason(one) for one in told]
        benchmarks += [cell] * len(judged)
        tasks += [task] * len(judged)
        of_run += [run] * len(judged)
        numbers += numbered
        verdicts += judged
        reasons += why
        if trajectories and row.messages is not None:
            for number, passed, reason in zip(numbered, judged, why, strict=True):
                make = partial(row.messages, number) if isinstance(row, Tried) else row.messages
                made = (cell, pair, arm, task, number, passed, reason or "")
                rollouts[cell, task, number] = run, _rollout(report, made, make)
    for (cell, task), (run, reason) in untried.items():
        if runs.is_last(cell, task, run):
            report.untried.setdefault(reason, []).append(task)
    runs.tell(report)
    if padded := [repr(told) for told, name in names.items() if str(told) != name]:
        report.note(f"names were read without the blanks around them: {shortened(padded)}")
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
    doubt_threshold(report)
    return Imported(complete(table, report), report, kept)


class _Runs:
    """Which rows of a task are of its last run, where a log holds a task as a whole repeatedly."""

    def __init__(self):
        self.sizes, self.open = {}, set()

    def of(self, key, row) -> int:
        """The number of the run that a row is of; rows are told in their order."""
        sizes = self.sizes.setdefault(key, [])
        if not isinstance(row, Attempt):  # a run by itself
            self.open.discard(key)
            held = {Tried: lambda: len(row.verdicts), Counted: lambda: row.n + row.missing}
            sizes.append(held.get(type(row), int)())
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
    name = names[value] = as_name(str(value))
    if name is None:
        raise OutcomesError(
            f"{shortened(report.files)}: the {what} {str(value)!r} is no name; expected text, not "
            "empty, that UTF-8 can write."
        )
    return name


def _reason(told) -> str:
    """Why an attempt is missing, kept once, since many are for the same reason."""
    return sys.intern(as_text(told) or "no reason given")


def _rollout(report, head, messages) -> Rollout:
    sampling = {name: values[0] for name, values in report.settings.items() if len(values) == 1}
    try:
        return Rollout(*head, messages=tuple(messages()), sampling=sampling)
    except TrajectoryError as error:
        raise OutcomesError(f"task {head[3]!r}, attempt {head[4]}: {error}") from error


def doubt_threshold(report) -> None:
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
