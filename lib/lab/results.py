"""What the lab measured, as tables; everything here reads the committed tables of `plan.DATA`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import metrics, outcomes
from lib.lab import plan

RUN = ["world", "size", "algorithm", "sampler", "rate", "seed"]
"""Columns that tell one run from another."""

MEASURES = ("pass@1", "pass@128", "pass^8", "A", "S", "Tax_A", "Tax_S", "gap@128", "crossover")


def read(name: str, folder: str | Path | None = None) -> pd.DataFrame:
    """A table of the lab: "evaluations", "steps", "losses" or "pilots"; None reads `plan.DATA`."""
    path = Path(folder or plan.DATA) / f"{name}.parquet"
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}: make lab writes it, a run at a time")
    return pd.read_parquet(path)


def select(table: pd.DataFrame, **wanted) -> pd.DataFrame:
    """The rows whose columns have these values; a list takes any of its values, None takes all."""
    for column, value in wanted.items():
        if value is None:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        table = table[table[column].isin(values)]
    return table


def posts(evaluations: pd.DataFrame, split: str = "test", temperature: float = 0.5, **wanted):
    """Rows of post-trained models, their replies read as they were trained to write them."""
    return select(
        evaluations,
        kind="post",
        split=split,
        temperature=temperature,
        cue=False,
        parser="exact",
        **wanted,
    )


def base(evaluations: pd.DataFrame, split: str = "test", temperature: float = 0.5, **wanted):
    """Rows of the base that runs start from, read in the same way."""
    return select(
        evaluations,
        kind="base-85",
        split=split,
        temperature=temperature,
        cue=False,
        parser="exact",
        **wanted,
    )


def as_outcomes(evaluations: pd.DataFrame, split: str = "test", temperature: float = 0.5, **wanted):
    """The one table of outcomes (counts): each run beside the base it started from.

    benchmark is the world and pair names the run: "grpo fixed seed 0", with its size where that is
    not the usual one, and its learning rate. `wanted` chooses runs, see `select`.
    """
    trained = posts(evaluations, split, temperature, **wanted)
    rows = []
    for key, run in trained.groupby(RUN, sort=False):
        told = dict(zip(RUN, key, strict=True))
        start = base(evaluations, split, temperature, world=told["world"], size=told["size"])
        for arm, cell in (("base", start), ("post", run)):
            rows.append(
                cell[["task", "n", "c"]].assign(
                    benchmark=told["world"], pair=label(told), arm=arm, missing=0
                )
            )
    if not rows:
        raise ValueError(f"the lab has no evaluation of {wanted} on {split} at T = {temperature}")
    return outcomes.validate(pd.concat(rows, ignore_index=True), source="the lab")


def label(run: dict) -> str:
    """How a run is called in figures and tables."""
    size = "" if run["size"] == plan.Run.size else f"{run['size']} "
    rate = "" if run["rate"] == plan.Run.rate else f" lr {run['rate']:g}"
    return f"{size}{run['algorithm']} {run['sampler']}{rate} seed {run['seed']}"


def scores(
    evaluations: pd.DataFrame, split: str = "test", temperature: float = 0.5, **wanted
) -> pd.DataFrame:
    """Every run on its own: a row a run with the columns of `RUN` and `MEASURES`.

    gap@128 is pass@128 of the base minus that of the run; crossover is NaN if there is none.
    """
    trained = posts(evaluations, split, temperature, **wanted)
    rows = []
    for key, run in trained.groupby(RUN, sort=False):
        told = dict(zip(RUN, key, strict=True))
        start = base(evaluations, split, temperature, world=told["world"], size=told["size"])
        start = start.set_index("task").loc[run["task"]]
        rows.append(told | _measures(_counts(run), _counts(start)))
    return pd.DataFrame(rows, columns=[*RUN, *MEASURES])


def base_scores(evaluations: pd.DataFrame, split: str = "test", **wanted) -> pd.DataFrame:
    """The bases, a row for each world, size and temperature, with their own measures."""
    rows = []
    cells = select(
        evaluations, kind="base-85", split=split, cue=False, parser="exact", **wanted
    ).groupby(["world", "size", "temperature"], sort=False)
    for key, cell in cells:
        told = dict(zip(["world", "size", "temperature"], key, strict=True))
        rows.append(told | _own_measures(_counts(cell)))
    return pd.DataFrame(rows)


def differences(
    table: pd.DataFrame, measure: str, arm: str, against: str, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Arm minus arm of the same seed: the columns `by`, `value`, `low`, `high`, `seeds`.

    table: as `scores` makes it.  The seed is what was repeated, on the same tasks, so the interval
    is a t-interval over seeds (`metrics.t_interval`).
    """
    rows = []
    groups = table.groupby(list(by), sort=False) if by else [((), table)]
    for key, group in groups:
        wide = group.set_index(["seed", "sampler"])[measure].unstack("sampler")  # noqa: PD010
        if not {arm, against} <= set(wide.columns):
            continue
        found = (wide[arm] - wide[against]).dropna()
        band = metrics.t_interval(found.to_numpy())
        key = key if isinstance(key, tuple) else (key,)
        rows.append(
            dict(zip(by, key, strict=True))
            | {"measure": measure, "arm": arm, "against": against}
            | {"value": band.value, "low": band.low, "high": band.high, "seeds": len(found)}
        )
    return pd.DataFrame(rows)


def _counts(cell: pd.DataFrame) -> metrics.Counts:
    return metrics.Counts(cell["c"].to_numpy(), cell["n"].to_numpy())


def _own_measures(cell: metrics.Counts) -> dict[str, float]:
    K = plan.ATTEMPTS
    curve = metrics.coverage_curve(cell, K)
    area = metrics.scalability(curve, K)
    return {
        "pass@1": curve[0],
        f"pass@{K}": curve[-1],
        "pass^8": metrics.consistency_curve(cell, 8)[-1],
        "A": float(area.A),
        "S": float(area.S),
    }


def _measures(run: metrics.Counts, start: metrics.Counts) -> dict[str, float]:
    K = plan.ATTEMPTS
    ours, theirs = _own_measures(run), _own_measures(start)
    curves = [metrics.coverage_curve(cell, K) for cell in (start, run)]
    crossing = float(metrics.crossover(*curves))
    return ours | {
        "Tax_A": theirs["A"] - ours["A"],
        "Tax_S": theirs["S"] - ours["S"],
        f"gap@{K}": theirs[f"pass@{K}"] - ours[f"pass@{K}"],
        "crossover": crossing if np.isfinite(crossing) else np.nan,
    }
