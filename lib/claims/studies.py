"""What claims are made from: measured comparisons, and how they agree in rank."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lib import located, metrics, outcomes
from lib.claims import paper_tables
from lib.metrics import bootstrap

FEWEST_PAIRS = 8
"""With fewer model pairs, resampling pairs gives no trustworthy interval."""

ESTIMATION_ROLLOUTS = 8
"""Rollouts a task from which the tax is predicted."""


class Study(NamedTuple):
    """A comparison and its Sharpening Tax."""

    comparison: outcomes.Comparison
    tax: metrics.SharpeningTax


def load(
    source: str, *, pairs: Sequence[str] | None = None, benchmarks: Sequence[str] | None = None
) -> pd.DataFrame:
    """A table of outcomes by its source: "published", or a path as `outcomes.read` takes it.

    A relative path that does not exist here is looked for from the root of the checkout.
    pairs, benchmarks: keep only these, in this order; None keeps all. Raises OutcomesError for a
    name that the table does not have.
    """
    if source == "published":
        table = outcomes.validate(paper_tables.rollout_counts(), source="published counts")
    else:
        table = outcomes.read(located(source))
    return only(table, source, pairs=pairs, benchmarks=benchmarks)


def only(
    table: pd.DataFrame,
    source: str,
    *,
    pairs: Sequence[str] | None = None,
    benchmarks: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The rows of some pairs and benchmarks, in the order in which those are named.

    source: where the table is from, for errors.  pairs, benchmarks: None keeps all. Raises
    OutcomesError for a name that the table does not have.
    """
    for column, names in (("pair", pairs), ("benchmark", benchmarks)):
        if names is None:
            continue
        if isinstance(names, str):
            raise outcomes.OutcomesError(f"{column}s is {names!r}: expected a list, [{names!r}]")
        known = list(dict.fromkeys(table[column]))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise outcomes.OutcomesError(
                f"{column}s {unknown}: not in {source}, which has {', '.join(known)}."
            )
        table = table[table[column].isin(names)]
        place = {name: i for i, name in enumerate(names)}
        table = table.sort_values(column, key=lambda values: values.map(place), kind="stable")
    return table.reset_index(drop=True)


def study(
    table: pd.DataFrame, *, max_k: int | None = None, n_boot: int = 1000, seed: int = 0
) -> list[Study]:
    """Measure every comparison of a table.

    max_k: the largest budget K; None takes `outcomes.default_budget` of all comparisons.
    n_boot: resamples of tasks behind each interval; 0 gives none.
    """
    comparisons = outcomes.comparisons(table)
    K = outcomes.default_budget(comparisons) if max_k is None else max_k
    return [
        Study(comparison, comparison.tax(K, n_boot=n_boot, seed=seed)) for comparison in comparisons
    ]


def split_taxes(
    studies: Sequence[Study],
    budgets: Sequence[int] = (8, 32, 64),
    *,
    n_est: int = ESTIMATION_ROLLOUTS,
    n_splits: int = 100,
    seed: int = 0,
) -> list[metrics.SplitTaxes]:
    """`metrics.few_rollout_taxes` of every comparison: Tax_S(8) of n_est rollouts, and the rest."""
    return [
        metrics.few_rollout_taxes(
            comparison.base,
            comparison.post,
            budgets,
            n_est=n_est,
            k_est=ESTIMATION_ROLLOUTS,
            n_splits=n_splits,
            rng=comparison.rng(seed),
        )
        for comparison, _ in studies
    ]


class Agreement(NamedTuple):
    """How well Tax_S(8) of few rollouts ranks comparisons as an outcome of the other rollouts does.

    rho: Spearman's, mean over splits.  sd: its standard deviation over splits.  partial: rho with
    the gap in pass@1 partialled out, which is a factor of both sides.  low, high: 95 % interval
    from resampled pairs, NaN with fewer than eight pairs.  least, most: rho with one pair left out.
    """

    rho: float
    sd: float
    partial: float
    low: float
    high: float
    least: float
    most: float


def agreement(
    studies: Sequence[Study],
    splits: Sequence[metrics.SplitTaxes],
    outcome: ArrayLike,
    *,
    seed: int = 0,
) -> Agreement:
    """Rank agreement of the splits' `tax_est` with an outcome, [comparisons, splits].

    Splits in which some Tax_S is undefined are left out.
    """
    x = np.array([split.tax_est for split in splits])
    y = np.asarray(outcome)
    z = np.array([split.accuracy_gap for split in splits])
    defined = ~np.isnan(x + y).any(axis=0)
    x, y, z = x[:, defined], y[:, defined], z[:, defined]
    pairs = np.array([comparison.pair for comparison, _ in studies])
    names = list(dict.fromkeys(pairs))
    without_one = [pairs != name for name in names if np.sum(pairs != name) >= 3]
    low = high = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is undefined is NaN in the result
        rhos = metrics.spearman(x, y)
        left_out = [np.mean(metrics.spearman(x[kept], y[kept])) for kept in without_one] or [np.nan]
        partial = np.asarray(metrics.partial_spearman(x, y, z))
        if len(names) >= FEWEST_PAIRS:
            low, high = _pair_interval(x, y, pairs, np.random.default_rng(seed))
    partial = partial[~np.isnan(partial)].mean() if (~np.isnan(partial)).any() else np.nan
    return Agreement(
        *map(float, (np.mean(rhos), np.std(rhos), partial, low, high, min(left_out), max(left_out)))
    )


def _pair_interval(x, y, pairs, rng, n_boot=1000) -> tuple[float, float]:
    """Resample pairs, all benchmarks of a pair together, and draw a split each time.

    A resample of a single pair may have no rank order; it is left out.
    """
    rhos = []
    for rows in bootstrap.cluster_resamples(pairs, n_boot, rng):
        split = rng.integers(x.shape[1])
        rhos.append(metrics.spearman(x[rows, split], y[rows, split]))
    return bootstrap.percentile_interval(rhos)
