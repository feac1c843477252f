"""Small tables of outcomes: one of attempts, one of counts."""

import pandas as pd

ATTEMPTS = pd.DataFrame(
    {
        "benchmark": "b",
        "pair": "p",
        "arm": ["base", "base", "base", "post"],
        "task": ["x", "x", "y", "x"],
        "attempt": [0, 1, 0, 0],
        "passed": [True, None, False, True],
        "reason": [None, "timeout", None, None],
    }
)
COUNTS = pd.DataFrame(
    {"benchmark": "b", "pair": "p", "arm": ["base", "post"], "task": "x", "n": 4, "c": [1, 3]}
)
