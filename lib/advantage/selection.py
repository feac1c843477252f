"""What the scored attempts of the lab come to: selectors, aggregations, references, early warning.

Everything here reads the table that `lib.lab.scores` writes, a `Cell` at a time: attempts of one
sampler, scored by one policy.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib import metrics
from lib.advantage import (
    BASELINES,
    Scored,
    StepAggregation,
    TokenAggregation,
    at_random,
    confidence,
    score_steps,
    score_trajectory,
    step_values,
)
from lib.envs import ENVIRONMENTS
from lib.lab import plan
from lib.lab.results import RUN
from lib.lab.scored import MERGES, as_scored

PROGRESS = "progress advantage"
"""By the aggregation that was fixed beforehand: the mean over tokens, then over steps."""
TRAINED = "reward model"
BUDGET = 8
"""Attempts of the paper's best-of-N."""


@dataclass(frozen=True)
class Cell:
    """Attempts of one sampler scored by one policy, those without outcome or score left out.

    policy: the run that scores.  by: name of the sampler.  left_out: attempts that are not here.
    """

    policy: plan.Run
    by: str
    table: pd.DataFrame
    scored: Scored
    left_out: int

    @property
    def world(self) -> str:
        return self.policy.environment

    @property
    def sampler(self) -> str:
        """Whose attempts: those of the policy itself, of its base, or of a model by its size."""
        if self.by == self.policy.name:
            return "post-trained"
        return "base" if self.by == self.policy.base.name else f"base of {self.by.split('-')[1]}"

    @property
    def label(self) -> str:
        arm = "" if self.policy.method == "fixed" else f" ({self.policy.method})"
        return f"{self.world}{arm}: {self.sampler}"

    @property
    def passed(self) -> NDArray[np.float64]:
        return self.table["passed"].to_numpy(float)

    @property
    def tasks(self) -> NDArray:
        return self.table["task"].to_numpy()

    @property
    def strata(self) -> dict[str, NDArray | None]:
        """Among which attempts scores are compared: all, the same task's, equally long ones."""
        return {"pooled": None, "within task": self.tasks, "equal length": self.scored.steps}


def cells(table: pd.DataFrame, worlds: Sequence[str] | None = None) -> list[Cell]:
    """The cells of a table of scores, in the order of the plan, of these worlds; None takes all.

    Raises TypeError for a name in the place of a list, ValueError for a world that the lab does not
    have.
    """
    if isinstance(worlds, str):
        raise TypeError(f"worlds is {worlds!r}: expected a list, [{worlds!r}]")
    unknown = [world for world in worlds or () if world not in ENVIRONMENTS]
    if unknown:
        raise ValueError(
            f"there is no world {unknown[0]!r}: expected some of {', '.join(ENVIRONMENTS)}"
        )
    found = {}
    for key, part in table.groupby([*RUN, "by"], sort=False):
        told = dict(zip([*RUN, "by"], key, strict=True))
        by = told.pop("by")
        whole = part["passed"].notna() & (part["missing"] == 0) & (part["turns"] > 0)
        kept = part[whole].reset_index(drop=True)
        policy = plan.Run.of(told)
        found[policy.name, by] = Cell(policy, by, kept, as_scored(kept), int((~whole).sum()))
    order = [(one.policy.name, one.attempts_by.name) for one in plan.SCORES]
    keys = sorted(found, key=lambda key: order.index(key) if key in order else len(order))
    return [found[key] for key in keys if worlds is None or found[key].world in worlds]


def absent(table: pd.DataFrame, worlds: Sequence[str] | None = None) -> list[str]:
    """What is planned and not in the table, by name."""
    there = {(cell.policy.name, cell.by) for cell in cells(table)}
    return [
        one.name
        for one in plan.SCORES
        if (one.policy.name, one.attempts_by.name) not in there
        and (worlds is None or one.environment in worlds)
    ]


