"""What every importer shares: records from files, the report on a log, and its table."""

import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lib import outcomes
from lib.outcomes import OutcomesError
from lib.trajectory import Message, Rollout, TrajectoryError

SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "n")
"""Decoding settings that are compared between arms, by our names."""

_OTHER_NAMES = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_choices": "n",
}
_LONGEST_LINE = 2**28


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


class Counted(NamedTuple):
    """A task of which a log tells only how many of its n scored attempts succeeded."""

    task: str | int
    n: int
    c: int
    missing: int = 0
    benchmark: str | None = None


@dataclass
class ImportReport:
    """What was read, what was left out, and why.

    missing: attempts without a score, by reason.  duplicates: rows that a later one replaced.
    skipped: rows or parts of the log that are no attempts, by reason.
    settings: decoding settings that the log records; several values where it has several.
    unequal, tried: the fewest and the most attempts of a task, scored ones and all.
    """

    format: str
    files: list[str] = field(default_factory=list)
    scorer: str = ""
    tasks: int = 0
    attempts: int = 0
    scored: int = 0
    passed: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    skipped: Counter = field(default_factory=Counter)
    settings: dict[str, list] = field(default_factory=dict)
    unequal: tuple[int, int] = (0, 0)
    tried: tuple[int, int] = (0, 0)
    notes: list[str] = field(default_factory=list)

    def set(self, settings: dict | None) -> None:
        """Note the decoding settings among the items of a mapping; other items are left alone."""
        for name, value in (settings or {}).items():
            name = _OTHER_NAMES.get(name, name)
            if name in SETTINGS and isinstance(value, int | float):
                values = self.settings.setdefault(name, [])
                if value not in values:
                    values.append(value)

    def note(self, text: str) -> None:
        """Say a thing once."""
        if text not in self.notes:
            self.notes.append(text)

    def lines(self) -> list[str]:
        """The report as lines of text, the good news first."""
        told = [
            f"{self.format}: {_count(len(self.files), 'file')} read ({_shortened(self.files)})",
            f"{_count(self.tasks, 'task')}, {_count(self.attempts, 'attempt')}, of which "
            f"{self.scored} scored and {self.passed} passed",
        ]
        if self.scorer:
            told.append(f"scored by {self.scorer}")
        least, most = self.unequal
        if least != most:
            told.append(f"tasks have {least} to {most} scored attempts")
        told += [f"missing: {_count(n, 'attempt')}, {why}" for why, n in self.missing.items()]
        if self.duplicates:
            told.append(f"{_count(self.duplicates, 'row')} repeated by a later one, which counts")
        told += [f"skipped: {n}, {why}" for why, n in self.skipped.items()]
        for name, values in self.settings.items():
            told.append(f"{name}: {', '.join(map(str, values))}")
        return told + self.notes

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Imported:
    """A log as outcomes, with the report on it, and its rollouts where they were asked for."""

    outcomes: pd.DataFrame
    report: ImportReport
    rollouts: tuple[Rollout, ...] = ()


