"""Progress advantage: a score for every step from one forward pass of a policy and a reference.

A~*(s, a) = beta log [pi(a|s) / pi_ref(a|s)], equation and protocol of "Neglected Free Lunch from
Post-training: Progress Advantage for LLM Agents" (arXiv 2606.26080), and what it is good for: to
select attempts and to find the step that lost one. `score` does for files of attempts what
`python -m lib score` does; `token_scores` takes models and tokenised trajectories.

Two steps of two tokens, read by a policy and by its reference, both at temperature 1:

>>> import numpy as np
>>> from lib import advantage
>>> scored = advantage.Scored(
...     keys=(("webshop", "a pair", "post", "t1", 0),), passed=(True,), steps=np.array([2]),
...     messages=np.array([1, 3]), missing=np.array(["", ""]), counts=np.array([2, 2]),
...     tokens=np.array([5, 6, 7, 8]), policy=np.log([0.9, 0.8, 0.5, 0.5]),
...     policy_top=np.full(4, -3.0), reference=np.log([0.6, 0.4, 0.5, 0.5]))
>>> advantage.score_steps(scored, token="sum").round(3)  # log 1.5 + log 2, and nothing gained
array([1.099, 0.   ])
>>> advantage.score_trajectory(scored, token="sum", step="min")
array([0.])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["attribution", "references", "reward_models", "selection", "store"],
    submod_attrs={
        "aggregation": [
            "MissingReference",
            "Order",
            "StepAggregation",
            "TokenAggregation",
            "score_steps",
            "score_trajectory",
            "step_values",
            "trajectory_values",
        ],
        "baselines": ["BASELINES", "at_random", "confidence", "oracle"],
        "forward_pass": ["token_scores"],
        "scores": ["Scored"],
        "scoring": ["score"],
        "tokenize": [
            "Steps",
            "check_known",
            "check_same_tokens",
            "read_stored",
            "read_text",
            "read_transcript",
            "transcripts_of",
        ],
    },
)
