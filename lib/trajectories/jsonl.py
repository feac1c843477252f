"""Rollouts as append-only files of JSON lines, one rollout a line.

Every line carries the schema's version, so shards may be joined by concatenation. A process that
dies can tear the last line only: readers drop that line with a warning, and
:class:`RolloutWriter` removes it before it appends, so that nothing is glued to a torn line.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lib.trajectories import storage
from lib.trajectories.schema import Message, Rollout, Tool, ToolCall, TrajectoryError, Turn
from lib.trajectories.tokens import common_length

SCHEMA = 1
"""Version of the line format; a reader refuses the lines of another one."""


def to_line(rollout: Rollout) -> bytes:
    r"""Write a rollout as one line of ASCII JSON that ends in ``\n``.

    A turn's prompt mostly repeats what came before it, so only what is new is written.
    """
    record = {"schema": SCHEMA, **_plain(rollout), "turns": []}
    seen: tuple[int, ...] = ()
    for turn in rollout.turns:
        raw = _plain(turn)
        if turn.prompt_ids is not None:
            kept = common_length(seen, turn.prompt_ids)
            raw["prompt_ids"] = {"kept": kept, "new": turn.prompt_ids[kept:]}
            seen = turn.prompt_ids + (turn.action_ids or ())
        record["turns"].append(raw)
    try:
        return json.dumps(record, default=_plain, allow_nan=False).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise TrajectoryError(
            f"rollout {rollout.key} cannot be written as JSON: {error}"
        ) from error


def _plain(item: Any) -> dict[str, Any]:
    if not is_dataclass(item):
        raise TypeError(f"{item!r} is a {type(item).__name__}")
    return {known.name: getattr(item, known.name) for known in fields(item)}


def from_line(line: bytes | str) -> Rollout:
    """Read what :func:`to_line` wrote; TrajectoryError says what is wrong with a line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrajectoryError(f"not JSON ({error})") from error
    return _rollout(record)


def _check_schema(record: Any) -> None:
    if not isinstance(record, dict):
        raise TrajectoryError(f"expected an object, got {type(record).__name__}")
    if record.get("schema") != SCHEMA:
        raise TrajectoryError(
            f"schema is {record.get('schema')!r}, this version reads {SCHEMA}; "
            "read the file with the version that wrote it"
        )


def _rollout(record: Any) -> Rollout:
    _check_schema(record)
    record = {name: value for name, value in record.items() if name != "schema"}
    try:
        messages = [_build(Message, raw) for raw in record.pop("messages", ())]
        turns, seen = [], ()
        for raw in record.pop("turns", ()):
            if raw.get("prompt_ids") is not None:
                kept = raw["prompt_ids"]["kept"]
                if kept > len(seen):
                    raise TrajectoryError(f"a prompt keeps {kept} of {len(seen)} tokens")
                raw["prompt_ids"] = (*seen[:kept], *raw["prompt_ids"]["new"])
            turn = _build(Turn, raw)
            turns.append(turn)
            if turn.prompt_ids is not None:
                seen = turn.prompt_ids + (turn.action_ids or ())
        tools = record.pop("tools", ())
        if not isinstance(tools, str):
            tools = [_build(Tool, raw) for raw in tools]
    except (KeyError, TypeError, AttributeError) as error:
        raise TrajectoryError(f"malformed messages, tools or turns ({error!r})") from error
    return _build(Rollout, {**record, "messages": messages, "turns": turns, "tools": tools})


def _build(kind: type, raw: dict[str, Any]) -> Any:
    unknown = set(raw) - {known.name for known in fields(kind)}
    if unknown:
        raise TrajectoryError(f"unknown field {sorted(unknown)[0]!r} of a {kind.__name__}")
    if kind is Message:
        raw = {
            **raw,
            "tool_calls": [_build(ToolCall, call) for call in raw.get("tool_calls", ())],
            "tools": [_build(Tool, tool) for tool in raw.get("tools", ())],
        }
    try:
        return kind(**raw)
    except TypeError as error:
        raise TrajectoryError(f"incomplete {kind.__name__}: {error}") from error


class Entry(NamedTuple):
    """What a line says of its attempt, and where in the file it starts, in bytes."""

    key: tuple[str, str, str, str, int]
    passed: bool | None
    reason: str
    start: int


def iter_rollouts(
    path: str | Path, on_torn: Callable[[str], object] = warnings.warn
) -> Iterator[Rollout]:
    """Read a file line by line, repeated attempts and all.

    A last line that was torn is dropped, and ``torn`` is told so; any other bad line raises
    TrajectoryError with the file, the line and what is wrong. Blank lines are skipped.
    """
    for number, _, record in iter_records(path, on_torn):
        yield _numbered(path, number, _rollout, record)


