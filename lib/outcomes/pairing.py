"""Two arms side by side: the tasks both have, and those left out."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib.metrics import Counts, SharpeningTax, sharpening_tax
from lib.outcomes.table import CELL, OutcomesError, counts, kind, warn


@dataclass(frozen=True)
class Alignment:
    """Two arms over the tasks both have: row i of `base` and of `post` is the same task.

    base, post: tables of counts, same tasks, same order.  dropped: columns task, arm, why.
    """

    base: pd.DataFrame
    post: pd.DataFrame
    dropped: pd.DataFrame


def align(base: pd.DataFrame, post: pd.DataFrame) -> Alignment:
    """Pair two arms of one benchmark by task name.

    base, post: tables of attempts or counts, one cell each. Tasks that one arm lacks, or has no
    scored attempt of, are left out and reported in `dropped`, never silently.
    Raises OutcomesError for histograms, whose tasks have no names, and where no task is left.
    """
    return _aligned(counts(base), counts(post))


def _aligned(base, post) -> Alignment:
    """`align` for tables of counts that are valid already."""
    arms = {"base": base, "post": post}
    for arm, table in arms.items():
        if kind(table) == "histogram":
            raise OutcomesError(
                f"the {arm} arm is a histogram: its rows name no task, and row i of one arm is not "
                "row i of the other. Use comparisons(), which resamples such arms independently."
            )
        if len(table[CELL].drop_duplicates()) > 1:
            raise OutcomesError(
                f"the {arm} arm holds {len(table[CELL].drop_duplicates())} cells; expected one "
                "benchmark, pair and arm. Select one, or use comparisons()."
            )
    scored = {arm: table[table["n"] > 0].set_index("task") for arm, table in arms.items()}
    dropped = []
    for arm, other in (("base", "post"), ("post", "base")):
        dropped += [(t, arm, "no scored attempt") for t in arms[arm].query("n == 0")["task"]]
        dropped += [
            (t, other, "not attempted")
            for t in scored[arm].index.difference(arms[other]["task"], sort=False)
        ]
    # In the order of their names, so that pairs on one benchmark have the same tasks in one order.
    common = scored["base"].index.intersection(scored["post"].index).sort_values()
    if common.empty and set(arms["base"]["task"]) & set(arms["post"]["task"]):
        raise OutcomesError(
            f"no task has a scored attempt in both arms: {len(scored['base'])} have one in base, "
            f"{len(scored['post'])} in post. Look at why attempts are missing, and run those anew."
        )
    if common.empty:
        shown = {arm: ", ".join(map(repr, table["task"][:3])) for arm, table in arms.items()}
        raise OutcomesError(
            f"no task in common with a scored attempt in both arms: base has {shown['base']} ..., "
            f"post has {shown['post']} ... Both files must name tasks alike."
        )
    return Alignment(
        *(scored[arm].loc[common].reset_index() for arm in ("base", "post")),
        pd.DataFrame(dropped, columns=["task", "arm", "why"]),
    )


@dataclass(frozen=True)
class Comparison:
    """A base and a post-trained arm of one pair on one benchmark, ready for `metrics`.

    base, post: counts, over the same tasks in the same order unless an arm is a histogram.
    dropped: tasks left out because the arms do not share them, with the reason.
    missing: attempts at the tasks compared that have no score, by arm.
    """

    benchmark: str
    pair: str
    base: Counts
    post: Counts
    dropped: pd.DataFrame
    missing: dict[str, int]

    @property
    def label(self) -> str:
        return self.pair if self.benchmark == "default" else f"{self.pair} on {self.benchmark}"

    def tax(self, K: int, *, n_boot: int = 1000, seed: int = 0) -> SharpeningTax:
        """`metrics.sharpening_tax` of this comparison.

        Pairs on one benchmark that name the same tasks share each draw of tasks, so that claims may
        pool them. An interval does not change with what else is in the table.
        """
        shared = self.base.tasks is None
        rng = np.random.default_rng([seed, _number(self.benchmark)]) if shared else self.rng(seed)
        try:
            return sharpening_tax(self.base, self.post, K, n_boot=n_boot, rng=rng)
        except ValueError as error:
            raise OutcomesError(f"{self.label}, {error}") from error

    def rng(self, seed: int) -> np.random.Generator:
        """A generator of this comparison's own, by the names of its benchmark and pair."""
        return np.random.default_rng([seed, _number(f"{self.benchmark}/{self.pair}")])

    @property
    def max_k(self) -> int:
        """The largest budget that every task allows in both arms."""
        return int(min(min(self.base.n), min(self.post.n)))


def _number(name: str) -> int:
    return zlib.crc32(name.encode())


def comparisons(table: pd.DataFrame, *, base: str = "base", post: str = "post") -> list[Comparison]:
    """All comparisons in a table, in order of appearance.

    Warns of a (benchmark, pair) that has one of the two arms only; where none has both,
    OutcomesError.
    """
    table = counts(table)
    found, alone = [], []
    for (benchmark, pair), rows in table.groupby(["benchmark", "pair"], sort=False):
        arms = [rows[rows["arm"] == arm] for arm in (base, post)]
        if all(len(arm) for arm in arms):
            found.append(_comparison(benchmark, pair, arms, kind(table)))
        elif any(len(arm) for arm in arms):
            alone.append(f"{pair} on {benchmark} ({base if len(arms[0]) else post})")
    if not found:
        cells = table[CELL].drop_duplicates().agg(" / ".join, axis=1)
        raise OutcomesError(
            f"no benchmark and pair has both arms {base!r} and {post!r}. Cells here (benchmark "
            f"/ pair / arm): {', '.join(cells[:12])}{' ...' * (len(cells) > 12)}. Name them "
            'alike in both arms: when logs are read, benchmark="NAME" (on the command line: '
            "--choose benchmark=NAME), and likewise for pair."
        )
    if alone:
        warn(f"not compared, since the other arm is not there: {', '.join(alone)}.")
    return found


LARGEST_DEFAULT_BUDGET = 1024
"""Larger budgets are measured only on request: memory grows with the budget."""


def default_budget(comparisons: Sequence[Comparison]) -> int:
    """The largest budget that every task of all comparisons allows, at most 1024.

    Raises OutcomesError where there are no comparisons.
    """
    if not comparisons:
        raise OutcomesError("Expected at least one comparison, got none.")
    return min(LARGEST_DEFAULT_BUDGET, *(comparison.max_k for comparison in comparisons))


def _comparison(benchmark, pair, arms, shape) -> Comparison:
    dropped = pd.DataFrame(columns=["task", "arm", "why"])
    if shape == "histogram":
        cells = [Counts(*(arm[name].to_numpy() for name in ("c", "n", "tasks"))) for arm in arms]
    else:
        aligned = _aligned(*arms)
        arms, dropped = (aligned.base, aligned.post), aligned.dropped
        cells = [
            Counts(arm["c"].to_numpy(), arm["n"].to_numpy(), names=arm["task"].tolist())
            for arm in arms
        ]
    missing = {
        name: int(arm["missing"].sum()) for name, arm in zip(("base", "post"), arms, strict=True)
    }
    return Comparison(benchmark, pair, *cells, dropped, missing)
