"""What every importer shares: records from files, the report on a log, and its table."""

import gzip
import json
import math
import re
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
from lib.outcomes.values import as_text, is_name
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
_LONGEST_NUMBER = 300
"""Digits of a whole number that a float can still hold."""

_LOWER_IS_BETTER = re.compile(
    r"(^|[^a-z])(wer|cer|ter|mer|perplexity|ppl|bits_per_byte|bpb|brier|nll|loss|mse|rmse|mae|ece|"
    r"error|errors)($|[^a-z])",
    re.IGNORECASE,
)


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


@dataclass
class ImportReport:
    """What was read, what was left out, and why.

    missing: attempts without a score, by reason.  duplicates: rows that a later one replaced.
    skipped: rows or parts of the log that are no attempts, by reason.
    untried: tasks without an attempt, by reason; they are not in the table, nor among `tasks`.
    threshold: scores from there on are successes; None where scores are 1 and 0.
    scores: the lowest and the highest score that was judged by the threshold.
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
    untried: dict[str, list[str]] = field(default_factory=dict)
    threshold: float | None = None
    scores: tuple[float, float] = (math.inf, -math.inf)
    settings: dict[str, list] = field(default_factory=dict)
    unequal: tuple[int, int] = (0, 0)
    tried: tuple[int, int] = (0, 0)
    notes: list[str] = field(default_factory=list)

    def set(self, settings: dict | None) -> None:
        """Note the decoding settings among the items of a mapping; other items are left alone.

        Raises OutcomesError where they are no mapping, or a setting is no number.
        """
        if not isinstance(settings, dict | NONE):
            raise OutcomesError(
                f"{_shortened(self.files)}: the decoding settings are {_shown(settings)}; expected "
                'an object, such as {"temperature": 0.7}.'
            )
        for name, value in (settings or {}).items():
            name = _OTHER_NAMES.get(name, name)
            if name not in SETTINGS or value is None:
                continue
            number = _number(value)
            if number is None:
                raise OutcomesError(
                    f"{_shortened(self.files)}: the setting {name!r} is {_shown(value)}; expected "
                    "a number, or null."
                )
            values = self.settings.setdefault(name, [])
            if number not in values:
                values.append(number)

    def succeed_from(self, threshold: float | None) -> None:
        """Let scores from `threshold` on be successes; None leaves that to scores of 1 and 0.

        Raises OutcomesError for anything but a finite number.
        """
        finite = type(threshold) in (int, float) and math.isfinite(threshold)
        if threshold is not None and not finite:
            raise OutcomesError(
                f"threshold: got {_shown(threshold)}, expected a finite number, such as "
                f"{option('threshold', 1.0)}."
            )
        self.threshold = threshold

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
        if self.threshold is not None:
            told.append(f"success: score >= {self.threshold} (the threshold){self._seen()}")
        least, most = self.unequal
        if least != most:
            told.append(f"tasks have {least} to {most} scored attempts")
        told += [f"missing: {_count(n, 'attempt')}, {why}" for why, n in self.missing.items()]
        if self.duplicates:
            told.append(f"{_count(self.duplicates, 'row')} repeated by a later one, which counts")
        told += [f"skipped: {n}, {why}" for why, n in self.skipped.items()]
        for why, tasks in self.untried.items():
            named = _shortened([repr(task) for task in tasks])
            told.append(f"without an attempt: {_count(len(tasks), 'task')}, {why} ({named})")
        for name, values in self.settings.items():
            told.append(f"{name}: {', '.join(map(str, values))}")
        return told + self.notes

    def _seen(self) -> str:
        low, high = self.scores
        return f"; scores run from {low} to {high}" if low <= high else ""

    def __str__(self) -> str:
        return "\n".join(self.lines())


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
        number = next_number[cell, task] if row.attempt is None else row.attempt
        next_number[cell, task] += row.attempt is None
        reason = None
        if row.passed is None:
            reason = sys.intern(as_text(row.reason) or "no reason given")
        for values, value in zip(
            columns.values(), (cell, task, number, row.passed, reason, run), strict=True
        ):
            values.append(value)
        if trajectories and row.messages is not None:
            made = (cell, pair, arm, task, number, row.passed, reason or "")
            rollouts[cell, task, number] = run, _rollout(report, made, row.messages)
    for (cell, task), (run, reason) in untried.items():
        if runs.is_last(cell, task, run):
            report.untried.setdefault(reason, []).append(task)
    runs.tell(report)
    table = runs.latest(pd.DataFrame(columns))
    of_counts = ["benchmark", "task", "n", "c", "missing", "run"]
    counts = runs.latest(pd.DataFrame(counted, columns=of_counts))
    if table.empty and counts.empty:
        raise OutcomesError(f"{_shortened(report.files)}: no attempts; expected a log of some.")
    repeated = table.duplicated(["benchmark", "task", "attempt"], keep="last")
    report.duplicates += int(repeated.sum())
    table, source = table[~repeated].assign(pair=pair, arm=arm), _shortened(report.files)
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
        record = row.record if isinstance(row, Attempt) else object()
        sizes = self.sizes.get(key)
        if sizes is None or record != self.records[key]:
            self.records[key] = record
            sizes = self.sizes.setdefault(key, [])
            sizes.append(0)
        if not isinstance(row, Untried):
            sizes[-1] += row.n + row.missing if isinstance(row, Counted) else 1
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
                f"{_count(len(unlike), 'task')} came again with another number of attempts "
                f"({task!r}: {', then '.join(map(str, sizes))}), as where a log holds two runs; of "
                f"each task the last counts, whole ({len(self.sizes) - len(again)} came once)"
            )


def _name(value, what, report, names) -> str:
    """A name as text, also noted in `names`, since many rows have the same."""
    name = names[value] = str(value)
    if not is_name(name):
        raise OutcomesError(
            f"{_shortened(report.files)}: the {what} {name!r} is no name; expected text, not "
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
        f"{_shortened(report.files)}: every score is a {which} by the threshold "
        f"{report.threshold}, since scores run from {low} to {high}. Is it on the scores' scale?"
    )
    report.note(said)
    outcomes.warn(said)


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
        text = raw.decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=_object, parse_int=_whole)
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


def _whole(digits):
    """A whole number; one beyond all floats is no score, count or setting, and is refused."""
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


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


def verdict(value: Any, place: str, report: ImportReport) -> bool:
    """Whether a score is a success: 1 and 0, or by the threshold of the report, if it has one."""
    if type(value) not in (bool, int, float) or not math.isfinite(value):
        raise OutcomesError(
            f"{place}: got {_shown(value)}, expected a score: a finite number, or a boolean."
        )
    if report.threshold is not None:
        low, high = report.scores
        report.scores = min(low, value), max(high, value)
        return value >= report.threshold
    if value not in (0, 1):
        raise OutcomesError(
            f"{place}: the score {value} is neither 0 nor 1. Say from which score on an attempt is "
            f"a success: {option('threshold', 1.0)}."
        )
    return bool(value)


def measures_errors(scorer: str) -> bool:
    """Whether a score's name is that of an error measure: wer, perplexity, brier_score, ..."""
    return _LOWER_IS_BETTER.search(scorer) is not None


