"""Trajectories: what rollouts are made of, and the files that keep them.

A `Rollout` is an attempt at a task: its messages, its outcome and, where they are known, the tokens
of each turn. Rollouts are stored as JSON lines in append-only files, beside a manifest of the
settings they were made with. Reading them needs the standard library only.

>>> import tempfile
>>> from pathlib import Path
>>> from lib.trajectories import Message, Rollout, RolloutWriter, read_rollouts
>>> messages = [Message("user", "2 + 2?"), Message("assistant", "4")]
>>> rollout = Rollout("sums", "pair", "base", "t1", attempt=0, passed=True, messages=messages)
>>> with tempfile.TemporaryDirectory() as folder:
...     with RolloutWriter(Path(folder) / "run.jsonl") as file:
...         file.write(rollout)
...     read_rollouts(Path(folder) / "run.jsonl") == [rollout]
True
"""

from lib.trajectories.jsonl import RolloutWriter, iter_rollouts, read_rollouts
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import (
    Message,
    Rollout,
    RolloutKey,
    Tool,
    ToolCall,
    TrajectoryError,
    Turn,
)
from lib.trajectories.store import read_attempts, read_collection
from lib.trajectories.tokens import Span, Transcript

__all__ = [
    "CollectionError",
    "Message",
    "Rollout",
    "RolloutKey",
    "RolloutWriter",
    "Span",
    "Tool",
    "ToolCall",
    "TrajectoryError",
    "Transcript",
    "Turn",
    "iter_rollouts",
    "read_attempts",
    "read_collection",
    "read_rollouts",
]
