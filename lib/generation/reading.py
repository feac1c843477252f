"""What is asked of a model that scores chosen tokens, and what it answers; torch is not needed."""

from typing import NamedTuple

import numpy as np

TOP_K = 20
"""Tokens of the mean log-prob that confidence is made of, likeliest first."""
LOGITS_AT_ONCE = 2**24
"""Logits that are held at once, 64 MB in float32."""
TOKENS_AT_ONCE = 4096
"""Tokens of one forward pass, padding included, unless one sequence is longer."""


class Reading(NamedTuple):
    """What to read, and the tokens in it that were chosen.

    sequences: token ids, none empty.
    sequence, position: [actions], where each action token was chosen: the logits there, of the
        token before it, are over it.
    tokens: [actions], what was chosen.
    """

    sequences: list[list[int]]
    sequence: np.ndarray
    position: np.ndarray
    tokens: np.ndarray


class TokenScores(NamedTuple):
    """Of each action token of a reading, natural logs at temperature 1; each [actions].

    log_probs: of the token that was chosen.  top: the mean over the `top_k` likeliest tokens there.
    """

    log_probs: np.ndarray
    top: np.ndarray
