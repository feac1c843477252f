"""Log-probs of the action tokens of trajectories: as flat arrays, and as a table of attempts.

`python -m lib score` and the lab keep the same columns, the first as lines of JSON, the other as
Parquet; `lib.advantage.store` reads both. The table has a row an attempt:

    benchmark, pair, arm    texts; "" where a table lacks these columns
    task, attempt           a text and a whole number
    passed                  true, false, or missing
    turns, missing          numbers: steps of the attempt, and those without a score
    counts                  [steps] action tokens of each step, 0 where it has no score
    messages, why_missing   [steps] numbers of the messages, and reasons; a table may lack them
    tokens, policy,         [action tokens] ids; log-probs under the policy; mean log-prob of the
    policy_top, reference   policy's likeliest tokens; log-probs under the reference, if any

Any other column belongs to whoever wrote the table: scores by other models, settings of the run.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

AttemptKey = tuple[str, str, str, str, int]
"""Benchmark, pair, arm, task and attempt."""
KEY = ("benchmark", "pair", "arm", "task", "attempt")
TOKEN_COLUMNS = {"tokens": np.int64, "policy": float, "policy_top": float, "reference": float}
"""Columns with a number for each action token, and their types."""


@dataclass(frozen=True)
class Scored:
    """Log-probs of the action tokens of trajectories under a policy and its reference.

    ``[t]`` has a value for each trajectory, ``[s]`` for each step, ``[a]`` for each action token,
    in order. A step is a message of the assistant. A missing step has no tokens here.

    keys: [t] (benchmark, pair, arm, task, attempt).  passed: [t] True, False or None.
    steps: [t] number of steps, missing steps included.
    messages: [s] numbers of their messages.  missing: [s] why a step has no score, "" if it has.
    counts: [s] action tokens of each.
    tokens: [a] ids.  policy, reference: [a] natural log of the token's probability.
    policy_top: [a] mean log-prob of the policy's top_k likeliest tokens at that place.
    reference is None where only the policy was run.
    """

    keys: tuple[AttemptKey, ...]
    passed: tuple[bool | None, ...]
    steps: NDArray[np.int64]
    messages: NDArray[np.int64]
    missing: NDArray[np.str_]
    counts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    policy: NDArray[np.float64]
    policy_top: NDArray[np.float64]
    reference: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def steps_missing(self) -> NDArray[np.int64]:
        """Steps of each trajectory without a score, [t]; not 0 where some were cut off."""
        return np.bincount(self.trajectory, weights=self.missing != "", minlength=len(self)).astype(
            np.int64
        )

    @property
    def trajectory(self) -> NDArray[np.int64]:
        """The trajectory of each step, [s]."""
        return np.repeat(np.arange(len(self)), self.steps)

    @property
    def place(self) -> NDArray[np.int64]:
        """The place of each step within its trajectory, from 0, [s]."""
        return np.arange(self.steps.sum()) - np.repeat(
            np.cumsum(self.steps) - self.steps, self.steps
        )

    def table(self) -> pd.DataFrame:
        """A row for each trajectory: its key, `passed`, `turns`, `missing` (how many steps)."""
        return pd.DataFrame(self.keys, columns=list(KEY)).assign(
            passed=pd.array(self.passed, dtype="boolean"),
            turns=self.steps,
            missing=self.steps_missing,
        )


def as_table(scored: Scored) -> pd.DataFrame:
    """The table of scored attempts, see above; its arrays have the types that `scored` has."""
    table = scored.table()
    by_step = {"messages": scored.messages, "why_missing": scored.missing, "counts": scored.counts}
    by_token = {name: getattr(scored, name) for name in TOKEN_COLUMNS}
    of_step = np.cumsum(scored.steps)[:-1]
    counts = np.bincount(scored.trajectory, weights=scored.counts, minlength=len(scored))
    of_token = np.cumsum(counts.astype(np.int64))[:-1]
    for columns, ends in ((by_step, of_step), (by_token, of_token)):
        for name, values in columns.items():
            if values is not None:
                table[name] = np.split(values, ends) if len(scored) else []
    return table


def as_scored(table: pd.DataFrame) -> Scored:
    """The arrays of a table of scored attempts: what `as_table` wrote, or the lab."""
    steps = np.array([len(counts) for counts in table["counts"]], dtype=np.int64)
    counts = flat(table["counts"], np.int64)
    if "messages" in table:
        messages, missing = flat(table["messages"], np.int64), flat(table["why_missing"], "U16")
    else:  # replies of the lab follow a prompt each
        messages = flat((1 + 2 * np.arange(n) for n in steps), np.int64)
        missing = np.where(counts > 0, "", "missing").astype("U16")
    keys = [table[name] if name in table else [""] * len(table) for name in KEY]
    return Scored(
        keys=tuple(zip(*keys, strict=True)),
        passed=tuple(None if pd.isna(passed) else bool(passed) for passed in table["passed"]),
        steps=steps,
        messages=messages,
        missing=missing,
        counts=counts,
        **{
            name: flat(table[name], kind) if name in table else None
            for name, kind in TOKEN_COLUMNS.items()
        },
    )


def flat(arrays: Iterable, kind) -> np.ndarray:
    """Arrays joined to an array of this type, also where there are none."""
    return np.concatenate([np.zeros(0, kind), *(np.asarray(values, kind) for values in arrays)])
