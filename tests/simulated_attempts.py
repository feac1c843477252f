"""Attempts with scores that know something of their outcomes."""

import numpy as np


def attempts(tasks=20, n=12, seed=0, skill=1.0):
    """Scores, outcomes and tasks of attempts; the score knows something of the outcome."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), n)
    passed = rng.random(tasks * n) < np.repeat(rng.random(tasks), n)
    return rng.normal(size=tasks * n) + skill * passed, passed, task