def error_measure(scorer: str, place: str) -> OutcomesError:
    """The error that refuses a score that is better the lower."""
    return OutcomesError(
        f"{place}: {scorer!r} is better the lower, and a success is a score of 1, or from a "
        "threshold up. Choose another score, or turn this one into passed or not in a table (task, "
        "attempt, passed)."
    )


def option(name: str, value: Any) -> str:
    """How a reader of logs is told to choose something, in Python and on the command line."""
    spelled = f'"{value}"' if isinstance(value, str) else value
    return f"{name}={spelled} (on the command line: --choose {name}={value})"


def choose(candidates: Iterable[str], given: str | None, argument: str, what: str, place: str):
    """The candidate that was asked for, or the only one; else an error that lists them."""
    candidates = list(dict.fromkeys(candidates))
    listed = ", ".join(map(repr, candidates)) or "none"
    if given is not None:
        if given not in candidates:
            raise OutcomesError(f"{place}: no {what} {given!r}; it has {listed}.")
        return given
    if len(candidates) != 1:
        head, of, rest = what.partition(" of ")
        said = f"several {head}s{of}{rest}" if candidates else f"no {what}"
        hint = f" Choose one: {option(argument, candidates[0])}." if candidates else ""
        raise OutcomesError(f"{place}: {said} ({listed}).{hint}")
    return candidates[0]


def _number(value) -> int | float | None:
    """The finite number that a value is, or spells; None for any other."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if type(value) not in (int, float) or not math.isfinite(value):
        return None
    return value


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _shortened(files: list[str]) -> str:
    return ", ".join(files[:3]) + (f", and {len(files) - 3} more" if len(files) > 3 else "")