def iter_entries(
    path: str | Path, on_torn: Callable[[str], object] = warnings.warn
) -> Iterator[Entry]:
    """Read of each line only which attempt it is and how it ended; else as iter_rollouts."""
    for number, start, record in iter_records(path, on_torn):
        yield _numbered(path, number, lambda record: _entry(record, start), record)  # noqa: B023


def rollouts_at(path: str | Path, starts: Iterable[int]) -> Iterator[Rollout]:
    """Read the lines that start at these bytes, see :class:`Entry`."""
    with open(path, "rb") as file:
        for start in starts:
            file.seek(start)
            try:
                rollout = from_line(file.readline())
            except TrajectoryError as error:
                raise TrajectoryError(f"{path}, at byte {start}: {error}") from error
            yield rollout


def iter_records(
    path: str | Path, on_torn: Callable[[str], object] = warnings.warn
) -> Iterator[tuple[int, int, Any]]:
    """Number, first byte and JSON value of each line; a torn last one is told and dropped.

    A line without its line break is torn whatever comes after: a writer may be at work on it.
    """
    with open(path, "rb") as file:
        start = 0
        for number, line in enumerate(iter(file.readline, b""), 1):
            if line.strip():
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if not line.endswith(b"\n"):
                        on_torn(f"{path}:{number}: the last line is torn and was dropped")
                        return
                    raise TrajectoryError(
                        f"{path}:{number}: not JSON ({error}); only a last line may be torn: "
                        "remove the line by hand, its attempt then runs again"
                    ) from error
                yield number, start, record
            start += len(line)


def _numbered(path: str | Path, number: int, read: Callable[[Any], Any], record: Any) -> Any:
    try:
        return read(record)
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}:{number}: {error}") from error


def _entry(record: Any, start: int) -> Entry:
    _check_schema(record)
    names = ("benchmark", "pair", "arm", "task", "attempt", "passed", "reason")
    head = _build(Rollout, {name: record[name] for name in names if name in record})
    return Entry(head.key, head.passed, head.reason, start)


def read_rollouts(path: str | Path) -> list[Rollout]:
    """Read a file; of an attempt that is in it more than once the last one wins, with a warning."""
    found: dict[tuple, Rollout] = {}
    repeats = 0
    for rollout in iter_rollouts(path):
        repeats += rollout.key in found
        found[rollout.key] = rollout
    if repeats:
        warnings.warn(
            f"{path}: {repeats} repeated (task, attempt), the last of each was kept", stacklevel=2
        )
    return list(found.values())


def mend(path: str | Path) -> int:
    """Make a file safe to append to, and return how many torn bytes were cut off its end.

    A last line that lacks only its line break is whole and gets one; the caller must be the only
    writer of the file.
    """
    with open(path, "r+b") as file:
        last = b""
        for line in file:
            last = line
        if last.endswith(b"\n") or not last:
            return 0
        try:
            json.loads(last)
        except (ValueError, RecursionError):
            file.truncate(file.seek(0, os.SEEK_END) - len(last))
            return len(last)
        file.write(b"\n")
        return 0


class LineWriter:
    """Append lines to a file, each in the file when ``write_line`` returns.

    Opening makes the folder, locks the file against a second writer, and mends its end.
    ``write_line`` hands the line to the operating system at once, so a killed process loses nothing
    that was written; a line that could only be written in part (a full disk) is taken back.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(storage.lock(self.path))
            except storage.LockedError as error:
                raise TrajectoryError(
                    f"{self.path} is being written by another process; wait for it, or choose "
                    "another file"
                ) from error
            self._file = stack.enter_context(open(self.path, "ab", buffering=0))
            mend(self.path)
            self._held = stack.pop_all()

    def write_line(self, line: bytes) -> None:
        """Append one line, its line break included."""
        left = memoryview(line)
        before = os.fstat(self._file.fileno()).st_size
        try:
            while left:
                left = left[self._file.write(left) :]
        except BaseException:
            self._file.truncate(before)
            raise

    def close(self) -> None:
        """Close the file and release its lock."""
        self._held.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class RolloutWriter(LineWriter):
    """Append rollouts to a file, one line at a time.

    >>> with RolloutWriter("run.jsonl") as out:  # doctest: +SKIP
    ...     out.write(rollout)
    """

    def write(self, rollout: Rollout) -> None:
        """Append one rollout."""
        self.write_line(to_line(rollout))
