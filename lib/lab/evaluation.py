"""Rollouts of a frozen policy of the lab, and which of them solved their task."""

from collections import Counter
from collections.abc import Mapping, Sequence
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


def open_policy(folder: Path, environment: str, temperature: float, **prompt_format) -> LocalPolicy:
    """A model of the lab as a policy; `prompt_format` are the arguments of `WordLanguage`."""
    return as_policy(
        Engine(*load(folder)), environment, temperature, name=folder.name, **prompt_format
    )


def as_policy(
    engine: Engine, environment: str, temperature: float, *, name: str, **prompt_format
) -> LocalPolicy:
    """An engine with a model of the lab as a policy; `prompt_format` is as for `open_policy`."""
    sampling = Sampling(temperature=temperature, max_new_tokens=plan.NEW_TOKENS[environment])
    return LocalPolicy(engine, WordLanguage(**prompt_format), sampling, name=name)


def solved(
    policy: LocalPolicy,
    environment: Environment,
    tasks: Sequence[str],
    n: int,
    *,
    seed: int,
    temperatures: Mapping[str, float] | None = None,
    first: int = 0,
) -> np.ndarray:
    """Which of n rollouts of each task solve it, [tasks, n]: 1, 0, or NaN if it was not graded.

    temperatures: of each task, in place of the policy's own.  first: number of the first attempt.
    Raises ValueError if a task is named twice: its rollouts would be the same.
    """
    twice = next((task for task, count in Counter(tasks).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"task {twice!r} is named twice: name each task once")
    keys = [
        RolloutKey(seed, task, attempt) for task in tasks for attempt in range(first, first + n)
    ]
    passed = np.full((len(tasks), n), np.nan)
    row = {task: number for number, task in enumerate(tasks)}
    for low in range(0, len(keys), plan.AT_ONCE):
        part = keys[low : low + plan.AT_ONCE]
        of_part = None if temperatures is None else [temperatures[key.task] for key in part]
        session = policy.start(part, temperatures=of_part)
        for rollout in roll_out(session, environment, part, "lab", "policy"):
            passed[row[rollout.task], rollout.attempt - first] = (
                np.nan if rollout.passed is None else rollout.passed
            )
    return passed


def evaluate(
    policy: LocalPolicy, environment: Environment, tasks: Sequence[str], n: int, **more
) -> pd.DataFrame:
    """Successes c of the n graded rollouts of each task: columns `task`, `n`, `c`.

    n rollouts are made; those without an outcome count in neither column. `more` is as for
    `solved`.
    """
    passed = solved(policy, environment, tasks, n, **more)
    graded, successes = (~np.isnan(passed)).sum(1), np.nansum(passed, 1).astype(int)
    return pd.DataFrame({"task": list(tasks), "n": graded, "c": successes})
