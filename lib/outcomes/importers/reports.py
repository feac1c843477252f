"""The report on a log: what was read, what was left out, and why."""

import json
import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import pandas as pd

from lib import outcomes
from lib.outcomes.errors import OutcomesError, count, cut, first_few, option, shown, warn

SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "n")
"""Decoding settings that are compared between arms, by the names used here."""

_FURTHER = (
    *("do_sample", "until", "stop", "stop_seqs", "min_p", "reasoning_effort", "reasoning_tokens"),
    *("repetition_penalty", "frequency_penalty", "presence_penalty", "chat_template_kwargs"),
)
"""Further decoding settings that are compared, of any type, by their names in logs."""

_OTHER_NAMES = {
    "max_gen_toks": "max_tokens",
    "max_new_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_choices": "n",
}


@dataclass
class ImportReport:
    """What was read, what was left out, and why.

    model: the name of the model whose attempts these are, as the log has it; "" if it has none.
    missing: attempts without a score, by reason.  duplicates: rows that a later row replaced.
    skipped: rows or parts of the log that hold no attempt, by reason.
    untried: tasks without an attempt, by reason; they are not in the table, nor among `tasks`.
    threshold: the lowest score of a success; None if scores are 1 and 0.
    scores: the lowest and the highest score compared with the threshold.
    settings: decoding settings that the log records, each with all values that it has.
    conditions: whatever else affects scores, as JSON, by name and scope: a task of the tool, or ""
        for the whole log. An empty set if this format records it, but not this log.
    documents: by (benchmark, task), a hash of the task's document and its target, to compare by
        `same_document`.
    benchmarks: by benchmark, the numbers of tasks and of attempts, scored and passed.
    unequal, tried: the fewest and the most attempts at a task: scored, and in all.
    """

    format: str
    files: list[str] = field(default_factory=list)
    scorer: str = ""
    model: str = ""
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

    def set(self, settings: dict | None, scope: str = "") -> None:
        """Record the decoding settings in a mapping, and in its `extra_body`; ignore other items.

        scope: the task of the tool that was sampled with them; "" for the whole log.
        Raises OutcomesError if this is no mapping, or if a setting is no number.
        """
        if not isinstance(settings, dict | None):
            raise OutcomesError(
                f"{first_few(self.files)}: expected decoding settings as an object, such as "
                f'{{"temperature": 0.7}}; got {shown(settings)}.'
            )
        for name, value in (settings or {}).items():
            name = _OTHER_NAMES.get(name, name)
            if name == "extra_body":
                self.set(value, scope)
            if name in _FURTHER:
                self.condition(name, scope, value)
            if name not in SETTINGS or value is None:
                continue
            number = number_of(value)
            if number is None:
                raise OutcomesError(
                    f"{first_few(self.files)}: expected a number or null for the setting {name!r}; "
                    f"got {shown(value)}."
                )
            values = self.settings.setdefault(name, [])
            if number not in values:
                values.append(number)

    def name_model(self, name: object) -> None:
        """Record the model by its name; ignore what is no text."""
        if isinstance(name, str) and name.strip():
            self.model = name.strip()

    def condition(self, name: str, scope: str, value: object) -> None:
        """Record what else affects scores; None if the log does not say."""
        values = self.conditions.setdefault((name, scope), set())
        if value is not None:
            values.add(json.dumps(value, sort_keys=True))

    def succeed_from(self, threshold: float | None) -> None:
        """Set the lowest score of a success; None if scores are 1 and 0.

        Raises OutcomesError for anything but a finite number.
        """
        finite = type(threshold) in (int, float) and math.isfinite(threshold)
        if threshold is not None and not finite:
            raise OutcomesError(
                f"threshold: expected a finite number, such as {option('threshold', 1.0)}; got "
                f"{shown(threshold)}."
            )
        self.threshold = threshold

    def note(self, text: str) -> None:
        """Add a note, unless the report has it."""
        if text not in self.notes:
            self.notes.append(text)

    def note_unplanned(
        self, table: pd.DataFrame, trials: int, tasks: int | Collection[str] | None
    ) -> None:
        """Note, and warn, which tasks of a table have fewer or more attempts than planned.

        tasks: how many were planned, or their names; None if all tasks there are were planned.
        """
        counts = outcomes.counts(table)
        tried = dict(zip(counts["task"], counts["n"] + counts["missing"], strict=True))
        if isinstance(tasks, Collection):
            tried = dict.fromkeys(tasks, 0) | tried
            tasks = len(tasks)
        unplanned = [f"task {name!r} has {n}" for name, n in tried.items() if n != trials]
        if tasks is not None and len(tried) != tasks:
            unplanned.insert(0, f"there are {len(tried)} tasks")
        if unplanned:
            of = "all" if tasks is None else tasks
            rest = len(unplanned) - 8
            more = f" and {rest} more tasks have another number" if rest > 0 else ""
            message = (
                f"{first_few(self.files)}: {trials} attempts at each of {of} tasks were planned; "
                f"{', '.join(unplanned[:8])}{more}"
            )
            self.note(message)
            warn(message)

    def complete(self, table: pd.DataFrame) -> None:
        """Fill in the numbers of a table of outcomes."""
        if outcomes.kind(table) == "attempts":
            reasons = table.loc[table["passed"].isna(), "reason"].value_counts()
            self.missing = {reason: int(n) for reason, n in reasons.items()}
        counts = outcomes.counts(table)
        self.benchmarks = {
            name: _numbers(rows) for name, rows in counts.groupby("benchmark", sort=False)
        }
        self.tasks, self.attempts, self.scored, self.passed = _numbers(counts)
        missing = self.attempts - self.scored
        if missing > sum(self.missing.values()):
            self.missing["no reason kept"] = missing - sum(self.missing.values())
        tried = counts["n"] + counts["missing"]
        self.unequal = (int(counts["n"].min()), int(counts["n"].max()))
        self.tried = (int(tried.min()), int(tried.max()))

    def lines(self) -> list[str]:
        """The report as lines of text: first what was read, then what was left out."""
        counts = (self.tasks, self.attempts, self.scored, self.passed)
        lines = [
            f"{self.format}: {count(len(self.files), 'file')} read ({first_few(self.files)})",
            _counted(*counts),
        ]
        if len(self.benchmarks) > 1:
            lines += [f"of {name}: {_counted(*of)}" for name, of in self.benchmarks.items()]
        if self.model:
            lines.append(f"model: {self.model}")
        if self.scorer:
            lines.append(f"scored by {self.scorer}")
        if self.threshold is not None:
            low, high = self.scores
            span = f"; scores run from {low} to {high}" if low <= high else ""
            lines.append(f"success: score >= {self.threshold} (the threshold){span}")
        fewest, most = self.unequal
        if fewest != most:
            lines.append(f"tasks have {fewest} to {most} scored attempts")
        lines += [f"missing: {count(n, 'attempt')}, {why}" for why, n in self.missing.items()]
        if self.duplicates:
            lines.append(f"{count(self.duplicates, 'row')} repeated by a later one, which counts")
        lines += [f"skipped: {n}, {why}" for why, n in self.skipped.items()]
        for why, tasks in self.untried.items():
            names = first_few([repr(task) for task in tasks])
            lines.append(f"without an attempt: {count(len(tasks), 'task')}, {why} ({names})")
        for name, values in self.settings.items():
            lines.append(f"{name}: {', '.join(map(str, values))}")
        return lines + self._conditions() + self.notes

    def _conditions(self) -> list[str]:
        """A line for each condition: its values, and the tasks that it is of."""
        groups = {}
        for (name, scope), values in self.conditions.items():
            if values:
                groups.setdefault((name, "; ".join(sorted(values))), []).append(scope)
        return [
            f"{name}: {cut(text)}" + (f" ({first_few(scopes)})" if any(scopes) else "")
            for (name, text), scopes in groups.items()
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _numbers(counts) -> tuple[int, int, int, int]:
    """Tasks, attempts, scored and passed attempts of a table of counts."""
    rows = counts.get("tasks", 1)
    tasks = int(counts["tasks"].sum()) if "tasks" in counts else len(counts)
    scored, passed, missing = (int((counts[name] * rows).sum()) for name in ("n", "c", "missing"))
    return tasks, scored + missing, scored, passed


def _counted(tasks, attempts, scored, passed) -> str:
    return (
        f"{count(tasks, 'task')}, {count(attempts, 'attempt')}, of which {scored} scored and "
        f"{passed} passed"
    )


def same_document(first: tuple[str | None, str], second: tuple[str | None, str]) -> bool:
    """Whether two documents, each (its hash or None, its target), are the same.

    Compares the hashes if both have one, and otherwise the targets.
    """
    if first[0] and second[0]:
        return first[0] == second[0]
    return first[1] == second[1]


def setting_called(column: str) -> str | None:
    """The decoding setting that a table's column is named after; None if there is none.

    `n` is a count in tables.
    """
    plain = column.strip().casefold()
    name = _OTHER_NAMES.get(plain, plain)
    return name if name in SETTINGS and name != "n" else None


def number_of(value) -> int | float | None:
    """A value as a finite number, also if text spells it; None for any other value."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if type(value) not in (int, float) or not math.isfinite(value):
        return None
    return value
