"""Every way to put token scores together, as a selector, and what choosing among them is worth."""

import itertools
from collections.abc import Iterator
from typing import get_args

import numpy as np
import pandas as pd

from lib import metrics
from lib.advantage.aggregation import StepAggregation, TokenAggregation, score_trajectory
from lib.advantage.scored_attempts import ScoredAttempts
from lib.advantage.selection import BUDGET, lead

FIXED = {"token": "mean", "step": "mean", "order": "difference"}
"""The aggregation that was fixed beforehand."""


def aggregations() -> Iterator[dict[str, str]]:
    """Options of `score_trajectory`; the order of difference matters to min and max alone."""
    for token, step in itertools.product(get_args(TokenAggregation), get_args(StepAggregation)):
        for order in ("difference", "each") if token in ("min", "max") else ("difference",):
            yield {"token": token, "step": step, "order": order}


def aggregation_table(attempts: ScoredAttempts, k: int = BUDGET) -> pd.DataFrame:
    """A row for each aggregation: best-of-k success, and the AUROC in each of the strata."""
    rows = []
    for options in aggregations():
        scores = score_trajectory(attempts.scored, **options)
        best = metrics.best_of_k(scores, attempts.passed, attempts.tasks, k)[1].mean()
        aurocs = {
            compared: metrics.auroc_band(
                scores, attempts.passed, attempts.tasks, strata=strata, n_boot=0
            ).value
            for compared, strata in attempts.strata.items()
        }
        rows.append(options | {"best": best} | aurocs)
    return pd.DataFrame(rows)


def aggregation_grid(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of `aggregation_table`: token aggregations as rows, step aggregations as columns."""
    each = table["order"].eq("each").map({True: ", each model first", False: ""})
    named = table.assign(token=table["token"] + each)
    grid = named.set_index(["token", "step"])[column].unstack("step", sort=False)  # noqa: PD010
    return grid.loc[list(dict.fromkeys(named["token"]))]


def gain_grid(attempts: ScoredAttempts, k: int = BUDGET) -> pd.DataFrame:
    """Best-of-k success minus pass@1, laid out as by `aggregation_grid`."""
    table = aggregation_table(attempts, k)
    single = pd.Series(attempts.passed).groupby(attempts.tasks).mean().mean()
    return aggregation_grid(table.assign(gain=table["best"] - single), "gain")


def chosen_on_half(
    attempts: ScoredAttempts, k: int = BUDGET, n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """The aggregation with the best best-of-k on half of the tasks, reported on the other half.

    A row for each half that it was chosen on, and beside it the aggregation that was fixed
    beforehand, on the same other half; `gain` is success minus pass@1 there, with its interval.
    """
    names = np.unique(attempts.tasks)
    shuffled = np.random.default_rng(seed).permutation(names)
    halves = shuffled[: len(names) // 2], shuffled[len(names) // 2 :]
    scores = {
        tuple(options.values()): score_trajectory(attempts.scored, **options)
        for options in aggregations()
    }
    rows = []
    for chosen_on, reported_on in (halves, halves[::-1]):
        inside, outside = (np.isin(attempts.tasks, half) for half in (chosen_on, reported_on))
        passed, tasks = attempts.passed, attempts.tasks
        success = {
            way: metrics.best_of_k(values[inside], passed[inside], tasks[inside], k)[1].mean()
            for way, values in scores.items()
        }
        best = max(success, key=success.get)
        for kind, way in (("chosen", best), ("fixed", tuple(FIXED.values()))):
            selection = metrics.selection(
                scores[way][outside],
                passed[outside],
                tasks[outside],
                [k],
                n_boot=n_boot,
                rng=seed,
            )
            gain = lead(selection, selection, k, "accuracy")
            rows.append(
                {
                    "kind": kind,
                    "aggregation": ", ".join(way[:2]) + (" (each)" if way[2] == "each" else ""),
                    "there": success[way],
                    "success": float(selection.success.value[0]),
                    "pass@1": float(selection.accuracy.value[0]),
                    "gain": gain.value,
                    "low": gain.low,
                    "high": gain.high,
                }
            )
    return pd.DataFrame(rows)
