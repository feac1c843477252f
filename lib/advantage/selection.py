"""Selection of attempts by scores: best of k, what it is worth, and early warning.

Functions take `ScoredAttempts`; a selector is a score of every attempt, by its name.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib import metrics
from lib.advantage.aggregation import score_steps, score_trajectory, step_values
from lib.advantage.baselines import BASELINES, at_random, confidence
from lib.advantage.scored_attempts import ScoredAttempts
from lib.advantage.scores import Scored

PROGRESS = "progress advantage"
"""By the aggregation that was fixed beforehand: the mean over tokens, then over steps."""
BUDGET = 8
"""Attempts of the paper's best-of-N."""


def selectors(attempts: ScoredAttempts, rng: int = 0) -> dict[str, NDArray[np.float64]]:
    """Every selector's scores, [attempts], progress advantage first and random numbers last.

    Raises MissingReference if the attempts were scored without a reference.
    """
    by_name = {PROGRESS: score_trajectory(attempts.scored)}
    by_name |= {name: baseline(attempts.scored) for name, baseline in BASELINES.items()}
    for name, column in attempts.other_scorers.items():
        by_name[name] = attempts.table[column].to_numpy(float)
    return by_name | {"random": at_random(attempts.scored, np.random.default_rng(rng))}


def without_scores(settings: Sequence[ScoredAttempts], names: Sequence[str]) -> dict[str, str]:
    """Which of some selectors are missing in any of the settings, and why."""
    known = {PROGRESS, *BASELINES, "random"}
    return {
        name: f"there are no scores by it for {', '.join(lacking)}"
        for name in names
        if name not in known
        and (
            lacking := [setting.label for setting in settings if name not in setting.other_scorers]
        )
    }


def auroc_table(attempts: ScoredAttempts, n_boot: int, seed: int) -> pd.DataFrame:
    """AUROC of each selector in each of the strata: `selector`, `compared`, value, low, high."""
    rows = []
    for (name, scores), (compared, strata) in itertools.product(
        selectors(attempts, seed).items(), attempts.strata.items()
    ):
        band = metrics.auroc_band(
            scores, attempts.passed, attempts.tasks, strata=strata, n_boot=n_boot, rng=seed
        )
        rows.append({"selector": name, "compared": compared, **band._asdict()})
    return pd.DataFrame(rows)


def auroc_leads(attempts: ScoredAttempts, n_boot: int, seed: int) -> pd.DataFrame:
    """AUROC of progress advantage minus that of each baseline, paired, in each of the strata.

    Columns selector (the baseline), compared, value, low, high; both meet the same resamples of
    tasks. Random numbers are no baseline, nor are those whose sign is the other way round, "as
    released".
    """
    scores = selectors(attempts, seed)
    ours = scores.pop(PROGRESS)
    rows = []
    for (name, theirs), (compared, strata) in itertools.product(
        scores.items(), attempts.strata.items()
    ):
        if name == "random" or name.endswith("(as released)"):
            continue
        band = metrics.auroc_difference(
            ours, theirs, attempts.passed, attempts.tasks, strata=strata, n_boot=n_boot, rng=seed
        )
        rows.append({"selector": name, "compared": compared, **band._asdict()})
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------------------- best of k


def select(attempts: ScoredAttempts, scores, ks, n_boot: int, seed: int) -> metrics.Selection:
    """Best of k by some scores, [attempts]; the same resamples for all scores of the attempts."""
    return metrics.selection(scores, attempts.passed, attempts.tasks, ks, n_boot=n_boot, rng=seed)


def select_by(
    attempts: ScoredAttempts, names: Sequence[str], ks, n_boot: int, seed: int
) -> dict[str, metrics.Selection]:
    """Best of k by each of these selectors."""
    scores = selectors(attempts, seed)
    return {name: select(attempts, scores[name], ks, n_boot, seed) for name in names}


def lead(
    ours: metrics.Selection, theirs: metrics.Selection, k: int, measure: str = "success"
) -> metrics.Band:
    """Success of our best of k minus a measure of theirs, with the interval of the difference.

    Both are of the same attempts, resamples and budgets; a measure is a name in
    `Selection.samples`.
    """
    place = list(ours.ks).index(k)
    value = float(ours.success.value[place] - getattr(theirs, measure).value[place])
    samples = ours.samples["success"][:, place] - theirs.samples[measure][:, place]
    return metrics.Band(value, *metrics.percentile_interval(samples))


