"""Rollouts made again, here and now, from the committed models, and set beside the tables.

A rollout depends on (seed, task, attempt) alone, so the same model with the same decoding has the
same successes. On a machine that rounds sums differently, a few draws that were nearly ties may
come out differently.
"""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache

import pandas as pd
from tqdm import tqdm

from lib import outcomes
from lib.lab import comparisons, plan
from lib.lab.plan import LAB, Plan, Run


def kept(runs: Sequence[Run] = comparisons.SHOWN, lab: Plan = LAB) -> list[Run]:
    """Those of the runs whose model and whose base are committed."""
    return [
        run for run in runs if lab.kept_folder(run).exists() and lab.kept_folder(run.base).exists()
    ]


def first_of_each(runs: Sequence[Run] = comparisons.SHOWN) -> list[Run]:
    """The first run of each environment whose models are committed."""
    return list({run.environment: run for run in reversed(kept(runs))}.values())[::-1]


def chosen(
    pairs: Sequence[str] | None = None, benchmarks: Sequence[str] | None = None
) -> list[Run]:
    """Committed runs by pair (None: one an environment) and by environment (None: all)."""
    named = first_of_each() if pairs is None else kept()
    return [
        run
        for run in named
        if (pairs is None or comparisons.key(run)[1] in pairs)
        and (benchmarks is None or run.environment in benchmarks)
    ]


def regenerate(
    runs: Sequence[Run],
    *,
    tasks: int = plan.TASKS,
    n: int = plan.ATTEMPTS,
    temperature: float = 0.5,
    workers: int = 2,
    progress: bool | None = None,
    lab: Plan = LAB,
) -> pd.DataFrame:
    """Roll out runs and their bases on held-out tasks: the table of outcomes, as counts.

    tasks: how many of the held-out tasks, from the first.  n: attempts of each.  workers: processes
    of one thread.  progress: a bar; None shows it on a terminal only.  lab: where the models are.
    Raises FileNotFoundError for a run whose models are not committed, ValueError for no run.
    """
    if not runs:
        there = ", ".join(run.name for run in kept(lab=lab)) or "none"
        raise ValueError(f"no run to roll out: expected one or more of those committed ({there})")
    if missing := [run.name for run in runs if run not in kept(runs, lab)]:
        raise FileNotFoundError(f"no committed models of {', '.join(missing)}: make lab makes them")
    arms = {}
    for run in runs:
        arms[run, "base"] = lab.kept_folder(run.base), run.environment, 0
        arms[run, "post"] = lab.kept_folder(run), run.environment, run.seed
    parts = [
        (*model, temperature, tuple(batch), n)
        for model in dict.fromkeys(arms.values())  # a base that runs share is rolled out once
        for batch in _batches(plan.environment(model[1], "test", plan.TASKS).tasks()[:tasks], n)
    ]
    rolled_out = _all(parts, workers, progress)
    rows = []
    for (run, arm), how in arms.items():
        benchmark, pair = comparisons.key(run)
        columns = {"benchmark": benchmark, "pair": pair, "arm": arm, "missing": 0}
        rows += [rolled_out[part].assign(**columns) for part in parts if part[:3] == how]
    return outcomes.validate(pd.concat(rows, ignore_index=True), source="live rollouts")


def differences(live: pd.DataFrame, cached: pd.DataFrame) -> pd.DataFrame:
    """A row an arm: live tasks, how many of them are cached, and how many have other counts.

    live, cached: tables of outcomes as counts. `attempts` sums the differences between the counts
    of tasks: at least so many attempts came out differently.
    """
    both = live.merge(
        cached, "left", [*outcomes.CELL, "task", "n"], suffixes=("", "_cached"), validate="1:1"
    )
    there = both["c_cached"].notna()
    off = (both["c"] - both["c_cached"]).abs()
    cells = both.assign(cached=there, differ=there & (off > 0), attempts=off.fillna(0).astype(int))
    by_arm = cells.groupby(outcomes.CELL, sort=False)
    return by_arm.agg(
        tasks=("task", "size"),
        cached=("cached", "sum"),
        differ=("differ", "sum"),
        attempts=("attempts", "sum"),
    ).reset_index()


def _batches(tasks, n):
    """Tasks in the batches of `evaluation.evaluate`: equal batches are rounded equally."""
    size = max(1, plan.AT_ONCE // n)
    return [tasks[low : low + size] for low in range(0, len(tasks), size)]


def _all(parts, workers, progress) -> dict[tuple, pd.DataFrame]:
    total, done = sum(len(part[-2]) * part[-1] for part in parts), {}
    context = multiprocessing.get_context("spawn")
    hidden = None if progress is None else not progress
    with (
        ProcessPoolExecutor(workers, context, _one_thread) as pool,
        tqdm(total=total, unit="rollout", desc="rolling out", disable=hidden) as bar,
    ):
        waiting = {pool.submit(_roll_out, *part): part for part in parts}
        try:
            for future in as_completed(waiting):
                part = waiting[future]
                done[part] = future.result()
                bar.update(len(part[-2]) * part[-1])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return done


# These run in the processes that roll out; the process that waits for them needs no torch.


def _one_thread() -> None:
    import torch
    from transformers.utils.logging import disable_progress_bar

    torch.set_num_threads(1)
    disable_progress_bar()  # of loading a model: it takes no time here


def _roll_out(folder, name, seed, temperature, tasks, n) -> pd.DataFrame:
    from lib.lab import evaluation

    policy = _policy(folder, name, temperature)
    environment = plan.environment(name, "test", plan.TASKS)
    return evaluation.evaluate(policy, environment, tasks, n, seed=seed)


@lru_cache(maxsize=1)
def _policy(folder, name, temperature):
    from lib.lab import evaluation

    return evaluation.open_policy(folder, name, temperature)
