"""What the lab measured, as tables: those that are committed, and what follows from them."""

from pathlib import Path

import numpy as np
import pandas as pd

from lib import located, metrics, outcomes
from lib.lab import plan

RUN = ["world", "size", "algorithm", "sampler", "rate", "seed"]
"""Columns that tell one run from another: `world` is its environment, `sampler` its method."""


def measures(K: int = plan.ATTEMPTS) -> list[str]:
    """The columns of `scores`: what is measured of a run at a largest budget K."""
    return ["pass@1", f"pass@{K}", "pass^8", "A", "S", "Tax_A", "Tax_S", f"gap@{K}", "crossover"]


def read(name: str, folder: str | Path | None = None) -> pd.DataFrame:
    """A table of the lab: "evaluations", "steps", "losses", "pilots" or "scores".

    folder: where another NAME.parquet lies, see `lib.located`; None reads `plan.DATA`. Raises
    FileNotFoundError where there is none.
    """
    path = (plan.DATA if folder is None else located(folder)) / f"{name}.parquet"
    if not path.exists():
        raise FileNotFoundError(
            f"there is no {path}: expected a folder that has this table of the lab. Into data/lab, "
            "make lab writes it, a run at a time"
        )
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

    benchmark is the environment and pair names the run: "grpo fixed seed 0", with its size and its
    learning rate if they are not the usual ones. `wanted` chooses runs, see `select`.
    """
    trained = posts(evaluations, split, temperature, **wanted)
    rows = []
    for key, run in trained.groupby(RUN, sort=False):
        columns = dict(zip(RUN, key, strict=True))
        start = _base_of(columns, evaluations, split, temperature)
        for arm, cell in (("base", start), ("post", run)):
            rows.append(
                cell[["task", "n", "c"]].assign(
                    benchmark=columns["world"], pair=label(columns), arm=arm, missing=0
                )
            )
    if not rows:
        raise ValueError(f"the lab has no evaluation of {wanted} on {split} at T = {temperature}")
    return outcomes.validate(pd.concat(rows, ignore_index=True), source="the lab")


def _base_of(run: dict, evaluations: pd.DataFrame, split: str, temperature: float) -> pd.DataFrame:
    """Rows of the base that a run with these columns started from."""
    return base(evaluations, split, temperature, world=run["world"], size=run["size"])


def label(run: dict) -> str:
    """What the run with these columns is called in figures and tables."""
    size = "" if run["size"] == plan.Run.size else f"{run['size']} "
    rate = "" if run["rate"] == plan.Run.rate else f" lr {run['rate']:g}"
    return f"{size}{run['algorithm']} {run['sampler']}{rate} seed {run['seed']}"


def scores(
    evaluations: pd.DataFrame,
    split: str = "test",
    temperature: float = 0.5,
    K: int = plan.ATTEMPTS,
    **wanted,
) -> pd.DataFrame:
    """Every run on its own: a row a run with the columns of `RUN` and of `measures`.

    The taxes and gap@K, pass@K of the base minus that of the run, are against the base at the same
    temperature, NaN where it was not evaluated; crossover is infinite if there is none within K.
    """
    trained = posts(evaluations, split, temperature, **wanted)
    rows = []
    for key, run in trained.groupby(RUN, sort=False):
        columns = dict(zip(RUN, key, strict=True))
        start = _base_of(columns, evaluations, split, temperature)
        start = start[start["task"].isin(run["task"])]
        rows.append(columns | _measures(_counts(run), _counts(start), K))
    return pd.DataFrame(rows, columns=[*RUN, *measures(K)])


def base_scores(
    evaluations: pd.DataFrame, split: str = "test", K: int = plan.ATTEMPTS, **wanted
) -> pd.DataFrame:
    """The bases, a row for each environment, size and temperature, with their own measures."""
    columns = ["world", "size", "temperature", "pass@1", f"pass@{K}", "pass^8", "A", "S"]
    rows = []
    cells = select(
        evaluations, kind="base-85", split=split, cue=False, parser="exact", **wanted
    ).groupby(["world", "size", "temperature"], sort=False)
    for key, cell in cells:
        own = dict(zip(["world", "size", "temperature"], key, strict=True))
        rows.append(own | _own_measures(_counts(cell), K))
    return pd.DataFrame(rows, columns=columns)


def curves(
    evaluations: pd.DataFrame,
    split: str = "test",
    temperature: float = 0.5,
    K: int = plan.ATTEMPTS,
    **wanted,
) -> pd.DataFrame:
    """Mean pass@k over tasks, a row a run and budget: the columns of `RUN`, `k`, `coverage`.

    The base of the runs that are wanted comes first, with "base" as its sampler.
    """
    trained = posts(evaluations, split, temperature, **wanted)
    known = trained[["world", "size"]].drop_duplicates()
    starts = base(evaluations, split, temperature).merge(known).assign(sampler="base")
    rows = []
    for key, cell in pd.concat([starts, trained]).groupby(RUN, sort=False):
        curve = metrics.coverage_curve(_counts(cell), K)
        columns = dict(zip(RUN, key, strict=True))
        rows.append(pd.DataFrame({"k": range(1, K + 1), "coverage": curve}).assign(**columns))
    empty = pd.DataFrame(columns=[*RUN, "k", "coverage"])
    return pd.concat(rows, ignore_index=True)[list(empty)] if rows else empty


def budget(evaluations: pd.DataFrame) -> int:
    """The largest budget that every task of every evaluation allows."""
    return int(evaluations["n"].min())


def _counts(cell: pd.DataFrame) -> metrics.Counts:
    return metrics.Counts(cell["c"].to_numpy(), cell["n"].to_numpy())


def _own_measures(cell: metrics.Counts, K: int) -> dict[str, float]:
    curve = metrics.coverage_curve(cell, K)
    area = metrics.scalability(curve, K)
    return {
        "pass@1": curve[0],
        f"pass@{K}": curve[-1],
        "pass^8": metrics.consistency_curve(cell, 8)[-1],
        "A": float(area.A),
        "S": float(area.S),
    }


def _measures(run: metrics.Counts, start: metrics.Counts, K: int) -> dict[str, float]:
    ours = _own_measures(run, K)
    if len(start.c) != len(run.c):
        return ours | dict.fromkeys(("Tax_A", "Tax_S", f"gap@{K}", "crossover"), np.nan)
    theirs = _own_measures(start, K)
    return ours | {
        "Tax_A": theirs["A"] - ours["A"],
        "Tax_S": theirs["S"] - ours["S"],
        f"gap@{K}": theirs[f"pass@{K}"] - ours[f"pass@{K}"],
        "crossover": float(
            metrics.crossover(*(metrics.coverage_curve(cell, K) for cell in (start, run)))
        ),
    }
