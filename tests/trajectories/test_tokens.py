"""Spans of actions, and stored tokens."""

import pytest

from lib.trajectories.schema import TrajectoryError, Turn
from lib.trajectories.tokens import Span, Transcript, stored_tokens, token_spans
from tests.stored_rollouts import rollout

# Text with actions "go" and "stop"; one offset per token.
TRANSCRIPT = Transcript("ask go say stop.", (Span(1, 4, 6), Span(3, 11, 15)))


def test_pieces_join_to_the_text():
    pieces = TRANSCRIPT.pieces()
    assert "".join(text for text, _ in pieces) == TRANSCRIPT.text
    assert [text for text, span in pieces if span] == ["go", "stop"]


def test_pieces_without_text_before_or_after():
    assert Transcript("go", (Span(0, 0, 2),)).pieces() == [("go", Span(0, 0, 2))]


def test_token_spans():
    offsets = [(0, 0), (0, 4), (4, 5), (5, 6), (6, 11), (11, 15), (15, 16)]
    assert token_spans(offsets, TRANSCRIPT.actions) == [(2, 4), (5, 6)]


def test_an_action_past_the_context_limit_is_missing():
    assert token_spans([(0, 4), (4, 6), (6, 11), (11, 13)], TRANSCRIPT.actions) == [(1, 2), None]


@pytest.mark.parametrize("offsets", [[(0, 3), (3, 6), (6, 16)], [(0, 4), (4, 7), (7, 16)]])
def test_a_token_across_the_edge_of_an_action_is_an_error(offsets):
    with pytest.raises(TrajectoryError, match="crosses the edge of the action of message 1"):
        token_spans(offsets, TRANSCRIPT.actions)


def test_stored_tokens():
    assert stored_tokens(rollout()) == ((1, 2, 3, 4, 5, 6, 7), [(3, 5), (6, 7)])


@pytest.mark.parametrize(("following", "last"), [((1, 2, 4, 9), 3), ((1, 2, 4, 5, 9), 4)])
def test_what_ended_a_turn_may_be_gone_from_the_next(following, last):
    turns = (Turn(1, (1, 2), (4, 5, 6), ending=2), Turn(3, following, (7, 8), ending=1))
    ids, ranges = stored_tokens(rollout(turns=turns))
    assert ids == (*following, 7, 8)
    assert ranges == [(2, last), (len(following), len(ids))]


def test_more_than_the_ending_of_a_turn_may_not_be_gone():
    turns = (Turn(1, (1, 2), (4, 5, 6), ending=1), Turn(3, (1, 2, 4, 9), (7,)))
    with pytest.raises(TrajectoryError, match=r"does not begin with the tokens of turn 0"):
        stored_tokens(rollout(turns=turns))


def test_an_ending_is_part_of_the_action():
    with pytest.raises(TrajectoryError, match="ending is 3, expected 0 to 2 action tokens"):
        Turn(1, (1,), (2, 3), ending=3)


def test_stored_tokens_of_text_that_was_tokenised_again():
    turns = (Turn(1, (1, 2), (4,)), Turn(3, (1, 2, 9), (7,)))
    with pytest.raises(TrajectoryError, match=r"does not begin with the tokens of turn 0"):
        stored_tokens(rollout(turns=turns))
    with pytest.raises(TrajectoryError, match=r"turn 0 of .* has no stored token ids"):
        stored_tokens(rollout(turns=(Turn(1),)))
