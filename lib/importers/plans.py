"""What a log says of the run it is of, and its plan set against what is there."""

from collections.abc import Collection

from lib import outcomes
from lib.importers.log import Imported
from lib.importers.records import NONE, get


def part(record: dict, name: str, place: str) -> dict:
    """record[name], an object; empty where it is null or not there."""
    return (get(record, name, (dict, NONE), place) if name in record else None) or {}


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
