"""One pass over tokenised trajectories by the policy, and one by its reference."""

from collections.abc import Sequence

import numpy as np

from lib.advantage.scores import Scored, flat
from lib.advantage.tokenize import Steps
from lib.generation.logprobs import TOKENS_AT_ONCE, TOP_K, TokenScores, score_tokens


def token_scores(
    policy,
    reference,
    trajectories: Sequence[Steps],
    *,
    top_k: int = TOP_K,
    tokens_at_once: int = TOKENS_AT_ONCE,
    progress: bool | None = False,
) -> Scored:
    """Log-probs at temperature 1 of every action token; each model reads a trajectory once.

    Trajectories of similar length are read together.

    policy, reference : causal models of transformers that share their tokens
        (`check_same_tokens`). A reference of None leaves the progress advantage undefined.
    top_k : likeliest tokens whose mean log-prob confidence is made of.
    tokens_at_once : of a forward pass; fewer take less memory.
    progress : a bar; None shows it on a terminal only.
    """
    readings = [steps.reading for steps in trajectories]
    options = {"tokens_at_once": tokens_at_once, "progress": progress}
    ours = score_tokens(policy, readings, top_k=top_k, **options)
    theirs = score_tokens(reference, readings, top_k=1, **options) if reference else None
    return join(trajectories, ours, theirs)


def join(
    trajectories: Sequence[Steps],
    policy: Sequence[TokenScores],
    reference: Sequence[TokenScores] | None,
) -> Scored:
    """The arrays of trajectories and of what both models make of their tokens."""
    return Scored(
        keys=tuple(steps.key for steps in trajectories),
        passed=tuple(steps.passed for steps in trajectories),
        steps=np.array([len(steps.messages) for steps in trajectories], dtype=np.int64),
        messages=flat((steps.messages for steps in trajectories), np.int64),
        missing=np.array([why for steps in trajectories for why in steps.missing], dtype="U16"),
        counts=flat((steps.counts for steps in trajectories), np.int64),
        tokens=flat((steps.reading.tokens for steps in trajectories), np.int64),
        policy=flat((scores.log_probs for scores in policy), np.float64),
        policy_top=flat((scores.top for scores in policy), np.float64),
        reference=None
        if reference is None
        else flat((scores.log_probs for scores in reference), np.float64),
    )
