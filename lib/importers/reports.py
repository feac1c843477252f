"""The report on a log: what was read, what was left out, and why."""

import math
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd

from lib import outcomes
from lib.importers.wording import count, option, shortened, shown
from lib.outcomes import OutcomesError

SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "n")
"""Decoding settings that are compared between arms, by our names."""

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
        if not isinstance(settings, dict | None):
            raise OutcomesError(
                f"{shortened(self.files)}: the decoding settings are {shown(settings)}; expected "
                'an object, such as {"temperature": 0.7}.'
            )
        for name, value in (settings or {}).items():
            name = _OTHER_NAMES.get(name, name)
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
        told = [
            f"{self.format}: {count(len(self.files), 'file')} read ({shortened(self.files)})",
            f"{count(self.tasks, 'task')}, {count(self.attempts, 'attempt')}, of which "
            f"{self.scored} scored and {self.passed} passed",
        ]
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
        return told + self.notes

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
