"""Tokens of trajectories: which of them were actions, what is read to score them, their scores.

No model runs here, so this needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lib.trajectories.schema import Rollout, TrajectoryError, Turn

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a transcript that message number ``message`` contributed."""

    message: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """A rendered transcript and, in order, the spans of it that were the assistant's actions."""

    text: str
    actions: tuple[Span, ...]

    def pieces(self) -> list[tuple[str, Span | None]]:
        """Cut the text at the edges of the actions; the pieces join to the text.

        Tokenising piece by piece is what keeps a token from reaching across the seam between a
        prompt and an action.
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
    """Find the tokens [first, last) of every action in a transcript that was tokenised whole.

    Parameters
    ----------
    offsets : sequence of (int, int), one per token
        Characters [start, end) of the transcript that the token covers, in order; an empty pair
        for a special token.
    actions : iterable of Span

    Returns
    -------
    list of (int, int) or None, one per action
        None where the tokens end before the action does (a context limit): that action is
        missing, and must not be scored as if it had been read.

    Raises
    ------
    TrajectoryError
        If a token lies across the edge of an action, so that no token span is right. Tokenise
        :meth:`Transcript.pieces`, or use the stored ids (:func:`stored_tokens`).
    """
    covered = max((end for _, end in offsets), default=0)
    found: list[tuple[int, int] | None] = []
    for action in actions:
        inside = [
            index
            for index, (start, end) in enumerate(offsets)
            if start < end and start < action.end and end > action.start
        ]
        if action.end > covered:
            found.append(None)
        elif not inside:
            found.append((0, 0))
        elif offsets[inside[0]][0] < action.start or offsets[inside[-1]][1] > action.end:
            raise TrajectoryError(
                f"a token lies across the edge of the action of message {action.message} "
                f"(characters {action.start} to {action.end}); tokenise the transcript piece by "
                "piece, or use the stored token ids"
            )
        else:
            found.append((inside[0], inside[-1] + 1))
    return found


def stored_tokens(rollout: Rollout) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Return all token ids of a rollout, and the tokens [first, last) of each of its turns.

    A turn's range leaves out those of its :attr:`Turn.ending` that the next turn did not read.

    Raises
    ------
    TrajectoryError
        If ids are not known, or if a turn did not go on from the tokens of the turn before it (a
        server that tokenised the text anew): then no single sequence holds all actions.
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
            raise TrajectoryError(f"turn {number} of {rollout.key} is no prefix of the last turn")
        ranges.append((len(turn.prompt_ids), last))
    return ids, ranges


def chosen_tokens(turns: Iterable[Turn]) -> tuple[list[list[int]], list[tuple[int, range]]]:
    """Return the sequences to read, and where in them the action tokens were chosen.

    One sequence is enough unless a turn did not go on from the tokens of the one before it. Of
    each turn with actions: the number of its sequence, and for each action token the position of
    the token before it, which is where it was chosen.
    """
    sequences: list[list[int]] = []
    places = []
    # Backwards, since a turn's tokens are mostly read again by the turn after it. Its last token
    # need not be: nothing was chosen after it, and a prompt format may leave an end token out.
    for turn in reversed([turn for turn in turns if turn.action_ids]):
        read = list(turn.prompt_ids + turn.action_ids[:-1])
        if not sequences or sequences[-1][: len(read)] != read:
            sequences.append(read)
        places.append((len(sequences) - 1, range(len(turn.prompt_ids) - 1, len(read))))
    return sequences, places[::-1]


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the tokens at the start that are the same in both."""
    shorter = min(len(first), len(second))
    if first[:shorter] == second[:shorter]:  # much faster than a loop, and the most frequent case
        return shorter
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), shorter)
