"""A folder that `python -m lib collect` made: its attempts, and the settings of its manifest."""

from functools import partial
from pathlib import Path

import pandas as pd

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.reports import ImportReport
from lib.rollouts import collection
from lib.trajectories import manifest

PATTERN = "rollouts-*.jsonl"
_SAMPLING = ("temperature", "top_p", "top_k", "max_new_tokens", "repetition_penalty")
"""What is compared between arms. What ends a reply belongs to the way a model is spoken to, which
is meant to differ: a base acts through the harness, a post-trained model by its template."""


def read_collection(path: str | Path, **cell) -> Imported:
    """Read a collection, as `lib.rollouts` writes it; an attempt counts as `collection.table` says.

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
    found = collection.read_collection(path) if whole else collection.table(path).itertuples()
    for row in found:
        passed = None if pd.isna(row.passed) else bool(row.passed)
        messages = partial(tuple, row.messages) if whole else None
        yield Attempt(row.task, row.attempt, passed, row.reason, messages, row.benchmark)
