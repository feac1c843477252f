"""A collection of rollouts on the disk: which line of an attempt counts, and the tools it names.

A collection is a folder. `manifest.json` holds its settings; every process that writes to it has a
`rollouts-*.jsonl` (:mod:`lib.trajectories.jsonl`) and a `tools-*.jsonl`, where each set of tools is
stored once under its :func:`tools_key`, since all attempts at a task share it.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from lib.trajectories.jsonl import Entry, iter_entries, rollouts_at
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import Rollout, Tool, tools_key

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
    """By :attr:`Rollout.key`, the line that counts for each attempt, and the file it is in."""
    entries: dict[tuple, tuple[Path, Entry]] = {}
    for path in sorted(Path(out).glob(ROLLOUTS.format("*"))):
        for entry in iter_entries(path, on_torn=lambda message: None):
            _, before = entries.get(entry.key, (None, None))
            if before is None or before.passed is None or entry.passed is not None:
                entries[entry.key] = path, entry
    return entries


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
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # blank, or torn by a kill before any rollout named it
                continue
            tools[entry["key"]] = tuple(map(Tool.from_dict, entry["tools"]))
    return tools
