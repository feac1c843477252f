"""Failure attribution: every score of steps, by every rule, against the decisive steps.

The rules and the plain guesses are those of "Progress Advantage for LLM Agents" (arXiv 2606.26080)
and of the benchmark Who & When: a step drawn at random, the first, the last and the longest step.
One guess is added that knows where mistakes usually are: always the same step.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lib import metrics
from lib.advantage.scored_attempts import ScoredAttempts
from lib.advantage.selection import step_scores
from lib.metrics.formatting import side, signed_with_interval

GUESS = "no score"
"""The rule of guesses that need no model."""
HALVINGS = 200
"""Of the tasks, to choose "always step k": so many that its accuracy hardly depends on the seed."""


def guesses(
    lengths: Sequence[Sequence[int]], decisive: Sequence[int], tasks=None
) -> dict[str, list]:
    """Steps that are named without a model, as `metrics.attribution` takes them, by name.

    "random step" is the expectation over all steps. "always step k" names the step that is decisive
    most often in a half of the tasks that the trajectory's own is not in, and is the expectation
    over `HALVINGS` such halves: where two places are nearly as usual, a single halving decides by
    chance, and leaving out only the own task favours the other place. It names no step where all
    trajectories are of a single task.
    """
    return {
        "random step": [range(len(steps)) for steps in lengths],
        "first step": [0] * len(lengths),
        "last step": [len(steps) - 1 for steps in lengths],
        "longest step": [int(np.argmax(steps)) for steps in lengths],
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
    inside, outside = ((half @ counts).argmax(1)[:, None] for half in (halves, ~halves))
    steps = np.where(halves, outside, inside)
    return [steps[:, own] for own in task]


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
    options = {"tasks": tasks, "n_boot": n_boot, "rng": seed}
    plain = guesses(lengths, decisive, tasks)
    results = {
        name: metrics.attribution(steps, decisive, **options) for name, steps in plain.items()
    }
    best = max(plain, key=lambda name: np.nan_to_num(results[name].accuracy.value, nan=-1))
    predicted = {
        (name, rule): [metrics.predict_step(steps, rule) for steps in values]
        for name, values in scores.items()
        for rule in metrics.RULES
    }
    rows = []
    for (scorer, rule), steps in (
        predicted | {(name, GUESS): plain[name] for name in plain}
    ).items():
        result = metrics.attribution(steps, decisive, **options)
        row = {"scorer": scorer, "rule": rule}
        lead = result.accuracy  # undefined, as the lead is, where the score names no step at all
        if result.counted:
            lead = metrics.attribution_lead(steps, plain[best], decisive, **options)
        bands = {"accuracy": result.accuracy, "distance": result.distance, "lead": lead}
        for measure, (value, low, high) in bands.items():
            row |= {measure: value, f"{measure}_low": low, f"{measure}_high": high}
        row |= {"counted": result.counted, "unpredicted": result.unpredicted}
        if result.counted and rule != GUESS:
            row |= _most_similar_guess(steps, plain)
        rows.append(row)
    return pd.DataFrame(rows)


def _most_similar_guess(steps, plain) -> dict:
    """The guess that names these steps most often, a random one aside, and how often it does."""
    named = [i for i, step in enumerate(steps) if step is not None]
    alike = {
        guess: float(np.mean([np.mean(np.equal(steps[i], guessed[i])) for i in named]))
        for guess, guessed in plain.items()
        if guess != "random step"
    }
    most = max(alike, key=alike.get)
    return {"like": most, "alike": alike[most]}


def in_words(table: pd.DataFrame) -> str:
    """What a table of `compare` says: guesses in disguise, the best other score, the best guess."""
    models = table[(table["rule"] != GUESS) & (table["counted"] > 0)]
    if models.empty:
        return "no score names a step here"
    hidden = models["alike"] == 1
    named = [f"{row.scorer} by {row.rule} = {row.like}" for row in models[hidden].itertuples()]
    text = f"Guesses in disguise, the same step in every failure: {'; '.join(named) or 'none'}."
    if hidden.all():
        return text
    ours = models.loc[models["accuracy"].where(~hidden).idxmax()]
    guess = table.loc[table["accuracy"].where(table["rule"] == GUESS).idxmax()]
    lead = metrics.Band(*ours[["lead", "lead_low", "lead_high"]])
    beside = {1: "it is better than", -1: "it is worse than", 0: "no interval tells it from"}
    return (
        f"{text} The best of the other {(~hidden).sum()}: {ours['scorer']} by {ours['rule']}, "
        f"right in {ours['accuracy']:.0%} of {int(ours['counted'])} failures; "
        f"{beside[side(lead.low, lead.high)]} the best guess, {guess['scorer']}, right in "
        f"{guess['accuracy']:.0%} (lead {signed_with_interval(lead)})."
    )


def title_in_words(table: pd.DataFrame) -> str:
    """The best score that is no guess in disguise beside the best guess, as a title.

    table: as `compare` makes it.
    """
    guess = table.loc[table["accuracy"].where(table["rule"] == GUESS).idxmax()]
    best = f"the best guess, {guess['scorer']} ({guess['accuracy']:.0%})"
    models = table[(table["rule"] != GUESS) & (table["counted"] > 0)]
    if models.empty:
        return f"not scored;\n{best}"
    ahead = models[models["lead_low"] > 0]
    if ahead.empty:
        return f"no score is surely better than\n{best}"
    ours = ahead.loc[ahead["accuracy"].idxmax()]
    return f"{ours['scorer']} ({ours['accuracy']:.0%}) is better than\n{best}"


def compare_attempts(
    attempts: ScoredAttempts, decisive: ArrayLike, *, n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """`compare` on the attempts whose decisive step is known; lengths are in tokens.

    decisive: [attempts], the decisive step of each, counted from 0; NaN where there is none.
    """
    decisive = np.asarray(decisive, float)
    failed = np.flatnonzero(~np.isnan(decisive))
    ends = np.cumsum(attempts.scored.steps)[:-1]
    per_step = step_scores(attempts.scored) | {"length": attempts.scored.counts}
    parts = {name: np.split(values, ends) for name, values in per_step.items()}
    parts = {name: [values[i] for i in failed] for name, values in parts.items()}
    lengths = parts.pop("length")
    steps = decisive[failed].astype(int).tolist()
    return compare(parts, lengths, steps, tasks=attempts.tasks[failed], n_boot=n_boot, seed=seed)


def usual_step_in_words(label: str, decisive: ArrayLike) -> str:
    """How many failures there are, and the share decided at the most usual step, from 1.

    decisive: as in `compare_attempts`.
    """
    decisive = np.asarray(decisive, float)
    steps = decisive[~np.isnan(decisive)].astype(int)
    usual = int(np.bincount(steps).argmax())
    share = f"{np.mean(steps == usual):.0%} decided at step {usual + 1}"
    return f"{label}: {len(steps)} failures, {share}"


def lower_at_decisive(
    attempts: ScoredAttempts, decisive: ArrayLike, *, n_boot: int = 1000, seed: int = 0
) -> dict[str, metrics.Band]:
    """The chance that a score is lower at the decisive step than at another of the same failure.

    decisive: as in `compare_attempts`. Of each score of steps; a half is chance. Intervals resample
    tasks with all their failures.
    """
    trajectory = attempts.scored.trajectory
    decisive = np.asarray(decisive, float)[trajectory]
    failed = ~np.isnan(decisive)
    return {
        name: metrics.auroc_band(
            -values[failed],
            (attempts.scored.place == decisive)[failed],
            attempts.tasks[trajectory][failed],
            strata=trajectory[failed],
            n_boot=n_boot,
            rng=seed,
        )
        for name, values in step_scores(attempts.scored).items()
    }


def lower_in_words(results: Mapping[str, Mapping[str, metrics.Band]]) -> str:
    """What `lower_at_decisive` says of several settings, a line for each score.

    results: label of a setting -> its bands.
    """
    lines = []
    for name in dict.fromkeys(name for bands in results.values() for name in bands):
        sides = {
            label: side(bands[name].low, bands[name].high, 0.5) for label, bands in results.items()
        }
        parts = []
        for where, words in ((1, "better than chance"), (-1, "worse"), (0, "not told from it")):
            there = [label for label, its_side in sides.items() if its_side == where]
            parts.append(f"{words} in {len(there)}" + (f" ({', '.join(there)})" if there else ""))
        lines.append(f"{name}, of {len(results)} settings: {', '.join(parts)}")
    return "\n".join(lines)
