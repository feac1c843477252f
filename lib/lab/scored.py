"""The attempts that the lab scored, as its tables have them; torch is not needed."""

import numpy as np
import pandas as pd

from lib.advantage import Scored

SPARSE = {"ties 0.5": ("ties", 0.5), "dare 0.5": ("dare", 0.5)}
MERGES = {f"linear {alpha:g}": ("linear", alpha) for alpha in (0.25, 0.5, 0.75)} | SPARSE
"""Name of a merged reference -> method and alpha; the base is alpha = 0."""
TOKENS = ("tokens", "policy", "policy_top", "reference")
"""Columns with a number an action token."""


def as_scored(table: pd.DataFrame) -> Scored:
    """The attempts of a table as `lib.advantage` has them: what `as_table` wrote."""
    kinds = {"tokens": np.int64, **dict.fromkeys(TOKENS[1:], np.float64)}
    flat = {
        name: np.concatenate([np.zeros(0, kind), *table[name]]).astype(kind)
        for name, kind in kinds.items()
    }
    counts = np.concatenate([np.zeros(0, int), *table["counts"]]).astype(np.int64)
    steps = np.array([len(one) for one in table["counts"]], dtype=np.int64)
    return Scored(
        keys=tuple(
            ("lab", "lab", "scored", *key)
            for key in zip(table["task"], table["attempt"], strict=True)
        ),
        passed=tuple(None if pd.isna(one) else bool(one) for one in table["passed"]),
        steps=steps,
        messages=np.concatenate([np.zeros(0, int), *(1 + 2 * np.arange(n) for n in steps)]).astype(
            np.int64
        ),
        missing=np.where(counts > 0, "", "missing").astype("U16"),
        counts=counts,
        **flat,
    )