def attempts_in_words(cells: Sequence[Cell]) -> str:
    """How many sets of attempts cells are of, and which cells share one: scored by two policies."""
    sets: dict[str, list[str]] = {}
    for cell in cells:
        sets.setdefault(cell.by, []).append(cell.label)
    shared = [" and ".join(labels) for labels in sets.values() if len(labels) > 1]
    said = f"{len(cells)} settings of {len(sets)} sets of attempts"
    return said + "".join(f"; the same attempts, scored by several policies: {s}" for s in shared)


def selectors(cell: Cell, rng: int = 0) -> dict[str, NDArray[np.float64]]:
    """Every selector's score of every attempt of a cell, progress advantage first."""
    found = {PROGRESS: score_trajectory(cell.scored)}
    found |= {name: baseline(cell.scored) for name, baseline in BASELINES.items()}
    found[TRAINED] = cell.table[TRAINED].to_numpy(float)
    found["random"] = at_random(cell.scored, np.random.default_rng(rng))
    return found


def auroc_table(cell: Cell, n_boot: int, seed: int) -> pd.DataFrame:
    """AUROC of each selector in each of the strata: `selector`, `compared`, value, low, high."""
    rows = []
    for (name, scores), (compared, strata) in itertools.product(
        selectors(cell, seed).items(), cell.strata.items()
    ):
        found = metrics.auroc_band(
            scores, cell.passed, cell.tasks, strata=strata, n_boot=n_boot, rng=seed
        )
        rows.append({"selector": name, "compared": compared, **found._asdict()})
    return pd.DataFrame(rows)


def select(cell: Cell, scores, ks, n_boot: int, seed: int) -> metrics.Selection:
    """Best of k by some scores; the same resamples for all scores of a cell."""
    return metrics.selection(scores, cell.passed, cell.tasks, ks, n_boot=n_boot, rng=seed)


def lead(
    ours: metrics.Selection, theirs: metrics.Selection, k: int, measure: str = "success"
) -> metrics.Band:
    """Success of our best of k minus a measure of theirs, with the interval of their difference.

    Both of the same cell, resamples and budgets; a measure is a name in `Selection.samples`.
    """
    place = list(ours.ks).index(k)
    value = float(ours.success.value[place] - getattr(theirs, measure).value[place])
    samples = ours.samples["success"][:, place] - theirs.samples[measure][:, place]
    ends = np.percentile(samples, [2.5, 97.5]) if len(samples) else (np.nan, np.nan)
    return metrics.Band(value, *map(float, ends))


