"""Whether the tax of few rollouts predicts that of many: a comparison's rollouts are split."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.metrics.estimators import (
    Counts,
    checked_budget,
    checked_counts,
    checked_tasks,
    pass_at_k,
    pass_hat_k,
)
from lib.metrics.tax import scalability
from lib.metrics.validation import one_each, one_number


def split_rollouts(
    c: ArrayLike, n: ArrayLike, n_est: int, rng: np.random.Generator, n_splits: int = 1
):
    """Deal each task's rollouts at random into n_est for estimation and the rest for validation.

    Rollouts of a task are exchangeable, so the successes dealt to estimation are
    Hypergeometric(c, n - c, n_est). c, n: [tasks]. Returns (c_est, c_val), each [n_splits, tasks].
    """
    c, n = checked_counts(c, n, None)
    one_each("tasks", c=c, n=n)
    if not len(c):
        raise ValueError("no tasks: there are no rollouts to split.")
    n_est, n_splits = one_number(n_est, "n_est"), one_number(n_splits, "n_splits")
    if np.any(n <= n_est):
        raise ValueError(
            f"n_est = {n_est}: expected at least 1 and fewer than {n.min()}, the fewest rollouts "
            "of a task, to leave some for validation."
        )
    c_est = rng.hypergeometric(c, n - c, n_est, size=(n_splits, len(c)))
    return c_est, c - c_est


class SplitTaxes(NamedTuple):
    """One comparison under repeated splits, for `few_rollout_taxes`."""

    tax_est: NDArray[np.float64]  # [n_splits] Tax_S(k_est) of the estimation rollouts
    tax_val: NDArray[np.float64]  # [n_splits, budgets] Tax_S of the validation rollouts
    consistency_gap: NDArray[np.float64]  # [n_splits, budgets] pass^k post - base, validation
    accuracy_gap: NDArray[np.float64]  # [n_splits] pass@1 post - base, validation


def few_rollout_taxes(
    base: Counts,
    post: Counts,
    budgets: Sequence[int],
    *,
    n_est: int = 8,
    k_est: int = 8,
    n_splits: int = 100,
    rng: int | np.random.Generator = 0,
) -> SplitTaxes:
    """Tax_S(k_est) from n_est rollouts per task, and the tax and gaps of the remaining rollouts.

    base, post: counts of both arms; budgets: the ks for the remaining (validation) rollouts. Each
    of n_splits splits is random. NaN where S is undefined.
    """
    rng = np.random.default_rng(rng)
    k_est = one_number(k_est, "k_est")
    S_est, S_val, hat = [], [], []
    for cell in (base, post):
        c, n, tasks, names = Counts(*cell)
        c, n = checked_counts(c, n, names)
        if tasks is not None:
            tasks = checked_tasks(tasks, np.size(c))
            c, n = np.repeat(c, tasks), np.repeat(n, tasks)
        c_est, c_val = split_rollouts(c, n, n_est, rng, n_splits)
        budgets = np.atleast_1d(checked_budget(budgets, c, n - n_est, None))
        S_est.append(
            scalability(_split_curves(pass_at_k, c_est, np.full_like(n, n_est), k_est), k_est).S
        )
        S_val.append(_split_curves(pass_at_k, c_val, n - n_est, budgets.max()))
        hat.append(_split_curves(pass_hat_k, c_val, n - n_est, budgets.max()))
    S = [scalability(curve, budgets).S for curve in S_val]
    return SplitTaxes(
        tax_est=S_est[0] - S_est[1],
        tax_val=S[0] - S[1],
        consistency_gap=(hat[1] - hat[0])[:, budgets - 1],
        accuracy_gap=hat[1][:, 0] - hat[0][:, 0],
    )


def _split_curves(estimator, c, n, K):
    """Task-mean curves [n_splits, K] of counts c [n_splits, tasks] with rollouts n [tasks]."""
    # Each (c, n) becomes a single number, since sorting numbers is far cheaper than sorting rows.
    base = int(n.max()) + 1
    keys, inverse = np.unique(c + base * n, return_inverse=True)
    split = len(keys) * np.arange(len(c))[:, None]
    weights = np.bincount((split + inverse).ravel(), minlength=len(c) * len(keys))
    curves = estimator(keys % base, keys // base, np.arange(1, K + 1))
    return weights.reshape(len(c), -1) @ curves / c.shape[1]
