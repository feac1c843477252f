"""Progress advantage: a score for every step from one forward pass of a policy and a reference.

    steps = [read_stored(rollout, tokenizer, context=4096) for rollout in rollouts]
    scored = score(policy, reference, steps)
    score_steps(scored, token="sum")                    # [steps], NaN where a step is missing
    score_trajectory(scored, token="mean", step="min")  # [trajectories]

A~*(s, a) = beta log [pi(a|s) / pi_ref(a|s)], equation and protocol of "Neglected Free Lunch from
Post-training: Progress Advantage for LLM Agents" (arXiv 2606.26080). Both models are read at
temperature 1 by the same pass; `python -m lib score` does it for files of rollouts.
"""

from lib.advantage.aggregation import (
    MissingReference,
    Order,
    StepAggregation,
    TokenAggregation,
    score_steps,
    score_trajectory,
    step_values,
    trajectory_values,
)
from lib.advantage.baselines import BASELINES, at_random, confidence, oracle
from lib.advantage.scores import Scored, score
from lib.advantage.tokenize import (
    Steps,
    check_known,
    check_same_tokens,
    read_stored,
    read_text,
    read_transcript,
    transcripts_of,
)

__all__ = [
    "BASELINES",
    "MissingReference",
    "Order",
    "Scored",
    "StepAggregation",
    "Steps",
    "TokenAggregation",
    "at_random",
    "check_known",
    "check_same_tokens",
    "confidence",
    "oracle",
    "read_stored",
    "read_text",
    "read_transcript",
    "score",
    "score_steps",
    "score_trajectory",
    "step_values",
    "trajectory_values",
    "transcripts_of",
]
