"""Rollouts in append-only files of JSON lines, a rollout per line.

Every line holds the version of the schema, so shards can be joined by concatenation. A process that
dies can only tear the last line. Readers skip that line with a warning; :class:`RolloutWriter` cuts
it off before it appends, so that no line is glued to it.
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
"""Version of the format of a line; lines of another version are refused."""


def to_line(rollout: Rollout) -> bytes:
    r"""Write a rollout as a line of ASCII JSON that ends in ``\n``.

    A turn's prompt mostly repeats the tokens before it: only their count and the new tokens are
    written. Raises TrajectoryError for a rollout that JSON cannot hold.
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
    record = {known.name: getattr(item, known.name) for known in fields(item)}
    for name in ("thought", "collection"):  # most messages and old rollouts have none
        if record.get(name) == "":
            del record[name]
    return record


def from_line(line: bytes | str) -> Rollout:
    """Read a line of :func:`to_line`. Raises TrajectoryError that says what is wrong with it."""
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
                    raise TrajectoryError(
                        f"a prompt keeps {kept} tokens of the {len(seen)} before it"
                    )
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
    """The attempt that a line holds, how it ended, and the byte at which the line starts.

    Beside it what tells from which collection it is: the key of the collection's settings, the
    seed of the policy, and how it sampled.
    """

    key: tuple[str, str, str, str, int]
    passed: bool | None
    reason: str
    start: int
    collection: str = ""
    seed: int | None = None
    sampling: dict[str, Any] = {}  # noqa: RUF012 (a tuple's default, never changed)


def iter_rollouts(
    path: str | Path, on_torn: Callable[[str], object] = warnings.warn
) -> Iterator[Rollout]:
    """Yield the rollouts of a file line by line, repeated attempts included.

    Blank lines are skipped, and so is a torn last line, with a message to ``on_torn``. Raises
    TrajectoryError for any other bad line, with the file, the line and what is wrong.
    """
    for number, _, record in iter_records(path, on_torn):
        yield _numbered(path, number, _rollout, record)


def iter_entries(
    path: str | Path, on_torn: Callable[[str], object] = warnings.warn
) -> Iterator[Entry]:
    """Yield of each line only its attempt and how it ended; else as :func:`iter_rollouts`."""
    for number, start, record in iter_records(path, on_torn):
        yield _numbered(path, number, lambda record: _entry(record, start), record)  # noqa: B023


def rollouts_at(path: str | Path, starts: Iterable[int]) -> Iterator[Rollout]:
    """Yield the rollouts of the lines that start at these bytes, see :class:`Entry`."""
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
    """Yield the number, first byte and JSON value of each line; else as :func:`iter_rollouts`.

    A line without its line break is torn, even if more lines follow by now: it was still being
    written when it was read.
    """
    with open(path, "rb") as file:
        start = 0
        for number, line in enumerate(iter(file.readline, b""), 1):
            if line.strip():
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    if not line.endswith(b"\n"):
                        on_torn(f"{path}:{number}: the last line is torn and was skipped")
                        return
                    raise TrajectoryError(
                        f"{path}:{number}: not JSON ({error}); only a last line may be torn. "
                        "Remove the line; its attempt is then played again."
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
    names = ("benchmark", "pair", "arm", "task", "attempt", "passed", "reason", "collection")
    head = _build(Rollout, {name: record[name] for name in names if name in record})
    seeds, sampling = (record.get(name) or {} for name in ("seeds", "sampling"))
    if not isinstance(seeds, dict) or not isinstance(sampling, dict):
        raise TrajectoryError("expected seeds and sampling to be objects")
    own = (head.collection, seeds.get("policy"), sampling)
    return Entry(head.key, head.passed, head.reason, start, *own)


def read_rollouts(path: str | Path) -> list[Rollout]:
    """Read a file. Of an attempt that it holds several times the last is kept, with a warning."""
    rollouts: dict[tuple, Rollout] = {}
    repeats = 0
    for rollout in iter_rollouts(path):
        repeats += rollout.key in rollouts
        rollouts[rollout.key] = rollout
    if repeats:
        warnings.warn(
            f"{path}: {repeats} repeated (task, attempt), the last of each was kept", stacklevel=2
        )
    return list(rollouts.values())


def mend(path: str | Path) -> int:
    """Cut a torn last line off a file that is to be appended to; return how many bytes were cut.

    A last line that lacks only its line break is complete, and gets one. The caller must be the
    only writer of the file.
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
    """Appends lines to a file; each is in the file when ``write_line`` returns.

    Opening creates the folder, locks the file against a second writer, and mends its end.
    ``write_line`` hands the line to the operating system at once, so that a killed process loses no
    line that it wrote. A line that could be written only in part, on a full disk, is removed.

    Raises TrajectoryError if another process is writing to the file.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(storage.lock(self.path))
            except storage.LockedError as error:
                raise TrajectoryError(
                    f"{self.path} is being written by another process. Wait for it, or choose "
                    "another file."
                ) from error
            self._file = stack.enter_context(open(self.path, "ab", buffering=0))
            mend(self.path)
            self._held = stack.pop_all()

    def write_line(self, line: bytes) -> None:
        """Append a line, which ends in its line break."""
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
    """Appends rollouts to a file, see :class:`LineWriter`.

    >>> with RolloutWriter("run.jsonl") as out:  # doctest: +SKIP
    ...     out.write(rollout)
    """

    def write(self, rollout: Rollout) -> None:
        """Append a rollout."""
        self.write_line(to_line(rollout))
