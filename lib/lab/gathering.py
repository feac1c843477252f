"""The tables of finished work, joined to the tables of results; names of it in done.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lib.lab.batches import write_table
from lib.lab.plan import LAB, Plan
from lib.lab.results import RUN
from lib.lab.work import Base, Lake, Pilots, Scores, Work
from lib.trajectories import storage

KEYS = {
    "evaluations": [*RUN, "kind", "split", "temperature", "cue", "parser", "task"],
    "steps": [*RUN, "step"],
    "losses": ["world", "size", "kind", "step"],
    "pilots": ["world", "policy", "seed", "method", "total"],
    "scores": [*RUN, "by", "task", "attempt"],
    "lake": ["step", "state", "action"],
}
"""Table -> the columns that tell its rows apart, which come first in it."""


def gather(lab: Plan = LAB) -> None:
    """Join the tables of newly finished work to those of results, then its names to done.json.

    In this order, so that after a kill in between the next call does it again.
    """
    lab.data.mkdir(parents=True, exist_ok=True)
    with storage.lock(lab.build / "gather", wait=True):
        names = gathered(lab)
        finished = [
            work
            for work in lab.work
            if work.name not in names and (lab.build / work.name / "done").exists()
        ]
        joined: dict[str, list[pd.DataFrame]] = {name: [] for name in KEYS}
        for work in finished:
            for name, table in _tables(work, lab.build / work.name):
                joined[name].append(table)
        for name, key in KEYS.items():
            _join(lab.data / f"{name}.parquet", joined[name], key)
        names = sorted({*names, *(work.name for work in finished)})
        storage.write_text(lab.data / "done.json", json.dumps(names, indent=0) + "\n")


def gathered(lab: Plan = LAB) -> list[str]:
    """Names of the work that the tables of results hold."""
    path = lab.data / "done.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _tables(work: Work, folder: Path) -> list[tuple[str, pd.DataFrame]]:
    """What a finished piece of work left in its folder: names of `KEYS`, and rows for them."""
    if isinstance(work, Scores):
        return [("scores", pd.read_parquet(folder / "scores.parquet"))]
    if isinstance(work, Pilots):
        return [("pilots", pd.read_parquet(folder / "coverage.parquet"))]
    if isinstance(work, Lake):
        return [("lake", pd.read_parquet(folder / "lake.parquet"))]
    if isinstance(work, Base):
        path = folder / "losses.parquet"
        losses = [("losses", pd.read_parquet(path))] if path.exists() else []
        return _evaluations(folder, work.settings()) + losses
    log = (folder / "steps.jsonl").read_text(encoding="utf-8")
    steps = step_table([json.loads(line) for line in log.splitlines()])
    evaluations = _evaluations(folder, work.settings() | {"kind": "post"})
    return [*evaluations, ("steps", steps.assign(**work.settings()))]


def _evaluations(folder: Path, columns: Mapping[str, Any]) -> list[tuple[str, pd.DataFrame]]:
    return [
        ("evaluations", pd.read_parquet(path).assign(**columns))
        for path in sorted(folder.glob("evaluation-*.parquet"))
    ]


def step_table(lines: list[dict]) -> pd.DataFrame:
    """A step log as a table, a row a step; its temperatures and seconds become columns."""
    rows = []
    for line in lines:
        temperatures, seconds = line.pop("temperature"), line.pop("seconds")
        line |= {f"temperature_{name}": value for name, value in temperatures.items()}
        rows.append(line | {f"seconds_{name}": value for name, value in seconds.items()})
    return pd.DataFrame(rows)


def _join(path: Path, new: list[pd.DataFrame], key: list[str]) -> None:
    if not new:
        return
    old = [pd.read_parquet(path)] if path.exists() else []
    table = pd.concat([*old, *new], ignore_index=True)
    table = table.drop_duplicates(key, keep="last").sort_values(key, ignore_index=True)
    write_table(table[[*key, *(name for name in table if name not in key)]], path)
