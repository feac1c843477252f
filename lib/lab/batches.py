"""Tables that are made some tasks at a time, so that a kill loses little, and written whole."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from lib.lab import plan
from lib.trajectories.storage import replacing


def in_batches(
    path: Path,
    tasks: Sequence[str],
    measure: Callable[[list[str]], pd.DataFrame],
    tasks_at_once: int = plan.LAB.tasks_at_once,
) -> pd.DataFrame:
    """The table at `path`, made for some tasks at a time: a kill loses the batch under way.

    measure: gives the rows of a batch of tasks, with their column `task`.
    """
    if path.exists():
        return pd.read_parquet(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    batches = [pd.read_parquet(part)] if part.exists() else []
    done = {task for batch in batches for task in batch["task"]}
    waiting = [task for task in tasks if task not in done]
    for low in range(0, len(waiting), tasks_at_once):
        batches.append(measure(waiting[low : low + tasks_at_once]))
        write_table(pd.concat(batches, ignore_index=True), part)
    os.replace(part, path)
    return pd.read_parquet(path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table in place of the one at `path`: whole, or not at all.

    Token scores of attempts that begin alike repeat for long stretches. Parquet's dictionary of
    values would hide that from the compressor: without it the file is half as large.
    """
    with replacing(path) as part:
        table.to_parquet(
            part, index=False, compression="zstd", compression_level=9, use_dictionary=False
        )
