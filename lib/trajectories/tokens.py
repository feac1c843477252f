"""Tokens of trajectories: which of them were actions, what a model reads to score them, scores.

No model runs here, and torch is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lib.trajectories.schema import Rollout, TrajectoryError, Turn

if TYPE_CHECKING:
    import numpy as np

TOP_K = 20
"""Confidence is the mean log-prob of so many likeliest tokens."""
LOGITS_AT_ONCE = 2**24
"""So many logits are held at once: 64 MB in float32."""
TOKENS_AT_ONCE = 4096
"""At most so many tokens go into a forward pass, padding included, unless a sequence is longer."""


class Reading(NamedTuple):
    """Token sequences for a model to read, and the action tokens in them that it scores.

    sequences: of token ids, none of them empty.
    sequence, position: [actions], where each action token was chosen. The logits at this position,
        which is that of the token before it, are those of the choice.
    tokens: [actions], the action tokens.
    """

    sequences: list[list[int]]
    sequence: np.ndarray
    position: np.ndarray
    tokens: np.ndarray


class TokenScores(NamedTuple):
    """Natural logs of probabilities at temperature 1, for each action token of a reading.

    log_probs: [actions], of the token that was chosen.
    top: [actions], the mean over the `top_k` likeliest tokens in its place.
    """

    log_probs: np.ndarray
    top: np.ndarray


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a transcript that are from the message of index ``message``."""

    message: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """A rendered transcript and the spans of the assistant's actions in it, in order."""

    text: str
    actions: tuple[Span, ...]

    def pieces(self) -> list[tuple[str, Span | None]]:
        """Cut the text at the edges of the actions.

        To tokenise it piece by piece keeps tokens from crossing these edges. Joined, the pieces are
        the text.
        """
        pieces, at = [], 0
        for span in self.actions:
            pieces += [(self.text[at : span.start], None), (self.text[span.start : span.end], span)]
            at = span.end
        pieces.append((self.text[at:], None))
        return [piece for piece in pieces if piece[0]]


def token_spans(
    offsets: Sequence[tuple[int, int]], actions: Iterable[Span]
) -> list[tuple[int, int] | None]:
    """Find the tokens [first, last) of each action in a transcript that was tokenised as a whole.

    Parameters
    ----------
    offsets : sequence of (int, int), one per token
        Characters [start, end) of the transcript that the token covers, in order; an empty range
        for a special token.
    actions : iterable of Span

    Returns
    -------
    list of (int, int) or None, one per action
        None if the tokens end before the action does, at a context limit. The action is then
        missing: no model has read it whole, so it must not be scored.

    Raises
    ------
    TrajectoryError
        If a token crosses the edge of an action, so that no range of tokens is right. Tokenise
        :meth:`Transcript.pieces`, or use the stored ids (:func:`stored_tokens`).
    """
    covered = max((end for _, end in offsets), default=0)
    spans: list[tuple[int, int] | None] = []
    for action in actions:
        inside = [
            index
            for index, (start, end) in enumerate(offsets)
            if start < end and start < action.end and end > action.start
        ]
        if action.end > covered:
            spans.append(None)
        elif not inside:
            spans.append((0, 0))
        elif offsets[inside[0]][0] < action.start or offsets[inside[-1]][1] > action.end:
            raise TrajectoryError(
                f"a token crosses the edge of the action of message {action.message} (characters "
                f"{action.start} to {action.end}). Tokenise the transcript piece by piece, or use "
                "the stored token ids."
            )
        else:
            spans.append((inside[0], inside[-1] + 1))
    return spans


def stored_tokens(rollout: Rollout) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Return all token ids of a rollout, and the range [first, last) of each turn's actions.

    The range leaves out the tokens of :attr:`Turn.ending` that the next turn did not read.

    Raises
    ------
    TrajectoryError
        If token ids are not known, or if a turn does not continue the tokens of the turn before,
        as when a server tokenises the whole text each time. No single sequence then holds all
        actions.
    """
    for number, turn in enumerate(rollout.turns):
        if turn.prompt_ids is None or turn.action_ids is None:
            raise TrajectoryError(f"turn {number} of {rollout.key} has no stored token ids")
    if not rollout.turns:
        return (), []
    ids = rollout.turns[-1].prompt_ids + rollout.turns[-1].action_ids
    nexts = [turn.prompt_ids for turn in rollout.turns[1:]] + [ids]
    ranges = []
    for number, (turn, following) in enumerate(zip(rollout.turns, nexts, strict=True)):
        sampled = turn.prompt_ids + turn.action_ids
        last = common_length(sampled, following)
        if last < len(sampled) - turn.ending or ids[:last] != sampled[:last]:
            raise TrajectoryError(
                f"the last turn of {rollout.key} does not begin with the tokens of turn {number}"
            )
        ranges.append((len(turn.prompt_ids), last))
    return ids, ranges


def chosen_tokens(turns: Iterable[Turn]) -> tuple[list[list[int]], list[tuple[int, range]]]:
    """Return the sequences to read, and where in them the action tokens were chosen.

    A single sequence is enough if each turn continues the tokens of the turn before. The second
    list holds, for each turn with action tokens, the number of its sequence and the positions at
    which its tokens were chosen: each is that of the token before.
    """
    sequences: list[list[int]] = []
    places = []
    # Backwards, since the next turn's prompt mostly begins with the tokens of a turn. The last
    # token is not needed: nothing was chosen after it, and a prompt format may leave it out.
    for turn in reversed([turn for turn in turns if turn.action_ids]):
        read = list(turn.prompt_ids + turn.action_ids[:-1])
        if not sequences or sequences[-1][: len(read)] != read:
            sequences.append(read)
        places.append((len(sequences) - 1, range(len(turn.prompt_ids) - 1, len(read))))
    return sequences, places[::-1]


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the tokens that two sequences have in common at their start."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:  # much faster than a loop, and the most frequent case
        return shorter
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), shorter)
