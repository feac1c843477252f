"""Collect n attempts at every task: append-only, resumable, in shards.

A collection is a folder (see `lib.trajectories.store`). An attempt that one of its files holds is
done, whatever process wrote it; a rerun plays the others. No finished attempt is lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from lib import outcomes
from lib.envs import Environment
from lib.rollouts.episodes import in_batches, side_by_side
from lib.rollouts.policies.protocol import Policy
from lib.trajectories import manifest, storage
from lib.trajectories.jsonl import Entry, RolloutWriter
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import Rollout, RolloutKey, TrajectoryError
from lib.trajectories.store import ROLLOUTS, TOOLS, ToolFile, find_entries, read_attempts

MOST_ATTEMPTS = 10**7
"""The most attempts of a collection: all are listed at its start, in 2 GB of memory."""


def collect(
    policy: Policy,
    environment: Environment,
    tasks: Sequence[str],
    n: int,
    out: str | Path,
    *,
    pair: str,
    arm: str,
    seed: int = 0,
    at_once: int = 32,
    shard: tuple[int, int] = (0, 1),
    max_turns: int = 200,
    retry_missing: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Bring every task to n attempts, numbered 0 to n - 1, and return the table of all outcomes.

    out: the folder. What it holds is kept: a rerun resumes, and a larger n adds attempts.
    pair, arm: of the rows in the table of outcomes.  seed: of the policy's random numbers.
    at_once: attempts played at the same time. If the policy serves one request beside another, as
        a server does, the next attempt starts as soon as one ends. A local model plays attempts in
        batches, in order, since the attempts at a task share a prompt.
    shard: (i, m) takes every m-th task from the i-th on. Shards may run at the same time in one
        folder; together they give the table of a single run.
    max_turns: an attempt that has not ended after this many replies has failed.
    retry_missing: play missing attempts again, once the cause of the trouble is gone.
    progress: show a progress bar; None shows it only in a terminal.

    An attempt is missing, with a reason, if trouble outside the policy stopped it, if its grader
    could not decide, or if its rollout cannot be written as JSON. A missing attempt counts as done,
    unless `retry_missing`. Each attempt is in the file as soon as it has ended.

    Raises CollectionError if the folder was collected with another setting, and whatever error the
    policy raises when it cannot go on at all.
    """
    out, (part, parts) = Path(out), shard
    tasks = list(dict.fromkeys(tasks))
    _check_arguments(environment, tasks, n, at_once, shard, pair, arm)
    storage.check_folder(out)
    settings = _settings(environment, policy.settings, pair, arm, seed, max_turns)
    manifest.agree(out / "manifest.json", settings)
    name = f"{part:03}-of-{parts:03}"
    # Opening locks the file, so the entries are read after it.
    with RolloutWriter(out / ROLLOUTS.format(name)) as file:
        done = {
            key[-2:]: entry.passed
            for key, (_, entry) in find_entries(out).items()
            if not (retry_missing and entry.passed is None)
        }
        wanted = [(task, attempt) for task in tasks[part::parts] for attempt in range(n)]
        keys = [RolloutKey(seed, *attempt) for attempt in wanted if attempt not in done]
        tools = ToolFile(out / TOOLS.format(name))
        passed = [done[attempt] for attempt in wanted if attempt in done]
        with _Bar(passed, len(wanted), progress) as bar:
            play = in_batches if policy.concurrency is None else side_by_side
            sampling = dict(policy.settings.get("sampling", {}))
            own = manifest.key(out)
            for played in play(policy, environment, keys, pair, arm, max_turns, at_once):
                rollout = replace(
                    played, sampling=sampling, tools=tools.store(played.tools), collection=own
                )
                bar.add(_write(file, rollout).passed)
    return _table(out)


def _write(file: RolloutWriter, rollout: Rollout) -> Rollout:
    """Write a rollout, or that it is missing if it cannot be written: the run goes on."""
    try:
        file.write(rollout)
    except TrajectoryError as error:
        empty = {"messages": (), "turns": (), "info": {}}
        rollout = replace(rollout, passed=None, reason=str(error), **empty)
        file.write(rollout)
    return rollout


