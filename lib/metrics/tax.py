"""Scalability, the Sharpening Tax and the crossover, with intervals from a task bootstrap."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.bootstrap import (
    FEWEST_TASKS,
    Band,
    band,
    checked_resamples,
    outward_interval,
    row_weights,
)
from lib.metrics.estimators import (
    Counts,
    checked_budget,
    checked_counts,
    distinct_rows,
    pass_at_k,
    pass_hat_k,
)
from lib.metrics.validation import numbers, whole_numbers

MARGIN = 1e-12
"""Values that differ by no more than this are equal: rounding must not decide a comparison."""


class Scalability(NamedTuple):
    """What extra attempts gain: `A` in units of budget, `S` as a share of the room above pass@1."""

    A: NDArray[np.float64]
    S: NDArray[np.float64]


def scalability(curve: ArrayLike, K: ArrayLike) -> Scalability:
    """Raw and calibrated area scalability of a coverage curve.

    A(K) = sum_{k<K} [pass@K - pass@k] = K (pass@K - mean_{k<=K} pass@k)
    S(K) = A(K) / [(K - 1) (1 - pass@1)]

    curve: [..., budgets], pass@k for k = 1, 2, ...; K: one budget or [Ks], at most len(curve).
    Returns A and S, [...] or [..., Ks]. S is NaN where it is 0/0: if pass@1 = 1, which leaves
    nothing to gain, and for K = 1, which allows no second attempt.

    >>> A, S = scalability([0.5, 0.75, 0.875], 3)   # a fair coin as the only task
    >>> float(A), float(S)
    (0.5, 0.5)
    """
    curve, K = np.atleast_1d(numbers(curve, "curve")), whole_numbers(K, "budget K")
    if K.size == 0 or K.ndim > 1 or K.min() < 1 or K.max() > curve.shape[-1]:
        raise ValueError(
            f"K = {K.tolist()}: expected budgets from 1 to {curve.shape[-1]}, the curve's length."
        )
    A = K * curve[..., K - 1] - np.cumsum(curve, axis=-1)[..., K - 1]
    A = np.where(np.abs(A) < MARGIN * K, 0.0, A)  # rounding must not decide a sign
    room = 1 - curve[..., 0]
    room = (K - 1) * np.where(room > MARGIN, room, np.nan)[(..., *(None,) * K.ndim)]
    return Scalability(A, np.divide(A, room, out=np.full(np.shape(A), np.nan), where=room > 0))


def crossover(base: ArrayLike, post: ArrayLike):
    """The smallest budget from which the base curve stays above the post-trained one.

    base, post: [..., K] coverage for k = 1..K. Returns [...] floats: k*, or inf if there is none.

    >>> float(crossover([0.1, 0.4, 0.6], [0.3, 0.4, 0.5])), float(crossover([0.1], [0.3]))
    (3.0, inf)
    """
    base, post = np.atleast_1d(numbers(base, "base")), np.atleast_1d(numbers(post, "post"))
    if base.shape[-1] != post.shape[-1] or np.isnan(base).any() or np.isnan(post).any():
        raise ValueError(
            f"base {base.shape} and post {post.shape}: expected coverage at the same budgets, "
            "[..., K], and no NaN"
        )
    above = base - post > MARGIN
    K = above.shape[-1]
    stays = np.where(above.all(-1), K, np.argmin(above[..., ::-1], axis=-1))
    return np.where(stays > 0, K - stays + 1.0, np.inf)


class Crossover(NamedTuple):
    """The budget from which the base leads, inf for none, and the share of resamples with one."""

    value: float
    low: float
    high: float
    probability: float


@dataclass(frozen=True)
class SharpeningTax:
    """The results of one comparison; every `Band` is over budgets k = 1..K.

    tax_A, tax_S: X_base - X_post for X in {A, S}; positive if post-training paid a tax.
    gap: pass@k_base - pass@k_post, the coverage the post-trained arm lacks.
    paired: whether both arms were resampled with the same draw of tasks.
    polarisation: the chance that k rollouts of a task all fail or all pass, 1 - pass@k + pass^k,
        post minus base; at k = n, from the shares of tasks that never or always succeeded.
    samples: replicates of tax_A, tax_S, gap, polarisation [n_boot, K] and crossover [n_boot], for
        claims that pool comparisons.
    notes: what a reader must know, such as why a value is undefined, or unpaired resampling.
    """

    K: int
    paired: bool
    coverage_base: Band
    coverage_post: Band
    consistency_base: Band
    consistency_post: Band
    A_base: Band
    A_post: Band
    S_base: Band
    S_post: Band
    tax_A: Band
    tax_S: Band
    gap: Band
    crossover: Crossover
    polarisation: Band
    samples: dict[str, NDArray[np.float64]]
    notes: tuple[str, ...]


MOST_REPLICATES = 2 * 10**7
"""The most budgets times resamples: about ten arrays of floats of that size are held, 1.6 GB."""


def sharpening_tax(
    base: Counts,
    post: Counts,
    K: int,
    *,
    n_boot: int = 1000,
    rng: int | np.random.Generator = 0,
) -> SharpeningTax:
    """Tax_X(k) = X_base(k) - X_post(k), coverage gap and crossover for all k <= K, with intervals.

    base, post: counts of both arms (`Counts`, or tuples (c, n)) over the *same tasks in the same
    order*; `outcomes.comparisons` aligns them.

    95 % percentile intervals come from a paired task bootstrap: each draw of tasks, with
    replacement, serves both arms and every budget, and depends on the generator and the number of
    tasks alone. If an arm is a histogram, the arms are resampled independently, the rows of a
    histogram as often as their tasks would be (a multinomial draw); `paired` and `notes` say so.
    Intervals are NaN for n_boot = 0 and for fewer than ten tasks.

    Raises ValueError if K exceeds the rollouts of a task, if the arms differ in the number or the
    names of their tasks, for 1 to 39 resamples, and for more than `MOST_REPLICATES`.
    """
    rng = np.random.default_rng(rng)
    base, post = Counts(*base), Counts(*post)
    paired = base.tasks is None and post.tasks is None
    if paired and np.shape(base.c) != np.shape(post.c):
        raise ValueError(
            f"{np.size(base.c)} tasks in the base and {np.size(post.c)} in the post-trained arm: "
            "expected the same tasks in the same order. Pair the arms with lib.outcomes.align."
        )
    named = paired and base.names is not None and post.names is not None
    if named and list(base.names) != list(post.names):
        raise ValueError(
            "the arms name their tasks differently, or in another order: expected the same names. "
            "Pair the arms with lib.outcomes.align."
        )
    n_boot = checked_resamples(n_boot)
    K = _checked_largest(K, base, post)
    if (1 + n_boot) * K > MOST_REPLICATES:
        raise ValueError(
            f"K = {K} with n_boot = {n_boot}: intervals would take {(1 + n_boot) * K * 1e-7:.0f} "
            f"GB. Choose a K up to {MOST_REPLICATES // (1 + n_boot)}, or n_boot = 0."
        )
    few = min(_tasks_of(base), _tasks_of(post)) < FEWEST_TASKS
    n_boot = 0 if few else n_boot

    both = _resampled(rng, n_boot, base, post) if paired else None
    curves = {}
    for arm, cell in enumerate((base, post)):
        rows, weights = both or _resampled(rng, n_boot, cell)
        c, n = rows[2 * arm : 2 * arm + 2] if paired else rows
        total = weights[0].sum()
        for name, estimator in (("coverage", pass_at_k), ("consistency", pass_hat_k)):
            curves[name, arm] = weights @ estimator(c, n, np.arange(1, K + 1)) / total

    coverage, budgets = (curves["coverage", 0], curves["coverage", 1]), np.arange(1, K + 1)
    (A_base, S_base), (A_post, S_post) = (scalability(curve, budgets) for curve in coverage)
    taxes = {"tax_A": A_base - A_post, "tax_S": S_base - S_post, "gap": coverage[0] - coverage[1]}
    alike = [1 - curves["coverage", arm] + curves["consistency", arm] for arm in (0, 1)]
    taxes["polarisation"] = alike[1] - alike[0]
    crossings = crossover(*coverage)
    return SharpeningTax(
        K=K,
        paired=paired,
        coverage_base=band(coverage[0]),
        coverage_post=band(coverage[1]),
        consistency_base=band(curves["consistency", 0]),
        consistency_post=band(curves["consistency", 1]),
        A_base=band(A_base),
        A_post=band(A_post),
        S_base=band(S_base),
        S_post=band(S_post),
        **{name: band(replicates) for name, replicates in taxes.items()},
        crossover=_crossover(crossings),
        samples={name: replicates[1:] for name, replicates in taxes.items()}
        | {"crossover": crossings[1:]},
        notes=_notes(paired, few, S_base[:, -1], S_post[:, -1], K),
    )


def _resampled(rng, n_boot, *cells):
    """The distinct rows of cells, and how many tasks of each every resample holds."""
    rows, tasks, row_of_task = distinct_rows(*cells)
    named = cells[0].tasks is None
    return rows, row_weights(tasks, n_boot, rng, row_of_task if named else None)


def _crossover(replicates) -> Crossover:
    value, samples = replicates[0], replicates[1:]
    probability = np.mean(np.isfinite(samples)) if len(samples) else np.nan
    return Crossover(float(value), *outward_interval(samples), float(probability))


def _tasks_of(cell) -> int:
    return int(np.sum(cell.tasks)) if cell.tasks is not None else np.size(cell.c)


def _checked_largest(K, base, post) -> int:
    """K as an int. Raises ValueError naming the arm that does not allow it."""
    if np.ndim(K):
        raise ValueError(f"K = {K}: expected a single budget; the result holds all k up to it.")
    for arm, cell in (("base", base), ("post-trained", post)):
        c, n = checked_counts(cell.c, cell.n, cell.names)
        try:
            checked_budget(K, c, n, cell.names)
        except ValueError as error:
            most = min(np.min(base.n, initial=2**53), np.min(post.n, initial=2**53))
            raise ValueError(f"{arm} arm: {error} Both arms allow K <= {most}.") from error
    return int(K)


def _notes(paired, few, S_base, S_post, K) -> tuple[str, ...]:
    notes = []
    if few:
        notes.append(f"fewer than {FEWEST_TASKS} tasks: no intervals")
    if not paired:
        notes.append(
            "an arm is a histogram, whose tasks cannot be paired: the arms were resampled apart, "
            "and so were pairs that share their tasks"
        )
    if K == 1:
        notes.append("a budget of 1 allows no second attempt: S and Tax_S are NaN")
    for arm, S in (("base", S_base), ("post-trained", S_post)):
        if np.isnan(S[0]) and K > 1:
            notes.append(
                f"pass@1 of the {arm} arm is 1, nothing is left to gain: its S, and Tax_S, are NaN"
            )
        elif K > 1 and np.isnan(S).any():
            notes.append(
                f"S of the {arm} arm is undefined (pass@1 = 1) in {np.isnan(S[1:]).sum()} of "
                f"{len(S) - 1} resamples, which its intervals leave out"
            )
    return tuple(notes)