def standings(
    found: Mapping[str, Mapping[str, metrics.Selection]], k: int, sets: Mapping[str, str]
) -> pd.DataFrame:
    """In how many cells the best of k by progress advantage is better or worse than each rival.

    found: name of a cell -> selector -> Selection.  sets: name of a cell -> the attempts it is of.
    Rows "one attempt" and the other selectors; columns better, worse: the interval of the
    difference is above, below 0; neither: it holds 0; and `better_sets`, `worse_sets`: of how many
    different sets of attempts those cells are.
    """
    rivals = list(dict.fromkeys(name for one in found.values() for name in one))
    rows = {}
    for rival in ["one attempt", *(name for name in rivals if name != PROGRESS)]:
        bands = {
            cell: lead(one[PROGRESS], one[PROGRESS], k, "accuracy")
            if rival == "one attempt"
            else lead(one[PROGRESS], one[rival], k)
            for cell, one in found.items()
        }
        better = [cell for cell, band in bands.items() if band.low > 0]
        worse = [cell for cell, band in bands.items() if band.high < 0]
        rows[rival] = {
            "better": len(better),
            "worse": len(worse),
            "neither": len(found) - len(better) - len(worse),
            "better_sets": len({sets[cell] for cell in better}),
            "worse_sets": len({sets[cell] for cell in worse}),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def pick_table(cell: Cell, ks: Sequence[int], n_boot: int, seed: int) -> pd.DataFrame:
    """A row a selector: at each budget the success of its pick, and the share cashed in, as bands.

    Columns selector, k, success, share (`metrics.Band` each), accuracy, coverage, consistency.
    """
    rows = []
    for name, scores in selectors(cell, seed).items():
        found = select(cell, scores, ks, n_boot, seed)
        for i, k in enumerate(ks):
            bands = {
                measure: metrics.Band(*(float(part[i]) for part in getattr(found, measure)))
                for measure in ("success", "share", "accuracy", "coverage", "consistency")
            }
            rows.append({"selector": name, "k": k} | bands)
    return pd.DataFrame(rows)


def budget(cells: Sequence[Cell], largest: int | None = None) -> int:
    """The most attempts that every task of every cell has, or `largest` if that is less.

    Raises ValueError if there is no cell, or for a `largest` that is no whole number from 1 up.
    """
    if not cells:
        raise ValueError("no attempts of these worlds are scored yet: name others, or None for all")
    if largest is not None and (type(largest) is not int or largest < 1):
        raise ValueError(
            f"the largest budget is {largest!r}: it must be a whole number, at least 1; None takes "
            "all attempts"
        )
    there = min(int(cell.table.groupby("task").size().min()) for cell in cells)
    return there if largest is None else min(there, largest)


def budgets(largest: int) -> list[int]:
    """The budgets of a table: 8 and 32 as far as they are allowed, or else the largest."""
    if largest < 1:
        raise ValueError(f"the largest budget is {largest}: it must be at least 1")
    return [k for k in (8, 32) if k <= largest] or [largest]


# --------------------------------------------------------------------------------- aggregations


def aggregations() -> Iterator[dict[str, str]]:
    """Every way to put token scores together; the order of difference matters to min and max."""
    for token, step in itertools.product(get_args(TokenAggregation), get_args(StepAggregation)):
        for order in ("difference", "each") if token in ("min", "max") else ("difference",):
            yield {"token": token, "step": step, "order": order}


def aggregation_table(cell: Cell, k: int = BUDGET) -> pd.DataFrame:
    """A row an aggregation: best-of-k success, and the AUROC in each of the strata."""
    rows = []
    for how in aggregations():
        scores = score_trajectory(cell.scored, **how)
        best = metrics.best_of_k(scores, cell.passed, cell.tasks, k)[1].mean()
        found = {
            compared: metrics.auroc_band(scores, cell.passed, cell.tasks, strata=strata, n_boot=0)
            for compared, strata in cell.strata.items()
        }
        rows.append(how | {"best": best} | {name: band.value for name, band in found.items()})
    return pd.DataFrame(rows)


def aggregation_grid(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of `aggregation_table`: token aggregations as rows, step aggregations as columns."""
    each = table["order"].eq("each").map({True: ", each model first", False: ""})
    shown = table.assign(token=table["token"] + each)
    grid = shown.set_index(["token", "step"])[column].unstack("step", sort=False)  # noqa: PD010
    return grid.loc[list(dict.fromkeys(shown["token"]))]


def chosen_on_half(cell: Cell, k: int = BUDGET, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """The aggregation with the best best-of-k on half of the tasks, reported on the other half.

    A row for each half that it was chosen on, with the aggregation fixed beforehand beside it on
    the same other half; `gain` is success minus pass@1 there, with its interval.
    """
    names = np.unique(cell.tasks)
    shuffled = np.random.default_rng(seed).permutation(names)
    halves = shuffled[: len(names) // 2], shuffled[len(names) // 2 :]
    rows = []
    for chosen_on, reported_on in (halves, halves[::-1]):
        inside, outside = (np.isin(cell.tasks, half) for half in (chosen_on, reported_on))
        scores = {
            tuple(how.values()): score_trajectory(cell.scored, **how) for how in aggregations()
        }
        success = {
            how: metrics.best_of_k(one[inside], cell.passed[inside], cell.tasks[inside], k)[
                1
            ].mean()
            for how, one in scores.items()
        }
        best = max(success, key=success.get)
        for kind, how in (("chosen", best), ("fixed", ("mean", "mean", "difference"))):
            found = metrics.selection(
                scores[how][outside],
                cell.passed[outside],
                cell.tasks[outside],
                [k],
                n_boot=n_boot,
                rng=seed,
            )
            gain = lead(found, found, k, "accuracy")
            rows.append(
                {
                    "kind": kind,
                    "aggregation": ", ".join(how[:2]) + (" (each)" if how[2] == "each" else ""),
                    "there": success[how],
                    "success": float(found.success.value[0]),
                    "pass@1": float(found.accuracy.value[0]),
                    "gain": gain.value,
                    "low": gain.low,
                    "high": gain.high,
                }
            )
    return pd.DataFrame(rows)


# ----------------------------------------------------------------------------------- references


def by_reference(cell: Cell) -> dict[str, NDArray[np.float64]]:
    """Progress advantage against the base, merges of base and policy, and earlier checkpoints."""
    found = {"base": score_trajectory(cell.scored)}
    earlier = {"earlier": "pre-training, earlier", "half": "RL, half-way"}
    names = earlier | {name: name for name in MERGES}
    return found | {
        shown: cell.table[name].to_numpy(float)
        for name, shown in names.items()
        if name in cell.table
    }


# -------------------------------------------------------------------------------- early warning


def step_scores(scored: Scored) -> dict[str, NDArray[np.float64]]:
    """What is known of every step once it is made, [s], by name; tokens are averaged."""
    return {
        PROGRESS: score_steps(scored),
        "policy log-prob": step_values(scored, scored.policy),
        "reference log-prob": step_values(scored, scored.reference),
        "self-certainty": confidence(scored),
    }


def early_table(cell: Cell, n_boot: int, seed: int) -> pd.DataFrame:
    """AUROC of the mean over the first `turn` steps, among episodes that then still go on.

    Columns selector, compared, turn, running, value, low, high; turns after which all that goes on
    ends alike are left out.
    """
    steps, trajectory = cell.scored.steps, cell.scored.trajectory
    place = np.arange(len(trajectory)) - np.repeat(np.cumsum(steps) - steps, steps)
    rows = []
    for turn in range(1, int(steps.max(initial=0))):
        running = steps > turn
        if len(np.unique(cell.passed[running])) < 2:
            continue
        for name, values in step_scores(cell.scored).items():
            early = np.where(place < turn, values, 0)
            scores = np.bincount(trajectory, weights=early, minlength=len(steps)) / turn
            for compared, strata in (("pooled", None), ("within task", cell.tasks[running])):
                found = metrics.auroc_band(
                    scores[running],
                    cell.passed[running],
                    cell.tasks[running],
                    strata=strata,
                    n_boot=n_boot,
                    rng=seed,
                )
                told = {"selector": name, "compared": compared, "turn": turn}
                rows.append(told | {"running": int(running.sum())} | found._asdict())
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------ transcripts


def transcript(cell: Cell, row: int, words: Mapping[int, str]) -> list[dict]:
    """The steps of one attempt: of each its words, and both scores of its tokens.

    words: of each token id.
    """
    one = cell.table.iloc[row]
    ends = np.cumsum(one["counts"])[:-1]
    columns = {
        "words": [words[int(token)] for token in one["tokens"]],
        "policy log-prob": np.asarray(one["policy"], float),
        PROGRESS: np.asarray(one["policy"], float) - np.asarray(one["reference"], float),
    }
    parts = {name: np.split(np.asarray(values), ends) for name, values in columns.items()}
    return [{name: part[i] for name, part in parts.items()} for i in range(len(ends) + 1)]


def two_attempts(cell: Cell) -> tuple[int, int]:
    """Rows of a success and of a failure of one task: of the task with most of both, the first."""
    both = cell.table.groupby("task")["passed"].agg(
        lambda passed: min(passed.sum(), (~passed).sum())
    )
    rows = cell.table[cell.table["task"] == both.idxmax()]
    return int(rows.index[rows["passed"]][0]), int(rows.index[~rows["passed"]][0])
