"""A folder that `python -m lib collect` made: its attempts, and the settings of its manifest."""

from functools import partial
from pathlib import Path

from lib.outcomes.errors import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, as_outcomes
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.reports import ImportReport
from lib.trajectories import manifest, store

_PATTERN = "rollouts-*.jsonl"
_SAMPLING = ("temperature", "top_p", "top_k", "max_new_tokens", "repetition_penalty")
"""Decoding settings that are compared between arms. What ends a reply is not: it belongs to the
prompt format, which differs on purpose between a base and a post-trained model."""


def files_in(folder: Path) -> list[Path]:
    """The files of rollouts below a folder."""
    return files_below(folder, _PATTERN)


def read_collection(path: str | Path, **cell) -> Imported:
    """Read a collection, as `lib.rollouts` writes it; see `lib.trajectories.store` for what counts.

    Decoding settings come from the manifest; a collection without one has none. cell: as in
    `attempts.as_outcomes`.
    Raises OutcomesError for a folder without rollouts, and for a damaged file in it.
    """
    path = Path(path)
    report = ImportReport("collection", sorted(map(str, path.glob(_PATTERN))))
    settings = manifest.settings(path)
    report.set({name: settings.get(f"policy.sampling.{name}") for name in _SAMPLING})
    report.name_model(settings.get("policy.model", settings.get("policy.script")))
    for name, value in settings.items():
        if name == "max_turns" or name.startswith("environment."):
            report.condition(name, "", value)
    try:
        return as_outcomes(_attempts(path, cell.get("trajectories", False)), report, **cell)
    except manifest.CollectionError as error:
        raise OutcomesError(str(error)) from error


def _attempts(path, with_messages):
    if with_messages:
        for row in store.read_collection(path):
            messages = partial(tuple, row.messages)
            yield Attempt(row.task, row.attempt, row.passed, row.reason, messages, row.benchmark)
    else:
        for row in store.read_attempts(path):
            benchmark, *_, task, attempt = row.key
            yield Attempt(task, attempt, row.passed, row.reason, benchmark=benchmark)
