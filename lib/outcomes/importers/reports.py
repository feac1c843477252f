"""The report on a log: what was read, what was left out, and why."""

import json
import math
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd

from lib import outcomes
from lib.outcomes import OutcomesError
from lib.outcomes.values import shown
from lib.outcomes.wording import count, cut, option, shortened

SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "n")
"""Decoding settings that are compared between arms, by our names."""

_FURTHER = (
    *("do_sample", "until", "stop", "stop_seqs", "min_p", "reasoning_effort", "reasoning_tokens"),
    *("repetition_penalty", "frequency_penalty", "presence_penalty", "chat_template_kwargs"),
)
"""Further decoding settings that are compared, of any type, by the names that logs give them."""

_OTHER_NAMES = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_choices": "n",
}


@dataclass
class ImportReport:
    """What was read, what was left out, and why.

    missing: attempts without a score, by reason.  duplicates: rows that a later one replaced.
    skipped: rows or parts of the log that are no attempts, by reason.
    untried: tasks without an attempt, by reason; they are not in the table, nor among `tasks`.
    threshold: scores from there on are successes; None where scores are 1 and 0.
    scores: the lowest and the highest score that was judged by the threshold.
    settings: decoding settings that the log records; several values where it has several.
    conditions: what else decides on scores, as JSON, by its name and what it is of: a task of the
    tool, or "" for the whole log. An empty set where a log tells such things, and this one not.
    documents: what tells the document of a (benchmark, task) from others, as `one_document` takes
    it, where the log has it.
    benchmarks: tasks, attempts, scored and passed ones of each benchmark.
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
    conditions: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    documents: dict[tuple[str, str], tuple[str | None, str]] = field(default_factory=dict)
    benchmarks: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    unequal: tuple[int, int] = (0, 0)
    tried: tuple[int, int] = (0, 0)
    notes: list[str] = field(default_factory=list)

    def set(self, settings: dict | None, of: str = "") -> None:
        """Note the decoding settings among the items of a mapping; other items are left alone.

        Those in `extra_body`, which clients pass on to a server, are among them.  of: the task of
        the tool that they are of, where it samples its tasks unalike.
        Raises OutcomesError where they are no mapping, or a setting is no number.
        """
        if not isinstance(settings, dict | None):
            raise OutcomesError(
                f"{shortened(self.files)}: the decoding settings are {shown(settings)}; expected "
                'an object, such as {"temperature": 0.7}.'
            )
        for name, value in (settings or {}).items():
            name = _OTHER_NAMES.get(name, name)
            if name == "extra_body":
                self.set(value, of)
            if name in _FURTHER:
                self.condition(name, of, value)
            if name not in SETTINGS or value is None:
                continue
            number = number_of(value)
            if number is None:
                raise OutcomesError(
                    f"{shortened(self.files)}: the setting {name!r} is {shown(value)}; expected "
                    "a number, or null."
                )
            values = self.settings.setdefault(name, [])
            if number not in values:
                values.append(number)

    def condition(self, name: str, of: str, value: object) -> None:
        """Note what else decides on scores; None where the log does not tell it."""
        told = self.conditions.setdefault((name, of), set())
        if value is not None:
            told.add(json.dumps(value, sort_keys=True))

    def succeed_from(self, threshold: float | None) -> None:
        """Let scores from `threshold` on be successes; None leaves that to scores of 1 and 0.

        Raises OutcomesError for anything but a finite number.
        """
        finite = type(threshold) in (int, float) and math.isfinite(threshold)
        if threshold is not None and not finite:
            raise OutcomesError(
                f"threshold: got {shown(threshold)}, expected a finite number, such as "
                f"{option('threshold', 1.0)}."
            )
        self.threshold = threshold

    def note(self, text: str) -> None:
        """Say a thing once."""
        if text not in self.notes:
            self.notes.append(text)

    def lines(self) -> list[str]:
        """The report as lines of text, the good news first."""
        counts = (self.tasks, self.attempts, self.scored, self.passed)
        told = [
            f"{self.format}: {count(len(self.files), 'file')} read ({shortened(self.files)})",
            _counted(*counts),
        ]
        if len(self.benchmarks) > 1:
            told += [f"of {name}: {_counted(*of)}" for name, of in self.benchmarks.items()]
        if self.scorer:
            told.append(f"scored by {self.scorer}")
        if self.threshold is not None:
            told.append(f"success: score >= {self.threshold} (the threshold){self._seen()}")
        least, most = self.unequal
        if least != most:
            told.append(f"tasks have {least} to {most} scored attempts")
        told += [f"missing: {count(n, 'attempt')}, {why}" for why, n in self.missing.items()]
        if self.duplicates:
            told.append(f"{count(self.duplicates, 'row')} repeated by a later one, which counts")
        told += [f"skipped: {n}, {why}" for why, n in self.skipped.items()]
        for why, tasks in self.untried.items():
            named = shortened([repr(task) for task in tasks])
            told.append(f"without an attempt: {count(len(tasks), 'task')}, {why} ({named})")
        for name, values in self.settings.items():
            told.append(f"{name}: {', '.join(map(str, values))}")
        return told + self._conditions() + self.notes

    def _conditions(self) -> list[str]:
        """A line a condition: what it is, and of which tasks, where it is of tasks."""
        groups = {}
        for (name, of), values in self.conditions.items():
            if values:
                groups.setdefault((name, "; ".join(sorted(values))), []).append(of)
        return [
            f"{name}: {cut(text)}" + (f" ({shortened(of)})" if any(of) else "")
            for (name, text), of in groups.items()
        ]

    def _seen(self) -> str:
        low, high = self.scores
        return f"; scores run from {low} to {high}" if low <= high else ""

    def __str__(self) -> str:
        return "\n".join(self.lines())


def complete(table: pd.DataFrame, report: ImportReport) -> pd.DataFrame:
    """Fill in the numbers of a report from the table it is about, which comes back."""
    if outcomes.kind(table) == "attempts":
        why = table.loc[table["passed"].isna(), "reason"].value_counts()
        report.missing = {reason: int(n) for reason, n in why.items()}
    counts = outcomes.counts(table)
    report.benchmarks = {name: _numbers(of) for name, of in counts.groupby("benchmark", sort=False)}
    report.tasks, report.attempts, report.scored, report.passed = _numbers(counts)
    missing = report.attempts - report.scored
    if missing > sum(report.missing.values()):
        report.missing["no reason kept"] = missing - sum(report.missing.values())
    tried = counts["n"] + counts["missing"]
    report.unequal = (int(counts["n"].min()), int(counts["n"].max()))
    report.tried = (int(tried.min()), int(tried.max()))
    return table


def _numbers(counts) -> tuple[int, int, int, int]:
    """Tasks, attempts, scored and passed ones of a table of counts."""
    rows = counts.get("tasks", 1)
    tasks = int(counts["tasks"].sum()) if "tasks" in counts else len(counts)
    scored, passed, missing = (int((counts[name] * rows).sum()) for name in ("n", "c", "missing"))
    return tasks, scored + missing, scored, passed


def _counted(tasks, attempts, scored, passed) -> str:
    return (
        f"{count(tasks, 'task')}, {count(attempts, 'attempt')}, of which {scored} scored and "
        f"{passed} passed"
    )


def one_document(one: tuple[str | None, str], other: tuple[str | None, str]) -> bool:
    """Whether two documents, each (hash of it, or None; its target), are one.

    The hashes say, where both have one; else the targets do.
    """
    return one[0] == other[0] if one[0] and other[0] else one[1] == other[1]


def setting_called(column: str) -> str | None:
    """The decoding setting that a column of a table is named after, by our name; None for none.

    `n` is a count there.
    """
    plain = column.strip().casefold()
    name = _OTHER_NAMES.get(plain, plain)
    return name if name in SETTINGS and name != "n" else None


def number_of(value) -> int | float | None:
    """The finite number that a value is, or spells; None for any other."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if type(value) not in (int, float) or not math.isfinite(value):
        return None
    return value
