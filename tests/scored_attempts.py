"""Scored attempts, made up so that what they come to is known."""

import numpy as np
import pandas as pd

from lib.lab import plan, scores

POLICY = plan.Run(environment="sokoban", algorithm="grpo", method="fixed", seed=0)


def table(tasks=12, attempts=4, *, right=True):
    """Every other attempt succeeds; three steps of two tokens, in half of successes two.

    The reference likes tokens of failures more than the policy does, of successes less; right=False
    turns this round. The decisive step of a failure is its second, where the difference is largest.
    """
    rows = []
    for task in range(tasks):
        for attempt in range(attempts):
            passed = attempt % 2 == 0
            steps = 3 if attempt % 4 else 2
            gain = np.tile([0.2, 0.2], steps) if passed else np.repeat([0.1, -0.9, -0.1], 2)
            rows.append(
                {
                    "task": f"t{task:02}",
                    "attempt": attempt,
                    "passed": passed,
                    "turns": steps,
                    "missing": 0,
                    "counts": np.full(steps, 2, dtype=np.int16),
                    "tokens": np.arange(2 * steps, dtype=np.int16),
                    "policy": np.full(2 * steps, -1.0, dtype=np.float32),
                    "policy_top": np.full(2 * steps, -3.0, dtype=np.float32),
                    "reference": (-1.0 - gain * (1 if right else -1)).astype(np.float32),
                    "decisive": pd.NA if passed else 1,
                    "reward model": float(passed),
                    **dict.fromkeys(("earlier", "half"), 0.0),
                    **dict.fromkeys(scores.MERGES, 0.0),
                    "labels": 100,
                    "by": POLICY.name,
                    **POLICY.settings(),
                }
            )
    made = pd.DataFrame(rows)
    return made.astype({"passed": "boolean", "decisive": "Int8"})


def setting(**options):
    return scores.settings(table(**options))[0]
