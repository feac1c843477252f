"""Token scores of many trajectories as flat columns, and the pass over them by both models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib.advantage.tokenize import Steps
from lib.generation.reading import TOKENS_AT_ONCE, TOP_K, TokenScores

Key = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Scored:
    """What two models say of the action tokens of trajectories.

    ``[t]`` are one a trajectory, ``[s]`` one a step, ``[a]`` one an action token, in order; a step
    is a message of the assistant. A missing step has no tokens here.

    keys: [t] (benchmark, pair, arm, task, attempt).  passed: [t] True, False or None.
    steps: [t] how many steps, missing ones too.
    messages: [s] numbers of their messages.  missing: [s] why a step has no score, "" if it has.
    counts: [s] tokens of each.
    tokens: [a] ids.  policy, reference: [a] natural log of the token's probability.
    policy_top: [a] mean log-prob of the policy's top_k likeliest tokens there.
    reference is None where only the policy was run.
    """

    keys: tuple[Key, ...]
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
        """Steps of each trajectory that could not be scored, [t]; not 0 where some were cut off."""
        return np.bincount(self.trajectory, weights=self.missing != "", minlength=len(self)).astype(
            np.int64
        )

    @property
    def trajectory(self) -> NDArray[np.int64]:
        """The trajectory of each step, [s]."""
        return np.repeat(np.arange(len(self)), self.steps)

    def table(self) -> pd.DataFrame:
        """What was scored, a row a trajectory: its key, `passed`, `turns` and `missing` steps."""
        found = pd.DataFrame(self.keys, columns=["benchmark", "pair", "arm", "task", "attempt"])
        return found.assign(
            passed=pd.array(self.passed, dtype="boolean"),
            turns=self.steps,
            missing=self.steps_missing,
        )


def score(
    policy,
    reference,
    trajectories: Sequence[Steps],
    *,
    top_k: int = TOP_K,
    tokens_at_once: int = TOKENS_AT_ONCE,
    progress: bool | None = False,
) -> Scored:
    """Read every trajectory once by each model, those of like length together.

    policy, reference : causal models of transformers with the same tokens (`check_same_tokens`).
        A reference of None leaves the progress advantage undefined, and asking for it an error.
    top_k : of the mean log-prob that confidence is made of.  tokens_at_once : for memory.
    """
    readings = [one.reading for one in trajectories]
    options = {"tokens_at_once": tokens_at_once, "progress": progress}
    from lib.generation.logprobs import score_tokens

    ours = score_tokens(policy, readings, top_k=top_k, **options)
    theirs = score_tokens(reference, readings, top_k=1, **options) if reference else None
    return join(trajectories, ours, theirs)


def join(
    trajectories: Sequence[Steps],
    policy: Sequence[TokenScores],
    reference: Sequence[TokenScores] | None,
) -> Scored:
    """The columns of trajectories and of their token scores."""

    def flat(arrays: Iterable, kind) -> np.ndarray:
        return np.concatenate([np.zeros(0, kind), *(np.asarray(one, kind) for one in arrays)])

    return Scored(
        keys=tuple(one.key for one in trajectories),
        passed=tuple(one.passed for one in trajectories),
        steps=np.array([len(one.messages) for one in trajectories], dtype=np.int64),
        messages=flat((one.messages for one in trajectories), np.int64),
        missing=np.array([why for one in trajectories for why in one.missing], dtype="U16"),
        counts=flat((one.counts for one in trajectories), np.int64),
        tokens=flat((one.reading.tokens for one in trajectories), np.int64),
        policy=flat((one.log_probs for one in policy), np.float64),
        policy_top=flat((one.top for one in policy), np.float64),
        reference=None
        if reference is None
        else flat((one.log_probs for one in reference), np.float64),
    )
