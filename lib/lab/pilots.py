"""A frozen policy with PTGS: a few pilots of each task choose the temperature of the others.

The question is what a budget of rollouts a task covers. All methods spend the same first `PILOTS`
at T_ref, and those count; then

    fixed    goes on at T_ref
    matched  goes on at one temperature, the mean of those that PTGS chose
    ptgs     goes on at the task's own temperature, from its pilots (`lib.ptgs.from_pilots`)

PTGS against matched tells where heat goes from how much there is.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib.envs import Environment
from lib.lab.evaluation import evaluate, in_batches, solved
from lib.ptgs import from_pilots
from lib.rollouts.policies import LocalPolicy

PILOTS = 8
"""Rollouts of each task at T_ref from which its temperature comes."""
TOTALS = (16, 32, 64, 128)
"""Budgets a task, the pilots among them."""


def compare(
    policy: LocalPolicy,
    world: Environment,
    tasks: Sequence[str],
    folder: Path,
    *,
    seed: int,
    tau: float,
    t_ref: float = 1.0,
    totals: Sequence[int] = TOTALS,
) -> pd.DataFrame:
    """Coverage of the three methods: columns seed, method, total, coverage, mean_temperature.

    coverage: share of the tasks with a success among `total` rollouts.  mean_temperature: over the
    tasks, of the rollouts after the pilots.  folder: for what is under way; a rerun goes on there.
    seed: of the sampling and of PTGS's draws; each seed has attempts, and so worlds' chance, of its
    own. The methods share pilots, and attempt i of a task has the same noise in all of them.
    """
    most = max(totals)
    first = seed * most

    def pilot(lot):
        heat = dict.fromkeys(lot, t_ref)
        return evaluate(policy, world, lot, PILOTS, seed=seed, heat=heat, first=first)

    pilots = in_batches(folder / f"pilots-{seed}.parquet", tasks, pilot)
    seen = {one.task: (int(one.c), int(one.n)) for one in pilots.itertuples()}
    heats = from_pilots(seen, tau=tau, t_ref=t_ref, seed=seed)
    methods = {
        "fixed": dict.fromkeys(tasks, t_ref),
        "matched": dict.fromkeys(tasks, float(np.mean(list(heats.values())))),
        "ptgs": heats,
    }
    rows = []
    for method, heat in methods.items():

        def later(lot, heat=heat):
            found = solved(
                policy, world, lot, most - PILOTS, seed=seed, heat=heat, first=first + PILOTS
            )
            return pd.DataFrame({"task": lot, "first": [_first_success(one == 1) for one in found]})

        table = in_batches(folder / f"{method}-{seed}.parquet", tasks, later)
        solved_by = np.where(pilots["c"] > 0, 0, PILOTS + table["first"])
        for total in totals:
            rows.append(
                {
                    "seed": seed,
                    "method": method,
                    "total": total,
                    "coverage": float(np.mean(solved_by <= total)),
                    "mean_temperature": float(np.mean(list(heat.values()))),
                }
            )
    return pd.DataFrame(rows)


def _first_success(found: np.ndarray) -> float:
    """How many rollouts it took to the first success, inf if there is none."""
    return float(found.argmax() + 1) if found.any() else np.inf