def collect(
    rows: Iterable[Attempt | Counted],
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
    Raises OutcomesError where the log holds no attempt.
    """
    columns = {name: [] for name in ("benchmark", "task", "attempt", "passed", "reason")}
    counted, next_number, rollouts = [], Counter(), {}
    for row in rows:
        cell = sys.intern(benchmark or row.benchmark or "default")
        task = sys.intern(str(row.task))
        if isinstance(row, Counted):
            counted.append((cell, task, row.n, row.c, row.missing))
            continue
        number = next_number[cell, task] if row.attempt is None else row.attempt
        next_number[cell, task] += row.attempt is None
        reason = sys.intern(row.reason or "no reason given") if row.passed is None else None
        for values, value in zip(
            columns.values(), (cell, task, number, row.passed, reason), strict=True
        ):
            values.append(value)
        if trajectories and row.messages is not None:
            made = (cell, pair, arm, task, number, row.passed, reason or "")
            rollouts[cell, task, number] = _rollout(report, made, row.messages)
    table = pd.DataFrame(columns).assign(pair=pair, arm=arm)
    if table.empty and not counted:
        raise OutcomesError(f"{_shortened(report.files)}: no attempts; expected a log of some.")
    repeated = table.duplicated(["benchmark", "task", "attempt"], keep="last")
    report.duplicates += int(repeated.sum())
    table = outcomes.validate(table[~repeated], source=report.format) if len(table) else None
    if counted:
        table = _with_counted(table, counted, report, pair, arm)
    return Imported(complete(table, report), report, tuple(rollouts.values()))


def _rollout(report, head, messages) -> Rollout:
    sampling = {name: values[0] for name, values in report.settings.items() if len(values) == 1}
    try:
        return Rollout(*head, messages=tuple(messages()), sampling=sampling)
    except TrajectoryError as error:
        raise OutcomesError(f"task {head[3]!r}, attempt {head[4]}: {error}") from error


def _with_counted(table, counted, report, pair, arm):
    """Counts of all tasks, since of some the log tells no more."""
    names = ["benchmark", "task", "n", "c", "missing"]
    counts = pd.DataFrame(counted, columns=["benchmark", "task", "n", "c", "missing"])
    if table is not None:
        counts = pd.concat([outcomes.counts(table)[names], counts], ignore_index=True)
    repeated = counts.duplicated(["benchmark", "task"], keep="last")
    report.duplicates += int(repeated.sum())
    return outcomes.validate(counts[~repeated].assign(pair=pair, arm=arm), source=report.format)


def complete(table: pd.DataFrame, report: ImportReport) -> pd.DataFrame:
    """Fill in the numbers of a report from the table it is about, which comes back."""
    if outcomes.kind(table) == "attempts":
        why = table.loc[table["passed"].isna(), "reason"].value_counts()
        report.missing = {reason: int(n) for reason, n in why.items()}
    counts = outcomes.counts(table)
    rows = counts.get("tasks", 1)
    report.tasks = int(counts["tasks"].sum()) if "tasks" in counts else len(counts)
    report.scored = int((counts["n"] * rows).sum())
    report.passed = int((counts["c"] * rows).sum())
    missing = int((counts["missing"] * rows).sum())
    report.attempts = report.scored + missing
    if missing > sum(report.missing.values()):
        report.missing["no reason kept"] = missing - sum(report.missing.values())
    tried = counts["n"] + counts["missing"]
    report.unequal = (int(counts["n"].min()), int(counts["n"].max()))
    report.tried = (int(tried.min()), int(tried.max()))
    return table


def unequal_settings(base: ImportReport, post: ImportReport) -> pd.DataFrame:
    """Settings that differ between two logs: columns setting, base, post; no row where none does.

    A setting that one log records and the other does not may differ, and is shown.
    """
    rows = []
    for name in SETTINGS:
        values = [sorted(report.settings.get(name, [])) for report in (base, post)]
        if values[0] != values[1]:
            rows.append([name, *(", ".join(map(str, v)) or "not recorded" for v in values)])
    if base.tried != post.tried:
        spans = [f"{a} to {b}" if a != b else str(a) for a, b in (base.tried, post.tried)]
        rows.append(["attempts a task", *spans])
    return pd.DataFrame(rows, columns=["setting", "base", "post"])


# --- records --------------------------------------------------------------------------------------


def json_lines(path: Path) -> Iterator[tuple[int, dict]]:
    """The objects of a file of JSON lines (.gz too) with their line numbers, one at a time.

    Raises OutcomesError naming file and line for anything else, a torn last line included.
    """
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rb") as file:
        number = 0
        while True:
            number += 1
            try:
                raw = file.readline(_LONGEST_LINE)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise OutcomesError(f"{path}: not a whole gzip file ({error}).") from error
            if not raw:
                return
            if raw.isspace():
                continue
            yield number, parsed(raw, f"{path}, line {number}")


def json_document(path: Path) -> Any:
    """The one JSON value that a file holds."""
    return parsed(path.read_bytes(), str(path), kind=(dict, list))


def parsed(raw: bytes, place: str, kind=dict) -> Any:
    """JSON as Python values, NaN allowed; OutcomesError naming the place for anything else."""
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_object)
        if not isinstance(value, kind):
            raise ValueError(f"{type(value).__name__} where an object was expected")
    except (ValueError, RecursionError) as error:
        start = repr(raw.strip()[:60].decode("utf-8", "backslashreplace"))
        raise OutcomesError(
            f"{place}: expected JSON, got {start} ({error}). Mend or delete it, or fetch the file "
            "again if it was cut short."
        ) from error
    return value


def _object(pairs):
    """A JSON object as a dict; one that says a thing twice is refused."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return row


def get(record: dict, name: str, kinds: tuple[type, ...], place: str, what: str = "") -> Any:
    """record[name], which must be there and of one of those very types (True is no int)."""
    if name not in record:
        have = ", ".join(map(repr, record)) or "nothing"
        raise OutcomesError(f"{place}: no {name!r}; it has {have}.")
    value = record[name]
    if type(value) not in kinds:
        expected = what or " or ".join("null" if k is NONE else k.__name__ for k in kinds)
        raise OutcomesError(f"{place}, {name!r}: got {_shown(value)}, expected {expected}.")
    return value


NONE = type(None)


class Alike:
    """Rows that must be of one kind: each of some fields in all or in none, some of one type."""

    def __init__(self, *names: str, typed: Iterable[str] = ()):
        self.typed, self.names = tuple(typed), (*names, *typed)
        self.first, self.place = None, ""

    def check(self, record: dict, place: str) -> None:
        """Raises OutcomesError where a row is unlike the first: a field was renamed or lost."""
        kinds = tuple(name in record and self._kind(name, record[name]) for name in self.names)
        if self.first is None:
            self.first, self.place = kinds, place
        elif kinds != self.first:
            trios = zip(self.names, kinds, self.first, strict=True)
            name, here, there = next(trio for trio in trios if trio[1] != trio[2])
            words = {True: "there", False: "missing"}
            raise OutcomesError(
                f"{place}: {name!r} is {words.get(here, here)}, and in {self.place} it is "
                f"{words.get(there, there)}; expected the same in all rows. Is a field renamed, or "
                "are these two logs in one file?"
            )

    def _kind(self, name, value):
        return type(value).__name__ if name in self.typed else True


def verdict(value: Any, place: str, threshold: float | None) -> bool:
    """Whether a score is a success: 1 and 0, or at least `threshold` where that was given."""
    if type(value) not in (bool, int, float) or value != value:
        raise OutcomesError(
            f"{place}: got {_shown(value)}, expected a score: a number, or a boolean."
        )
    if threshold is not None:
        return value >= threshold
    if value not in (0, 1):
        raise OutcomesError(
            f"{place}: the score {value} is neither 0 nor 1. Say from which score on an attempt is "
            "a success: threshold=1.0."
        )
    return bool(value)


def choose(candidates: Iterable[str], given: str | None, argument: str, what: str, place: str):
    """The candidate that was asked for, or the only one; else an error that lists them."""
    candidates = list(dict.fromkeys(candidates))
    listed = ", ".join(map(repr, candidates)) or "none"
    if given is not None:
        if given not in candidates:
            raise OutcomesError(f"{place}: no {what} {given!r}; it has {listed}.")
        return given
    if len(candidates) != 1:
        said = f"several {what}s" if candidates else f"no {what}"
        hint = f' Choose one: {argument}="{candidates[0]}".' if candidates else ""
        raise OutcomesError(f"{place}: {said} ({listed}).{hint}")
    return candidates[0]


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _shortened(files: list[str]) -> str:
    return ", ".join(files[:3]) + (f", and {len(files) - 3} more" if len(files) > 3 else "")
