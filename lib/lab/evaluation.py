"""Rollouts of a frozen policy of the lab, and which of them solved their task."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib.envs import Environment
from lib.generation import Engine, Sampling, load
from lib.lab import plan
from lib.rollouts.episodes import roll_out
from lib.rollouts.policies import LocalPolicy
from lib.rollouts.prompts.word_language import WordLanguage
from lib.trajectories.schema import RolloutKey

TASKS_AT_ONCE = plan.AT_ONCE // plan.ATTEMPTS
"""Tasks whose rollouts fill a batch."""


def open_policy(folder: Path, world: str, temperature: float, **prompt_format) -> LocalPolicy:
    """A model of the lab as a policy; `prompt_format` are the arguments of `WordLanguage`."""
    return as_policy(Engine(*load(folder)), world, temperature, name=folder.name, **prompt_format)


def as_policy(
    engine: Engine, world: str, temperature: float, *, name: str, **prompt_format
) -> LocalPolicy:
    """An engine with a model of the lab as a policy; `prompt_format` is as for `open_policy`."""
    sampling = Sampling(temperature=temperature, max_new_tokens=plan.NEW_TOKENS[world])
    return LocalPolicy(engine, WordLanguage(**prompt_format), sampling, name=name)


def solved(
    policy: LocalPolicy,
    world: Environment,
    tasks: Sequence[str],
    n: int,
    *,
    seed: int,
    heat: Mapping[str, float] | None = None,
    first: int = 0,
) -> np.ndarray:
    """Which of n rollouts of each task solve it, [tasks, n]: 1, 0, or NaN where none was graded.

    heat: temperatures by task, in place of the policy's own.  first: number of the first attempt.
    Raises ValueError if a task is named twice: its rollouts would be the same ones.
    """
    twice = next((task for task, count in Counter(tasks).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"task {twice!r} is named twice: name each task once")
    keys = [
        RolloutKey(seed, task, attempt) for task in tasks for attempt in range(first, first + n)
    ]
    found = np.full((len(tasks), n), np.nan)
    row = {task: number for number, task in enumerate(tasks)}
    for low in range(0, len(keys), plan.AT_ONCE):
        part = keys[low : low + plan.AT_ONCE]
        heats = None if heat is None else [heat[key.task] for key in part]
        session = policy.start(part, temperatures=heats)
        for rollout in roll_out(session, world, part, "lab", "policy"):
            found[row[rollout.task], rollout.attempt - first] = (
                np.nan if rollout.passed is None else rollout.passed
            )
    return found


def evaluate(
    policy: LocalPolicy, world: Environment, tasks: Sequence[str], n: int, **more
) -> pd.DataFrame:
    """Successes c of the graded rollouts n of each task: columns `task`, `n`, `c`.

    n of them are made; one without an outcome counts in neither. `more` is as for `solved`.
    """
    found = solved(policy, world, tasks, n, **more)
    graded, successes = (~np.isnan(found)).sum(1), np.nansum(found, 1).astype(int)
    return pd.DataFrame({"task": list(tasks), "n": graded, "c": successes})


def in_batches(
    path: Path, tasks: Sequence[str], measure: Callable[[list[str]], pd.DataFrame]
) -> pd.DataFrame:
    """The table at `path`, made a lot of tasks at a time: a kill loses the lot under way.

    measure: gives the rows of some tasks, with their column `task`.
    """
    if path.exists():
        return pd.read_parquet(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    lots = [pd.read_parquet(part)] if part.exists() else []
    done = {task for lot in lots for task in lot["task"]}
    waiting = [task for task in tasks if task not in done]
    for low in range(0, len(waiting), TASKS_AT_ONCE):
        lots.append(measure(waiting[low : low + TASKS_AT_ONCE]))
        write_table(pd.concat(lots, ignore_index=True), part)
    os.replace(part, path)
    return pd.read_parquet(path)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table in place of the one at `path`: whole, or not at all.

    Token scores of attempts that begin alike repeat for long stretches. A dictionary of values
    would hide that from the compressor, which without one makes half as many bytes of them.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    table.to_parquet(
        part, index=False, compression="zstd", compression_level=9, use_dictionary=False
    )
    os.replace(part, path)
