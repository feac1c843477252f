"""Failure attribution where the lab knows the truth, and on the logs of Who & When."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib import ROOT, located
from lib.advantage import attribution
from lib.advantage.scored_attempts import ScoredAttempts

WHO_AND_WHEN = ROOT / "data" / "whoandwhen"
"""Tables that `data/whoandwhen/score.py` wrote, one for each policy."""
LOG_SCORES = ("progress advantage", "log-prob", "self-certainty")
"""Columns of those tables with scores of steps; a policy alone has no progress advantage."""


def decisive_steps(attempts: ScoredAttempts) -> NDArray[np.float64]:
    """The exact decisive step of each attempt at Sokoban, NaN for successes, [attempts].

    Raises ValueError for attempts of which it is not known.
    """
    if "decisive" not in attempts.table:
        raise ValueError(
            f"the decisive steps of {attempts.label} are not known: expected a table of the lab"
        )
    return attempts.table["decisive"].to_numpy(float, na_value=np.nan)


def read_scored_logs(folder: str | Path = WHO_AND_WHEN) -> dict[str, pd.DataFrame]:
    """The tables of scored steps of Who & When, by the name of the policy; there may be none.

    folder: see `lib.located`. Raises FileNotFoundError without it.
    """
    folder = located(folder)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder}: expected one with tables that data/whoandwhen/score.py "
            "wrote"
        )
    return {path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}


def compare_logs(steps: pd.DataFrame, *, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """`attribution.compare` on Who & When, split by split: its columns and `split`.

    steps: a table of `data/whoandwhen/score.py`. Logs that are not scored yet have no prediction by
    a score and are counted as such; guesses are over all logs.
    """
    names = [name for name in LOG_SCORES if name in steps]
    tables = []
    for split, part in steps.groupby("split", sort=False):
        logs = [log for _, log in part.groupby("file", sort=False)]
        table = attribution.compare(
            {name: [log[name].to_numpy(float) for log in logs] for name in names},
            [log["characters"].to_numpy() for log in logs],
            [int(log["mistake"].iloc[0]) for log in logs],
            n_boot=n_boot,
            seed=seed,
        )
        tables.append(table.assign(split=split))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def count_scored_logs(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """A row for each policy and split: how many logs and steps there are, and are scored.

    tables: as `read_scored_logs` reads them.
    """
    rows = []
    for name, steps in tables.items():
        for split, part in steps.groupby("split", sort=False):
            whole = part.groupby("file")["tokens"].apply(lambda tokens: tokens.notna().all())
            rows.append(
                {
                    "policy": name,
                    "split": split,
                    "logs": len(whole),
                    "scored": int(whole.sum()),
                    "steps": len(part),
                    "scored steps": int(part["log-prob"].notna().sum()),
                    "past the context": int((part["missing"] == "context").sum()),
                }
            )
    return pd.DataFrame(rows)
