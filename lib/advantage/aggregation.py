"""From token scores to scores of steps and trajectories, by every aggregation of the paper.

The progress advantage of a step is beta log [pi(a|s) / pi_ref(a|s)] (arXiv 2606.26080). For the
optimum of KL-regularised RL it is the soft advantage Q* - V* where token scores are *summed*;
other aggregations are heuristics that weigh long and short steps alike.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.advantage.scores import Scored

TokenAggregation = Literal["mean", "sum", "last", "min", "max", "position"]
StepAggregation = Literal["mean", "sum", "last", "min", "max", "bottom10"]
Order = Literal["difference", "each"]


class MissingReference(ValueError):
    """The progress advantage needs a reference, and none was run."""


def score_steps(
    scored: Scored,
    *,
    token: TokenAggregation = "mean",
    order: Order = "difference",
    beta: float = 1.0,
) -> NDArray[np.float64]:
    """The progress advantage of every step, [s], in nats times beta; NaN where it is missing.

    token : how the tokens t = 1..n of a step are aggregated: mean, sum, last, min, max, or
        "position", sum_t w_t x_t with w_t = t / (1 + 2 + ... + n) = 2 t / (n (n + 1)), so that
        later tokens weigh more.
    order : "difference" takes log pi - log pi_ref of each token first. "each" aggregates the
        tokens under each model and then subtracts, as the paper's release does; it differs for min
        and max alone.
    beta : weight of the KL in training; it scales all scores.

    Raises MissingReference if no reference was run: log pi alone is another score.
    """
    if scored.reference is None:
        raise MissingReference(
            "the progress advantage is a ratio to a reference, and none was run: score with a "
            "`reference`; the policy's log-prob alone is a baseline, and named so"
        )
    if order == "difference":
        scores = step_values(scored, scored.policy - scored.reference, token)
    elif order == "each":
        ours, theirs = (step_values(scored, x, token) for x in (scored.policy, scored.reference))
        scores = ours - theirs
    else:
        raise ValueError(f"order is {order!r}: expected one of {', '.join(get_args(Order))}")
    return beta * scores


def score_trajectory(
    scored: Scored,
    *,
    token: TokenAggregation = "mean",
    step: StepAggregation = "mean",
    order: Order = "difference",
    beta: float = 1.0,
) -> NDArray[np.float64]:
    """The progress advantage of every trajectory, [t]; see `score_steps` and `trajectory_values`.

    The paper's release chose (max, min) with order "each" for Gemma4-4B, and (min, last) for
    Qwen3.5-9B.
    """
    steps = score_steps(scored, token=token, order=order, beta=beta)
    return trajectory_values(scored, steps, step)


def step_values(
    scored: Scored, values: ArrayLike, token: TokenAggregation = "mean"
) -> NDArray[np.float64]:
    """Token values [a] as a value for each step, [s]; NaN where the step is missing."""
    if token not in get_args(TokenAggregation):
        expected = ", ".join(get_args(TokenAggregation))
        raise ValueError(f"token is {token!r}: expected one of {expected}")
    return _aggregate(np.asarray(values, float), scored.counts, token)


def trajectory_values(
    scored: Scored, values: ArrayLike, step: StepAggregation = "mean"
) -> NDArray[np.float64]:
    """Step values [s] as a value for each trajectory, [t].

    step : mean, sum, last, min, max, or "bottom10", the mean of the lowest tenth of the steps,
        rounded up. A missing step is never 0: mean, min, max and bottom10 are of the other steps,
        sum is NaN, last is NaN where the last one is missing, and all are NaN where no step has a
        score. `Scored.steps_missing` counts them.
    """
    if step not in get_args(StepAggregation):
        expected = ", ".join(get_args(StepAggregation))
        raise ValueError(f"step is {step!r}: expected one of {expected}")
    values = np.asarray(values, float)
    if values.shape != scored.counts.shape:
        raise ValueError(
            f"values has the shape {values.shape}: expected {scored.counts.shape}, a value for "
            "each step"
        )
    if step in ("sum", "last"):
        return _aggregate(values, scored.steps, step)
    there = ~np.isnan(values)
    counts = np.bincount(scored.trajectory[there], minlength=len(scored))
    return _aggregate(values[there], counts, step)


def _aggregate(values: NDArray, counts: NDArray, how: str) -> NDArray[np.float64]:
    """A number for each group of consecutive `values`, `counts[i]` long; NaN for an empty group."""
    result = np.full(len(counts), np.nan)
    full = counts > 0
    sizes = counts[full]
    if not len(sizes):
        return result
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(values)) - np.repeat(starts, sizes)
    if how == "sum":
        aggregated = np.add.reduceat(values, starts)
    elif how == "mean":
        aggregated = np.add.reduceat(values, starts) / sizes
    elif how == "last":
        aggregated = values[starts + sizes - 1]
    elif how in ("min", "max"):
        aggregated = {"min": np.minimum, "max": np.maximum}[how].reduceat(values, starts)
    elif how == "position":
        aggregated = np.add.reduceat(values * (place + 1), starts) / (sizes * (sizes + 1) / 2)
    else:  # bottom10
        lowest = values[np.lexsort((values, np.repeat(np.arange(len(sizes)), sizes)))]
        taken = -(-sizes // 10)
        lowest = np.where(place < np.repeat(taken, sizes), lowest, 0)
        aggregated = np.add.reduceat(lowest, starts) / taken
    result[full] = aggregated
    return result
