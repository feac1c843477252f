"""Failure attribution: every score of steps, by every rule, against the decisive steps.

The rules and the plain guesses are those of "Progress Advantage for LLM Agents" (arXiv 2606.26080)
and of the benchmark Who & When: a step drawn at random, the first, the last and the longest one.
One is added that knows where mistakes usually are: always the same step.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib import ROOT, located, metrics
from lib.advantage.selection import Cell, step_scores
from lib.metrics.formatting import side, signed_with_interval

WHO_AND_WHEN = ROOT / "data" / "whoandwhen"
"""Tables that `data/whoandwhen/score.py` wrote, one a policy."""
GUESS = "no score"
"""The rule of guesses that need no model."""
HALVINGS = 200
"""Of the tasks, to choose "always step k": so many that its accuracy does not hang on the seed."""


def guesses(
    lengths: Sequence[Sequence[int]], decisive: Sequence[int], tasks=None
) -> dict[str, list]:
    """Steps that are named without a model, as `metrics.attribution` takes them, by name.

    "random step" is the expectation over all steps. "always step k" names the step that is decisive
    most often in a half of the tasks that the trajectory's own is not in, and is the expectation
    over such halves, `HALVINGS` of them: where two places are nearly as usual, one halving, or
    leaving out one task, decides by chance or against itself. It names none with a single task.
    """
    return {
        "random step": [range(len(one)) for one in lengths],
        "first step": [0] * len(lengths),
        "last step": [len(one) - 1 for one in lengths],
        "longest step": [int(np.argmax(one)) for one in lengths],
        "always step k": _always(decisive, tasks),
    }


def _always(decisive, tasks, seed: int = 0) -> list[NDArray[np.int64] | None]:
    """Of each trajectory a step for each halving, chosen on the half without its task."""
    decisive = np.asarray(decisive, int)
    names, task = np.unique(range(len(decisive)) if tasks is None else tasks, return_inverse=True)
    if len(names) < 2:
        return [None] * len(decisive)
    counts = np.zeros((len(names), decisive.max() + 1), int)
    np.add.at(counts, (task, decisive), 1)
    halves = np.tile(np.arange(len(names)) < len(names) // 2, (HALVINGS, 1))
    halves = np.random.default_rng(seed).permuted(halves, axis=1)
    inside, outside = ((side @ counts).argmax(1)[:, None] for side in (halves, ~halves))
    steps = np.where(halves, outside, inside)
    return [steps[:, one] for one in task]


def compare(
    scores: Mapping[str, Sequence],
    lengths: Sequence[Sequence[int]],
    decisive: Sequence[int],
    *,
    tasks=None,
    n_boot: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Every score by every rule, and the guesses, against the decisive steps.

    scores: name -> of each trajectory its step scores, NaN where a step has none.
    lengths: of each trajectory the length of each step, in any unit.
    decisive: [trajectories], counted from 0.  tasks: as in `metrics.attribution`.

    Columns scorer, rule, accuracy, distance (in steps), lead (accuracy minus that of the best guess
    on the same trajectories), each with `_low` and `_high`, counted and unpredicted; and like,
    alike: the guess that names the same step most often, and in which share of the trajectories. A
    score that is alike in all is that guess in disguise.
    """
    told = {"tasks": tasks, "n_boot": n_boot, "rng": seed}
    plain = guesses(lengths, decisive, tasks)
    right = {name: metrics.attribution(steps, decisive, **told) for name, steps in plain.items()}
    best = max(plain, key=lambda name: np.nan_to_num(right[name].accuracy.value, nan=-1))
    predicted = {
        (name, rule): [metrics.predict_step(one, rule) for one in values]
        for name, values in scores.items()
        for rule in metrics.RULES
    }
    rows = []
    for (scorer, rule), steps in (predicted | {(one, GUESS): plain[one] for one in plain}).items():
        found = metrics.attribution(steps, decisive, **told)
        row = {"scorer": scorer, "rule": rule}
        lead = found.accuracy  # undefined, as the lead is, where the score names no step at all
        if found.counted:
            lead = metrics.attribution_lead(steps, plain[best], decisive, **told)
        bands = {"accuracy": found.accuracy, "distance": found.distance, "lead": lead}
        for measure, (value, low, high) in bands.items():
            row |= {measure: value, f"{measure}_low": low, f"{measure}_high": high}
        row |= {"counted": found.counted, "unpredicted": found.unpredicted}
        rows.append(row | (_likest(steps, plain) if found.counted and rule != GUESS else {}))
    return pd.DataFrame(rows)


def _likest(steps, plain) -> dict:
    """The guess that names these steps most often, a random one aside, and how often it does."""
    named = [i for i, step in enumerate(steps) if step is not None]
    alike = {
        guess: float(np.mean([np.mean(np.equal(steps[i], theirs[i])) for i in named]))
        for guess, theirs in plain.items()
        if guess != "random step"
    }
    likest = max(alike, key=alike.get)
    return {"like": likest, "alike": alike[likest]}


