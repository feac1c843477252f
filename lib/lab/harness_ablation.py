"""The harness ablation of the lab: the cue, and the lenient reading, of bases and trained models.

Here the cue is one word that asks for native calls, and the lenient reading takes calls in every
form that the corpora have. Another reading is another run: what the world answers depends on it.
"""

from pathlib import Path

import pandas as pd

from lib import outcomes
from lib.lab import plan, results
from lib.lab.plan import Run

READINGS = {
    "native": (False, "exact"),
    "cue": (True, "exact"),
    "lenient": (False, "lenient"),
    "both": (True, "lenient"),
}
"""Condition -> whether the cue is given, and the parser of the replies."""

BASES = {"base-35": "base, 35 % native", "base-85": "base, 85 % native"}
"""Kind of a base -> what it is called, by the share of native calls in what it was trained on."""

TRAINED = "post-trained"
"""What the trained model is called; it comes from the base with 85 % native calls."""


def trained(world: str = "desk") -> Run:
    """The run whose model is in the ablation of a world."""
    return Run(world=world, algorithm="grpo", sampler="fixed", seed=0)


def conditions(evaluations: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The table of outcomes of a run and of the bases of its world, held-out tasks at T = 1.

    Counts; pair is the model, arm the condition. What was not evaluated yet is not there; see
    `absent`.
    """
    table = results.select(
        evaluations, world=run.world, size=run.size, split="test", temperature=1.0
    )
    models = {name: results.select(table, kind=kind) for kind, name in BASES.items()}
    models[TRAINED] = results.select(table, kind="post", **run.settings())
    rows = [
        results.select(cell, cue=cue, parser=parser)[["task", "n", "c"]].assign(
            benchmark=run.world, pair=name, arm=condition, missing=0
        )
        for name, cell in models.items()
        for condition, (cue, parser) in READINGS.items()
    ]
    table = pd.concat(rows, ignore_index=True)
    return outcomes.validate(table, source="the lab") if len(table) else table


def read(run: Run, folder: str | Path | None = None) -> pd.DataFrame:
    """The `conditions` in the tables of a folder (`results.read`); no rows where there are none."""
    try:
        return conditions(results.read("evaluations", folder), run)
    except FileNotFoundError:
        return pd.DataFrame(columns=["task", "n", "c", "benchmark", "pair", "arm", "missing"])


def absent(table: pd.DataFrame) -> list[str]:
    """The models and conditions that a table of `conditions` does not have."""
    there = set(zip(table["pair"], table["arm"], strict=True))
    return [
        f"{name}: {condition}"
        for name in (*BASES.values(), TRAINED)
        for condition in READINGS
        if (name, condition) not in there
    ]


def prototype(folder: str | Path | None = None) -> pd.DataFrame:
    """What a prototype of the lab measured before it was built: pair, condition, pass@1, pass@32.

    Two seeds at most, on 64 tasks of another world (Sokoban) with 128 rollouts; it had no desk.
    """
    return pd.read_csv(Path(folder or plan.DATA) / "prototype.csv")
