"""Rollouts as tensors, and the scores of their tokens."""

import pytest
import torch

from lib.generation.logprobs import action_logits, microbatches
from lib.ptgs import MissingTemperature
from lib.training.batches import collate, read_episode, score
from lib.trajectories.schema import Message, Rollout, Turn
from tests import lettered
from tests.lettered_runs import groups_of, scored


def test_log_probs_at_each_rows_temperature_are_those_it_was_sampled_with(base):
    rows = [row for group in groups_of(base) for row in group]
    episodes = [read_episode(row) for row in rows]
    actual = scored(base, episodes, rows=3)
    turns = [turn for row in rows for turn in row.turns]
    assert max(len(row.turns) for row in rows) == 2
    sampled = [value for turn in turns for value in turn.logprobs]
    assert actual.log_probs.tolist() == pytest.approx(sampled, abs=1e-4)
    at_1 = [value for turn in turns for value in turn.logprobs_t1]
    cold = [episode._replace(temperature=1.0) for episode in episodes]
    assert scored(base, cold).log_probs.tolist() == pytest.approx(at_1, abs=1e-4)
    assert max(abs(a - b) for a, b in zip(sampled, at_1, strict=True)) > 0.1


def test_entropy_and_kl_are_those_of_the_whole_distribution(base):
    other = lettered.model()
    (row,) = groups_of(base, temperatures=(0.7,))[0][:1]
    episode = read_episode(row)
    actual = score(
        base,
        lambda actions: action_logits(other, actions)[0],
        [episode],
        t_ref=1.0,
        rows=8,
        compare=[True],
    )
    (ids,) = episode.sequences
    with torch.no_grad():
        own, start = (m(torch.tensor([ids])).logits[0, episode.position] for m in (base, other))
    p, q = own.softmax(-1), start.softmax(-1)
    hot = (own / 0.7).softmax(-1)
    assert torch.allclose(actual.entropy_ref, -(p * p.log()).sum(-1), atol=1e-5)
    assert torch.allclose(actual.entropy_x, -(hot * hot.log()).sum(-1), atol=1e-5)
    assert torch.allclose(actual.kl_start, (p * (p / q).log()).sum(-1), atol=1e-4)
    picked = (start / 0.7).log_softmax(-1).gather(1, torch.tensor(episode.tokens)[:, None])[:, 0]
    assert torch.allclose(actual.start_log_probs, picked, atol=1e-5)


def rollout(*turns, **sampling):
    messages = [Message("user", "?")] + [Message("assistant", "!")] * len(turns)
    made = [
        Turn(1 + i, prompt_ids=read, action_ids=chosen, logprobs=[-1.0] * len(chosen))
        for i, (read, chosen) in enumerate(turns)
    ]
    return Rollout("b", "p", "a", "t", 5, True, messages=messages, turns=made, sampling=sampling)


def test_turns_that_go_on_from_each_other_are_read_once():
    episode = read_episode(rollout(([1, 2], [3, 4]), ([1, 2, 3, 4, 5], [6]), temperature=1.0))
    assert episode.sequences == [[1, 2, 3, 4, 5]]
    assert episode.position.tolist() == [1, 2, 4]
    assert episode.tokens.tolist() == [3, 4, 6]


def test_an_end_token_that_the_next_turn_left_out_still_counts():
    episode = read_episode(rollout(([1, 2], [3, 4]), ([1, 2, 3, 5], [6]), temperature=1.0))
    assert episode.sequences == [[1, 2, 3, 5]]
    assert episode.position.tolist() == [1, 2, 3]
    assert episode.tokens.tolist() == [3, 4, 6]


def test_a_turn_on_other_tokens_is_read_by_itself():
    turns = ([1, 2], [3, 4]), ([1, 7, 5], [6]), ([1, 7, 5, 6, 8], [9])
    episode = read_episode(rollout(*turns, temperature=1.0))
    assert episode.sequences == [[1, 7, 5, 6, 8], [1, 2, 3]]
    assert episode.sequence.tolist() == [1, 1, 0, 0]
    assert episode.tokens.tolist() == [3, 4, 6, 9]
    together = collate([read_episode(rollout(([1], [2]), temperature=1.0)), episode])
    assert together.sequence.tolist() == [0, 2, 2, 1, 1]
    assert together.rollout.tolist() == [0, 1, 1, 1, 1]


def test_a_rollout_without_a_temperature_is_an_error():
    with pytest.raises(MissingTemperature, match=r"'t', 5\) has the temperature None"):
        read_episode(rollout(([1], [2])))


def test_a_rollout_without_a_token_has_no_action(base):
    empty = read_episode(rollout(([1, 2], []), temperature=1.0))
    assert scored(base, [empty, read_episode(rollout(([1], [2]), temperature=1.0))])[0].shape == (
        1,
    )


def test_microbatches_hold_every_episode_once(base):
    episodes = [read_episode(row) for group in groups_of(base) for row in group]
    actual = microbatches(episodes, rows=3)
    assert sorted(i for microbatch in actual for i in microbatch) == list(range(len(episodes)))
    assert max(map(len, actual)) == 3
