"""A frozen policy with PTGS: a few pilots of each task choose the temperature of the others.

The question is how many tasks a budget of rollouts a task covers. All methods spend the same first
rollouts, the pilots, at T_ref, and those count; then

    fixed    goes on at T_ref
    matched  goes on at one temperature, the mean of those that PTGS chose
    ptgs     goes on at the task's own temperature, from its pilots (`lib.ptgs.from_pilots`)

PTGS against matched tells the effect of giving each task its own temperature from that of a
different mean.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib.envs import Environment
from lib.lab.batches import in_batches
from lib.lab.evaluation import evaluate, solved
from lib.lab.plan import LAB
from lib.ptgs import from_pilots
from lib.rollouts.policies import LocalPolicy


def compare(
    policy: LocalPolicy,
    environment: Environment,
    tasks: Sequence[str],
    folder: Path,
    *,
    seed: int,
    tau: float,
    t_ref: float = 1.0,
    pilots: int = LAB.pilots,
    totals: Sequence[int] = LAB.totals,
    tasks_at_once: int = LAB.tasks_at_once,
) -> pd.DataFrame:
    """Coverage of the three methods: columns seed, method, total, coverage, mean_temperature.

    coverage: share of the tasks with a success among `total` rollouts.  mean_temperature: over the
    tasks, of the rollouts after the pilots.
    folder: for what is under way; a rerun goes on there.  seed: of the sampling and of PTGS's
    draws; each seed has attempts of its own, and so its own randomness of the environment.
    pilots: rollouts of each task from which its temperature comes.  totals: budgets a task, the
    pilots among them.  tasks_at_once: tasks of a batch.
    The methods share pilots, and attempt i of a task has the same noise in all of them.
    """
    most = max(totals)
    first = seed * most

    def measure_pilots(batch):
        same = dict.fromkeys(batch, t_ref)
        return evaluate(
            policy, environment, batch, pilots, seed=seed, temperatures=same, first=first
        )

    path = folder / f"pilots-{seed}.parquet"
    counted = in_batches(path, tasks, measure_pilots, tasks_at_once)
    counts = {row.task: (int(row.c), int(row.n)) for row in counted.itertuples()}
    tempered = from_pilots(counts, tau=tau, t_ref=t_ref, seed=seed)
    methods = {
        "fixed": dict.fromkeys(tasks, t_ref),
        "matched": dict.fromkeys(tasks, float(np.mean(list(tempered.values())))),
        "ptgs": tempered,
    }
    rows = []
    for method, temperatures in methods.items():

        def measure_later(batch, temperatures=temperatures):
            passed = solved(
                policy,
                environment,
                batch,
                most - pilots,
                seed=seed,
                temperatures=temperatures,
                first=first + pilots,
            )
            return pd.DataFrame(
                {"task": batch, "first": [_first_success(row == 1) for row in passed]}
            )

        path = folder / f"{method}-{seed}.parquet"
        table = in_batches(path, tasks, measure_later, tasks_at_once)
        solved_by = np.where(counted["c"] > 0, 0, pilots + table["first"])
        for total in totals:
            rows.append(
                {
                    "seed": seed,
                    "method": method,
                    "total": total,
                    "coverage": float(np.mean(solved_by <= total)),
                    "mean_temperature": float(np.mean(list(temperatures.values()))),
                }
            )
    return pd.DataFrame(rows)


def _first_success(passed: np.ndarray) -> float:
    """How many rollouts the first success took, inf if there is none."""
    return float(passed.argmax() + 1) if passed.any() else np.inf
