"""A folder that `python -m lib collect` made: its attempts, and the settings of its manifest."""

from functools import partial
from pathlib import Path

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.reports import ImportReport
from lib.trajectories import manifest, store

PATTERN = "rollouts-*.jsonl"
_SAMPLING = ("temperature", "top_p", "top_k", "max_new_tokens", "repetition_penalty")
"""What is compared between arms. What ends a reply belongs to the way a model is spoken to, which
is meant to differ: a base acts through the harness, a post-trained model by its template."""


def read_collection(path: str | Path, **cell) -> Imported:
    """Read a collection, as `lib.rollouts` writes it; see `lib.trajectories.store` for what counts.

    The manifest tells how attempts were sampled; a collection without one tells nothing of it.
    Raises OutcomesError for a folder without rollouts, and for a file of it that is damaged.
    """
    path = Path(path)
    report = ImportReport("collection", sorted(map(str, path.glob(PATTERN))))
    told = manifest.settings(path)
    report.set({name: told.get(f"policy.sampling.{name}") for name in _SAMPLING})
    for name, value in told.items():
        if name == "max_turns" or name.startswith("environment."):
            report.condition(name, "", value)
    try:
        return collect(_attempts(path, cell.get("trajectories", False)), report, **cell)
    except manifest.CollectionError as error:
        raise OutcomesError(str(error)) from error


def _attempts(path, whole):
    if whole:
        for row in store.read_collection(path):
            messages = partial(tuple, row.messages)
            yield Attempt(row.task, row.attempt, row.passed, row.reason, messages, row.benchmark)
    else:
        for row in store.read_attempts(path):
            benchmark, *_, task, attempt = row.key
            yield Attempt(task, attempt, row.passed, row.reason, benchmark=benchmark)
