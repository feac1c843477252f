"""What a log says of the run it is of, its settings and plan, set against what is there."""

import math
from collections.abc import Collection

from lib import outcomes
from lib.importers.log import NONE, SETTINGS, Imported, ImportReport, get


def part(record: dict, name: str, place: str) -> dict:
    """record[name], an object; empty where it is null or not there."""
    return (get(record, name, (dict, NONE), place) if name in record else None) or {}


def note_settings(report: ImportReport, record: dict, name: str, place: str) -> None:
    """Note the decoding settings in record[name]; one that is no number is told of.

    Raises OutcomesError where record[name] is there and neither an object nor null.
    """
    settings = dict(part(record, name, place))
    for setting, value in settings.items():
        if isinstance(value, str):
            settings[setting] = number = _number(value)
            if number is None and setting in SETTINGS:
                report.note(f"{setting} is {value!r:.60}, no number, and is not compared")
    report.set(settings)


def _number(text):
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else None
    return None


def note_unplanned(done: Imported, trials: int, tasks: int | Collection[str]) -> None:
    """Note in the report which tasks have fewer or more attempts than were planned for each.

    tasks: how many were planned, or their names.
    """
    counts = outcomes.counts(done.outcomes)
    tried = dict(zip(counts["task"], counts["n"] + counts["missing"], strict=True))
    planned = tasks if isinstance(tasks, int) else len(tasks)
    if not isinstance(tasks, int):
        tried = dict.fromkeys(tasks, 0) | tried
    told = [f"task {name!r} has {n}" for name, n in tried.items() if n != trials]
    if len(tried) != planned:
        told.insert(0, f"{len(tried)} tasks are there")
    if told:
        plan = f"{trials} attempts at each of {planned} tasks were planned"
        more = f" and {len(told) - 8} more tasks have another number" if len(told) > 8 else ""
        done.report.note(f"{plan}; {', '.join(told[:8])}{more}")