def check(
    environment: Environment,
    tasks: Sequence[str],
    n: int,
    out: str | Path,
    *,
    pair: str,
    arm: str,
    seed: int = 0,
    at_once: int = 32,
    shard: tuple[int, int] = (0, 1),
    max_turns: int = 200,
    policy: Mapping[str, Any],
) -> None:
    """Raise the CollectionError that `collect` would raise at its start, without a policy.

    policy: those settings of the policy that are known before its model is loaded, so that a wrong
        one is an error at once.
    """
    _check_arguments(environment, tasks, n, at_once, shard, pair, arm)
    storage.check_folder(out)
    settings = _settings(environment, policy, pair, arm, seed, max_turns)
    manifest.check(Path(out) / "manifest.json", settings)


def table(out: str | Path) -> pd.DataFrame:
    """The outcomes of a collection, a row per attempt, in the order of tasks and attempts.

    Raises CollectionError if there are none.
    """
    return tabulate(read_attempts(out), str(out))


def tabulate(rollouts: Iterable[Rollout | Entry], source: str = "rollouts") -> pd.DataFrame:
    """The table of outcomes of rollouts, a row per attempt, in the order of tasks and attempts.

    source: where they are from, for errors.
    """
    columns = ["benchmark", "pair", "arm", "task", "attempt", "passed", "reason"]
    rows = [(*r.key, r.passed, r.reason if r.passed is None else None) for r in rollouts]
    rows = outcomes.validate(pd.DataFrame(rows, columns=columns), source=source)
    return rows.sort_values(["task", "attempt"], kind="stable").reset_index(drop=True)


def _table(out: Path) -> pd.DataFrame:
    return tabulate((entry for _, entry in find_entries(out).values()), str(out))


def _check_arguments(environment, tasks, n, at_once, shard, pair, arm) -> None:
    if n < 1 or at_once < 1 or not 0 <= shard[0] < shard[1]:
        raise CollectionError(
            f"n = {n}, at_once = {at_once}, shard = {shard}: expected n and at_once of at least 1, "
            "and a shard (i, m) with 0 <= i < m."
        )
    for name, value in (("pair", pair), ("arm", arm)):
        if not value.strip():
            raise CollectionError(f"{name} is {value!r}: expected a name, such as 'base'.")
    if not tasks:
        raise CollectionError(f"no task to collect: name some of {environment.name}.")
    if len(tasks) * n > MOST_ATTEMPTS:
        raise CollectionError(
            f"n = {n} attempts at {len(tasks)} tasks are {n * len(tasks)}: expected at most "
            f"{MOST_ATTEMPTS} in a folder. Collect some of the tasks in another."
        )
    known = set(environment.tasks())
    unknown = [task for task in tasks if task not in known]
    if unknown:
        more = f", nor {len(unknown) - 1} more of these tasks" if unknown[1:] else ""
        raise CollectionError(
            f"{environment.name} has no task {unknown[0]!r}{more}; its first task is "
            f"{environment.tasks()[0]!r}."
        )


def _settings(environment, policy: Mapping[str, Any], pair, arm, seed, max_turns) -> dict[str, Any]:
    return {
        "benchmark": environment.name,
        "pair": pair,
        "arm": arm,
        "seed": seed,
        "max_turns": max_turns,
        "policy": dict(policy),
        "environment": dict(getattr(environment, "settings", {})),
    }


class _Bar(tqdm):
    """A progress bar: attempts done, how many a second, the time left, and how many passed."""

    def __init__(self, done: Sequence[bool | None], total: int, progress: bool | None):
        self.graded, self.passed = 0, 0
        super().__init__(
            total=total,
            initial=len(done),
            unit="rollout",
            disable=None if progress is None else not progress,
        )
        for passed in done:
            self._count(passed)

    def add(self, passed: bool | None) -> None:
        self._count(passed)
        self.update()

    def _count(self, passed):
        self.graded += passed is not None
        self.passed += passed is True
        self.set_postfix_str(f"{self.passed}/{self.graded} passed", refresh=False)