def in_words(table: pd.DataFrame) -> str:
    """What a table of `compare` says: guesses in disguise, the best other score, the best guess."""
    models = table[(table["rule"] != GUESS) & (table["counted"] > 0)]
    if models.empty:
        return "no score names a step here"
    hidden = models["alike"] == 1
    named = [f"{one.scorer} by {one.rule} = {one.like}" for one in models[hidden].itertuples()]
    said = f"Guesses in disguise, the same step in every failure: {'; '.join(named) or 'none'}."
    if hidden.all():
        return said
    ours = models.loc[models["accuracy"].where(~hidden).idxmax()]
    guess = table.loc[table["accuracy"].where(table["rule"] == GUESS).idxmax()]
    lead = metrics.Band(*ours[["lead", "lead_low", "lead_high"]])
    beside = {1: "it is better than", -1: "it is worse than", 0: "no interval tells it from"}
    return (
        f"{said} The best of the other {(~hidden).sum()}: {ours['scorer']} by {ours['rule']}, "
        f"right in {ours['accuracy']:.0%} of {int(ours['counted'])} failures; "
        f"{beside[side(lead.low, lead.high)]} the best guess, {guess['scorer']}, right in "
        f"{guess['accuracy']:.0%} (lead {signed_with_interval(lead)})."
    )


def in_sokoban(cell: Cell, *, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """`compare` on the failed attempts of a Sokoban cell, whose decisive steps are exact."""
    failed = np.flatnonzero(cell.table["decisive"].notna())
    ends = np.cumsum(cell.scored.steps)[:-1]
    per_step = step_scores(cell.scored) | {"length": cell.scored.counts}
    parts = {name: np.split(values, ends) for name, values in per_step.items()}
    parts = {name: [values[i] for i in failed] for name, values in parts.items()}
    lengths = parts.pop("length")
    decisive = cell.table["decisive"].iloc[failed].astype(int).tolist()
    return compare(parts, lengths, decisive, tasks=cell.tasks[failed], n_boot=n_boot, seed=seed)


def scored_logs(folder: str | Path = WHO_AND_WHEN) -> dict[str, pd.DataFrame]:
    """The tables of scored steps of Who & When by the name of the policy; none may be there.

    folder: see `lib.located`. Raises FileNotFoundError without it.
    """
    folder = located(folder)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder}: expected one with tables that data/whoandwhen/score.py "
            "wrote"
        )
    return {path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}


def on_logs(steps: pd.DataFrame, *, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """`compare` on Who & When, a split at a time: its columns and `split`.

    steps: a table of `data/whoandwhen/score.py`. Logs that are not scored yet have no prediction by
    a score and are counted as such; guesses are over all logs.
    """
    names = [name for name in ("progress advantage", "log-prob", "self-certainty") if name in steps]
    rows = []
    for split, part in steps.groupby("split", sort=False):
        logs = [log for _, log in part.groupby("file", sort=False)]
        found = compare(
            {name: [log[name].to_numpy(float) for log in logs] for name in names},
            [log["characters"].to_numpy() for log in logs],
            [int(log["mistake"].iloc[0]) for log in logs],
            n_boot=n_boot,
            seed=seed,
        )
        rows.append(found.assign(split=split))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def lower_at_decisive(cell: Cell, *, n_boot: int = 1000, seed: int = 0) -> dict[str, metrics.Band]:
    """The chance that a score is lower at the decisive step than at another of the same failure.

    Of each score of steps: a half is chance. Intervals resample tasks with all their failures.
    """
    steps = cell.scored.steps
    place = np.arange(steps.sum()) - np.repeat(np.cumsum(steps) - steps, steps)
    decisive = cell.table["decisive"].to_numpy(float, na_value=np.nan)[cell.scored.trajectory]
    failed = ~np.isnan(decisive)
    return {
        name: metrics.auroc_band(
            -values[failed],
            (place == decisive)[failed],
            cell.tasks[cell.scored.trajectory][failed],
            strata=cell.scored.trajectory[failed],
            n_boot=n_boot,
            rng=seed,
        )
        for name, values in step_scores(cell.scored).items()
    }


def lower_in_words(found: Mapping[str, Mapping[str, metrics.Band]]) -> str:
    """What `lower_at_decisive` says of several settings, a line a score.

    found: name of a setting -> its bands.
    """
    lines = []
    for name in dict.fromkeys(name for bands in found.values() for name in bands):
        sides = {
            where: side(bands[name].low, bands[name].high, 0.5) for where, bands in found.items()
        }
        told = []
        for expected, said in ((1, "better than chance"), (-1, "worse"), (0, "not told from it")):
            there = [where for where, one in sides.items() if one == expected]
            told.append(f"{said} in {len(there)}" + (f" ({', '.join(there)})" if there else ""))
        lines.append(f"{name}, of {len(found)} settings: {', '.join(told)}")
    return "\n".join(lines)
