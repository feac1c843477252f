"""A collection of rollouts on the disk: which line of an attempt counts, and the tools it names.

A collection is a folder. `manifest.json` holds its settings; every process that writes to it has a
`rollouts-*.jsonl` (:mod:`lib.trajectories.jsonl`) and a `tools-*.jsonl`, where each set of tools is
stored once under its :func:`tools_key`, since all attempts at a task share it.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lib.trajectories import manifest
from lib.trajectories.jsonl import Entry, iter_entries, rollouts_at
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import Rollout, Tool, TrajectoryError, tools_key

ROLLOUTS, TOOLS = "rollouts-{}.jsonl", "tools-{}.jsonl"
"""Names of the files of a collection."""


def read_collection(out: str | Path) -> Iterator[Rollout]:
    """Yield the rollouts of a collection, one per attempt, with their tools; file by file.

    Several lines may hold the same attempt: a missing one that was run again, or shards that
    overlapped. A graded line counts before a missing one, and otherwise the later one, with files
    in the order of their names. Files are read twice, so that only one rollout is in memory.

    The last line of a file may be torn by a kill, or still being written: it is skipped.
    """
    starts: dict[Path, list[int]] = {}
    for path, entry in find_entries(out).values():
        starts.setdefault(path, []).append(entry.start)
    tools = _read_tools(Path(out))
    for path in sorted(starts):
        for rollout in rollouts_at(path, sorted(starts[path])):
            yield replace(rollout, tools=tools.get(rollout.tools, rollout.tools))


def read_attempts(out: str | Path) -> list[Entry]:
    """How each attempt of a collection ended, in the order of tasks and attempts.

    Raises CollectionError if there are none.
    """
    entries = [entry for _, entry in find_entries(out).values()]
    if not entries:
        raise CollectionError(f"{out}: no rollouts yet.")
    return sorted(entries, key=lambda entry: entry.key[-2:])


def find_entries(out: str | Path) -> dict[tuple, tuple[Path, Entry]]:
    """By :attr:`Rollout.key`, the line that counts for each attempt, and the file it is in.

    Raises CollectionError for an attempt that the manifest shows to be of another collection.
    """
    entries: dict[tuple, tuple[Path, Entry]] = {}
    settings, key = manifest.settings(Path(out)), manifest.key(Path(out))
    for path in sorted(Path(out).glob(ROLLOUTS.format("*"))):
        for entry in iter_entries(path, on_torn=lambda message: None):
            if settings:
                _refuse_other(path, entry, settings, key)
            _, before = entries.get(entry.key, (None, None))
            if before is None or before.passed is None or entry.passed is not None:
                entries[entry.key] = path, entry
    return entries


def _refuse_other(path: Path, entry: Entry, settings: dict[str, Any], key: str) -> None:
    """Refuse an attempt that was collected under other settings than those of the manifest."""
    own = dict(zip(("benchmark", "pair", "arm"), entry.key, strict=False)) | {"seed": entry.seed}
    own |= {f"policy.sampling.{name}": value for name, value in entry.sampling.items()}
    other = [
        f"{name} {value!r}, here {settings[name]!r}"
        for name, value in own.items()
        if value is not None and name in settings and settings[name] != value
    ]
    if not other and entry.collection not in ("", key):
        other = ["its settings are not those of manifest.json"]
    if other:
        raise CollectionError(
            f"{path}, at byte {entry.start}: attempt {entry.key[-1]} at task {entry.key[-2]!r} is "
            f"of another collection ({'; '.join(other)}). Move {path.name} to a folder of its own, "
            "with the manifest that it was collected under."
        )


class ToolFile:
    """Stores sets of tools, each once."""

    def __init__(self, path: Path):
        self.path, self._stored = path, set()

    def store(self, tools: tuple[Tool, ...]) -> str:
        """Store these tools unless they are, and return their key."""
        key = tools_key(tools)
        if key not in self._stored:
            line = json.dumps({"key": key, "tools": [asdict(tool) for tool in tools]})
            # The line break comes first, so that no line is glued to one that a kill has torn.
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
            self._stored.add(key)
        return key


def _read_tools(out: Path) -> dict[str, tuple[Tool, ...]]:
    tools = {}
    for path in sorted(out.glob(TOOLS.format("*"))):
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):  # blank, or torn by a kill
                continue
            try:
                tools[entry["key"]] = tuple(map(Tool.from_dict, entry["tools"]))
            except (KeyError, TypeError, AttributeError, TrajectoryError) as error:
                raise CollectionError(
                    f"{path}:{number}: expected an object with key and tools, got {line[:80]!r}. "
                    "Delete the line; rollouts that name its tools are then read without them."
                ) from error
    return tools
