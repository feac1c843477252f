"""What a log says of the run it is of, and its plan set against what is there."""

from collections.abc import Collection

from lib import outcomes
from lib.outcomes.importers.attempts import Imported
from lib.outcomes.importers.records import NONE, get
from lib.outcomes.wording import shortened


def part(record: dict, name: str, place: str) -> dict:
    """record[name], an object; empty where it is null or not there."""
    return (get(record, name, (dict, NONE), place) if name in record else None) or {}


def note_unplanned(done: Imported, trials: int, tasks: int | Collection[str] | None) -> None:
    """Note in the report, and warn, which tasks have fewer or more attempts than were planned.

    tasks: how many were planned, or their names; None for all that there are, however many.
    """
    counts = outcomes.counts(done.outcomes)
    tried = dict(zip(counts["task"], counts["n"] + counts["missing"], strict=True))
    if isinstance(tasks, Collection):
        tried = dict.fromkeys(tasks, 0) | tried
        tasks = len(tasks)
    told = [f"task {name!r} has {n}" for name, n in tried.items() if n != trials]
    if tasks is not None and len(tried) != tasks:
        told.insert(0, f"{len(tried)} tasks are there")
    if told:
        of = "all" if tasks is None else tasks
        plan = f"{trials} attempts at each of {of} tasks were planned"
        more = f" and {len(told) - 8} more tasks have another number" if len(told) > 8 else ""
        said = f"{shortened(done.report.files)}: {plan}; {', '.join(told[:8])}{more}"
        done.report.note(said)
        outcomes.warn(said)