def standings(
    selections: Mapping[str, Mapping[str, metrics.Selection]], k: int, sets: Mapping[str, str]
) -> pd.DataFrame:
    """In how many settings the best of k by progress advantage is better or worse than others.

    selections: label of a setting -> selector -> Selection.  sets: label -> its set of attempts.

    Rows "one attempt" and the other selectors. Columns better, worse: the interval of the
    difference lies above, below 0; neither: it holds 0; and `better_sets`, `worse_sets`: how many
    different sets of attempts those settings are of.
    """
    names = dict.fromkeys(name for by_name in selections.values() for name in by_name)
    rows = {}
    for other in ["one attempt", *(name for name in names if name != PROGRESS)]:
        bands = {
            label: lead(by_name[PROGRESS], by_name[PROGRESS], k, "accuracy")
            if other == "one attempt"
            else lead(by_name[PROGRESS], by_name[other], k)
            for label, by_name in selections.items()
        }
        better = [label for label, band in bands.items() if band.low > 0]
        worse = [label for label, band in bands.items() if band.high < 0]
        rows[other] = {
            "better": len(better),
            "worse": len(worse),
            "neither": len(selections) - len(better) - len(worse),
            "better_sets": len({sets[label] for label in better}),
            "worse_sets": len({sets[label] for label in worse}),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def most_to_gain(
    pairs: Mapping[str, Mapping[str, Mapping[str, metrics.Selection]]], most: int = 2
) -> list[str]:
    """The names with the largest pass@k - pass@1 of any of their attempts, in the given order.

    pairs: name -> what made the attempts -> selector -> Selection; k is the largest budget.
    """
    gains = {
        name: max(
            float(best[PROGRESS].coverage.value[-1] - best[PROGRESS].accuracy.value[-1])
            for best in pair.values()
        )
        for name, pair in pairs.items()
    }
    chosen = sorted(gains, key=gains.get, reverse=True)[:most]
    return [name for name in pairs if name in chosen]


def pick_table(attempts: ScoredAttempts, ks: Sequence[int], n_boot: int, seed: int) -> pd.DataFrame:
    """A row for each selector and budget: the success of its pick, and the share cashed in.

    Columns selector, k, success, share, accuracy, coverage, consistency (`metrics.Band` each).
    """
    rows = []
    for name, scores in selectors(attempts, seed).items():
        selection = select(attempts, scores, ks, n_boot, seed)
        for i, k in enumerate(ks):
            bands = {
                measure: metrics.Band(*(float(part[i]) for part in getattr(selection, measure)))
                for measure in ("success", "share", "accuracy", "coverage", "consistency")
            }
            rows.append({"selector": name, "k": k} | bands)
    return pd.DataFrame(rows)


def budget(settings: Sequence[ScoredAttempts], max_k: int | None = None) -> int:
    """The most attempts that every task of every setting has, or `max_k` if that is less.

    Raises ValueError without a setting, or for a `max_k` that is not a whole number from 1 up.
    """
    if not settings:
        raise ValueError("no attempts are scored: choose others, or None for all")
    if max_k is not None and (type(max_k) is not int or max_k < 1):
        raise ValueError(
            f"max_k is {max_k!r}: expected a whole number, at least 1; None takes all attempts"
        )
    least = min(int(setting.table.groupby("task").size().min()) for setting in settings)
    return least if max_k is None else min(least, max_k)


def budgets(largest: int) -> list[int]:
    """The budgets of a table: 8 and 32 as far as `largest` allows, or else `largest`."""
    if largest < 1:
        raise ValueError(f"largest is {largest}: expected at least 1")
    return [k for k in (8, 32) if k <= largest] or [largest]


def by_reference(attempts: ScoredAttempts) -> dict[str, NDArray[np.float64]]:
    """Progress advantage, [attempts], against the base and against each other reference."""
    return {"base": score_trajectory(attempts.scored)} | {
        name: attempts.table[column].to_numpy(float)
        for name, column in attempts.other_references.items()
    }


# ----------------------------------------------------------------------------------- early warning


def step_scores(scored: Scored) -> dict[str, NDArray[np.float64]]:
    """What is known of every step as soon as it is made, [s], by name; means over its tokens."""
    return {
        PROGRESS: score_steps(scored),
        "policy log-prob": step_values(scored, scored.policy),
        "reference log-prob": step_values(scored, scored.reference),
        "self-certainty": confidence(scored),
    }


def early_table(attempts: ScoredAttempts, n_boot: int, seed: int) -> pd.DataFrame:
    """AUROC of the mean over the first `turn` steps, among attempts that go on after it.

    Columns selector, compared, turn, running, value, low, high. Turns after which all attempts that
    go on end alike are left out.
    """
    scored = attempts.scored
    rows = []
    for turn in range(1, int(scored.steps.max(initial=0))):
        running = scored.steps > turn
        if len(np.unique(attempts.passed[running])) < 2:
            continue
        for name, values in step_scores(scored).items():
            early = np.where(scored.place < turn, values, 0)
            scores = np.bincount(scored.trajectory, weights=early, minlength=len(scored)) / turn
            strata_of = {"pooled": None, "within task": attempts.tasks[running]}
            for compared, strata in strata_of.items():
                band = metrics.auroc_band(
                    scores[running],
                    attempts.passed[running],
                    attempts.tasks[running],
                    strata=strata,
                    n_boot=n_boot,
                    rng=seed,
                )
                row = {"selector": name, "compared": compared, "turn": turn}
                rows.append(row | {"running": int(running.sum())} | band._asdict())
    return pd.DataFrame(rows)
