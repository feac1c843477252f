"""Two arms side by side: the tasks that both have, and those left out."""

import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib.metrics import Counts, SharpeningTax, sharpening_tax
from lib.outcomes.columns import CELL
from lib.outcomes.errors import OutcomesError, count, warn
from lib.outcomes.table import counts, kind


@dataclass(frozen=True)
class Alignment:
    """Two arms over the tasks that both have.

    base, post: tables of counts; row i of both is the same task.  dropped: columns task, arm, why.
    """

    base: pd.DataFrame
    post: pd.DataFrame
    dropped: pd.DataFrame


def align(base: pd.DataFrame, post: pd.DataFrame) -> Alignment:
    """Pair two arms of one benchmark by task name.

    base, post: tables of attempts or counts, each of one benchmark, pair and arm. Tasks without a
    scored attempt in one of the arms are left out, and listed in `dropped`.
    Raises OutcomesError for histograms, whose tasks have no names, and if no task is left.
    """
    return _aligned(counts(base), counts(post))


def _aligned(base, post) -> Alignment:
    """As `align`, for valid tables of counts."""
    arms = {"base": base, "post": post}
    for arm, table in arms.items():
        if kind(table) == "histogram":
            raise OutcomesError(
                f"the {arm} arm is a histogram, so its tasks have no names to pair them by. Use "
                "comparisons(), which resamples such arms independently."
            )
        if len(table[CELL].drop_duplicates()) > 1:
            raise OutcomesError(
                f"the {arm} arm: expected rows of one benchmark, pair and arm; got "
                f"{len(table[CELL].drop_duplicates())} of them. Select one, or use comparisons()."
            )
    scored = {arm: table[table["n"] > 0].set_index("task") for arm, table in arms.items()}
    dropped = []
    for arm, other in (("base", "post"), ("post", "base")):
        dropped += [
            (t, arm, "no scored attempt") for t in arms[arm].loc[arms[arm]["n"] == 0, "task"]
        ]
        dropped += [
            (t, other, "not attempted")
            for t in scored[arm].index.difference(arms[other]["task"], sort=False)
        ]
    # Sorted, so that all pairs on a benchmark have the same tasks in the same order.
    common = scored["base"].index.intersection(scored["post"].index).sort_values()
    if common.empty and set(arms["base"]["task"]) & set(arms["post"]["task"]):
        raise OutcomesError(
            "no task has a scored attempt in both arms. Tasks with a scored attempt: "
            f"{len(scored['base'])} in base, {len(scored['post'])} in post. Find out why attempts "
            "are missing, and repeat them."
        )
    if common.empty:
        names = {arm: ", ".join(map(repr, table["task"][:3])) for arm, table in arms.items()}
        raise OutcomesError(
            f"no task in common: base has {names['base']} ..., post has {names['post']} ... Name "
            "the tasks alike in both files."
        )
    return Alignment(
        *(scored[arm].loc[common].reset_index() for arm in ("base", "post")),
        pd.DataFrame(dropped, columns=["task", "arm", "why"]),
    )


@dataclass(frozen=True)
class Comparison:
    """A base and a post-trained arm of one pair on one benchmark, ready for `metrics`.

    base, post: counts, over the same tasks in the same order unless an arm is a histogram.
    dropped: tasks left out because the arms do not share them: columns task, arm, why.
    missing: by arm, the number of attempts without a score at the tasks compared.
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
        """`metrics.sharpening_tax` of this comparison, for budgets up to K.

        Pairs on one benchmark with the same tasks are resampled with the same draws, so that claims
        may pool them. An interval does not depend on what else is in the table.
        """
        shared = self.base.tasks is None
        rng = np.random.default_rng([seed, _number(self.benchmark)]) if shared else self.rng(seed)
        try:
            return sharpening_tax(self.base, self.post, K, n_boot=n_boot, rng=rng)
        except ValueError as error:
            raise OutcomesError(f"{self.label}, {error}") from error

    def rng(self, seed: int) -> np.random.Generator:
        """A generator for this comparison alone, seeded by the names of its benchmark and pair."""
        return np.random.default_rng([seed, _number(f"{self.benchmark}/{self.pair}")])

    @property
    def max_k(self) -> int:
        """The largest budget that every task allows: the fewest scored attempts in both arms."""
        return int(min(min(self.base.n), min(self.post.n)))


def _number(name: str) -> int:
    return zlib.crc32(name.encode())


def comparisons(table: pd.DataFrame, *, base: str = "base", post: str = "post") -> list[Comparison]:
    """The comparisons of a table, in order of appearance.

    base, post: names of the two arms. Issues an OutcomesWarning for each (benchmark, pair) with
    only one of them. Raises OutcomesError if none has both.
    """
    table = counts(table)
    _warn_of_similar(table)
    compared, alone = [], []
    for (benchmark, pair), rows in table.groupby(["benchmark", "pair"], sort=False):
        arms = [rows[rows["arm"] == arm] for arm in (base, post)]
        if all(len(arm) for arm in arms):
            compared.append(_comparison(benchmark, pair, arms, kind(table)))
        elif any(len(arm) for arm in arms):
            alone.append(f"{pair} on {benchmark} ({base if len(arms[0]) else post})")
    if not compared:
        cells = table[CELL].drop_duplicates().agg(" / ".join, axis=1)
        raise OutcomesError(
            f"no benchmark and pair has both arms {base!r} and {post!r}. Got (benchmark / pair / "
            f"arm): {', '.join(cells[:12])}{' ...' * (len(cells) > 12)}. Name benchmark and pair "
            'alike in both arms: read logs with `benchmark="NAME"` and `pair="NAME"`.'
        )
    if alone:
        warn(f"not compared, since the other arm is missing: {', '.join(alone)}.")
    return compared


def _warn_of_similar(table) -> None:
    """Warn of names that differ in case, in Unicode form or in ".0" alone: may be the same task."""
    for column in ("benchmark", "pair", "task"):
        names = table[column].dropna().unique()
        spellings = pd.Series(names, dtype=object).groupby(list(map(_folded, names)), sort=False)
        alike = [of.tolist() for _, of in spellings if len(of) > 1]
        if alike:
            warn(
                f"{count(len(alike), column)} with several spellings, such as "
                f"{' and '.join(map(repr, alike[0][:3]))}, which are compared as different names. "
                "If they mean the same, name them alike."
            )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().removesuffix(".0")


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
