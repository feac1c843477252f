"""The choice of one token: noise, truncation, ties, and log-probs against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import RepetitionPenaltyLogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

from lib.generation import Sampling
from lib.generation.sampling import NEAR, Chooser, gumbel
from lib.trajectories.schema import RolloutKey


def choose(logits, rows=None, *, contexts=None, **settings):
    """Choose once for each row of ``logits``, or ``rows`` times for one row; keys differ."""
    logits = torch.as_tensor(logits, dtype=torch.float32)
    logits = logits.expand(rows, -1) if rows else logits
    keys = [RolloutKey(0, "task", attempt).philox() for attempt in range(len(logits))]
    sampling = Sampling(**{"temperature": 1.0, "max_new_tokens": 1, **settings})
    contexts = contexts or [[0]] * len(logits)
    chooser = Chooser([sampling] * len(keys), keys, [0] * len(keys), contexts, logits.device)
    return chooser.choose(logits)


def frequencies(choice, width):
    return np.bincount(choice.tokens.numpy(), minlength=width)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("max_new_tokens", 0),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("top_k", -1),
        ("repetition_penalty", 0),
        ("stop", "User:"),
        ("stop", ("",)),
        ("eos", (-1,)),
    ],
)
def test_a_bad_setting_is_named_with_its_value_and_range(field, value):
    settings = {"temperature": 1.0, "max_new_tokens": 8, field: value}
    with pytest.raises(ValueError, match=rf"Sampling\.{field} is .*: it must be"):
        Sampling(**settings)


def test_noise_depends_on_its_own_key_and_position_alone():
    keys = [RolloutKey(3, "a", i).philox() for i in range(5)]
    together = gumbel(keys, [0, 7, 2, 2, 9], 33)
    alone = gumbel([keys[3]], [2], 33)
    assert torch.equal(together[3], alone[0])


@pytest.mark.parametrize("other", [(1, "a", 0), (0, "b", 0), (0, "a", 1)])
def test_seed_task_and_attempt_each_change_the_noise(other):
    one, two = (gumbel([RolloutKey(*k).philox()], [0], 50) for k in [(0, "a", 0), other])
    assert not torch.isclose(one, two).any()


def test_neighbouring_positions_have_unrelated_noise():
    key = RolloutKey(0, "a", 0).philox()
    noise = gumbel([key] * 200, range(200), 100)
    assert abs(np.corrcoef(noise[:-1].flatten(), noise[1:].flatten())[0, 1]) < 0.03
    assert not np.isin(noise[0], noise[1:]).any()


def test_noise_has_the_gumbel_distribution():
    noise = gumbel([RolloutKey(0, "a", 0).philox()], [0], 20_001)
    assert stats.kstest(noise[0].numpy(), "gumbel_r").pvalue > 0.001


@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.0, 1.5])
def test_frequencies_follow_the_softmax(temperature):
    logits = torch.tensor([2.0, 0.0, 1.0, -1.0, 0.5, 1.5])
    counts = frequencies(choose(logits, 6000, temperature=temperature), 6)
    expected = (logits / temperature).softmax(-1).double().numpy()
    assert stats.chisquare(counts, 6000 * expected / expected.sum()).pvalue > 0.001


def test_frequencies_within_a_nucleus_follow_the_renormalised_softmax():
    probabilities = torch.tensor([0.4, 0.3, 0.2, 0.06, 0.04])
    counts = frequencies(choose(probabilities.log(), 6000, top_p=0.85), 5)
    assert counts[3:].sum() == 0
    assert stats.chisquare(counts[:3], 6000 * np.array([4, 3, 2]) / 9).pvalue > 0.001


def test_log_probs_are_of_the_logits_divided_by_the_temperature():
    choice = choose([[2.0, 0.0]] * 200, temperature=0.5)
    by_token = torch.tensor([-0.018150, -4.018150])
    assert torch.allclose(choice.log_probs, by_token[choice.tokens], atol=1e-5)
    assert set(choice.tokens.tolist()) == {0, 1}


def test_log_probs_at_1_are_reported_beside():
    choice = choose([[2.0, 0.0]] * 200, temperature=0.5)
    at_1 = torch.tensor([2.0, 0.0]).log_softmax(-1)
    assert torch.allclose(choice.log_probs_at_1, at_1[choice.tokens])


def test_truncation_and_penalty_leave_the_log_probs_alone():
    logits = torch.randn(50, 30, generator=torch.Generator().manual_seed(0)) * 2
    choice = choose(logits, top_p=0.5, top_k=3, repetition_penalty=2.0, temperature=0.8)
    whole = (logits / 0.8).log_softmax(-1).gather(1, choice.tokens[:, None])[:, 0]
    assert torch.allclose(choice.log_probs, whole, atol=1e-5)


def test_logits_that_are_not_numbers_are_an_error():
    with pytest.raises(FloatingPointError, match="logits hold NaN"):
        choose([[0.0, float("nan"), 1.0]])


def test_temperature_0_takes_the_best_with_certainty():
    choice = choose([[0.0, 3.0, 1.0]] * 20, temperature=0)
    assert choice.tokens.eq(1).all()
    assert choice.log_probs.eq(0).all()
    assert torch.allclose(choice.log_probs_at_1, torch.tensor([0.0, 3.0, 1.0]).log_softmax(-1)[1])


def test_rows_may_have_different_temperatures():
    keys = [RolloutKey(0, "task", i).philox() for i in range(4000)]
    settings = [Sampling(temperature=t, max_new_tokens=1) for t in [0.5, 2.0] * 2000]
    chooser = Chooser(settings, keys, [0] * 4000, None, "cpu")
    tokens = chooser.choose(torch.tensor([[2.0, 0.0]]).expand(4000, -1)).tokens.view(-1, 2)
    assert tokens.float().mean(0).tolist() == pytest.approx([0.018, 0.269], abs=0.03)


@pytest.mark.parametrize(
    ("settings", "warpers"),
    [
        ({"top_k": 5}, [TopKLogitsWarper(5)]),
        ({"top_p": 0.7}, [TopPLogitsWarper(0.7)]),
        ({"top_k": 70}, [TopKLogitsWarper(70)]),
        ({"top_p": 0.999}, [TopPLogitsWarper(0.999)]),
        ({"top_k": 8, "top_p": 0.8}, [TopKLogitsWarper(8), TopPLogitsWarper(0.8)]),
    ],
)
def test_the_kept_tokens_are_those_of_transformers(settings, warpers):
    logits = torch.randn(1, 3000, generator=torch.Generator().manual_seed(1)) * 2
    warped = logits
    for warper in warpers:
        warped = warper(None, warped)
    kept = set(warped.isfinite().nonzero()[:, 1].tolist())
    sampled = set(choose(logits[0], 4000, **settings).tokens.tolist())
    assert sampled <= kept
    assert len(sampled) > 0.6 * min(len(kept), 500)


def test_the_repetition_penalty_is_that_of_transformers():
    logits = torch.randn(1, 20, generator=torch.Generator().manual_seed(2))
    context = torch.tensor([[1, 4, 4, 7]])
    penalised = RepetitionPenaltyLogitsProcessor(3.0)(context, logits.clone())
    choice = choose(logits[0], 5000, contexts=context.tolist() * 5000, repetition_penalty=3.0)
    expected = penalised.softmax(-1)[0].double().numpy()
    counts = frequencies(choice, 20)
    assert stats.chisquare(counts, 5000 * expected / expected.sum()).pvalue > 0.001


def test_a_sampled_token_is_penalised_from_then_on():
    key = RolloutKey(0, "task", 0).philox()
    sampling = Sampling(temperature=0, max_new_tokens=2, repetition_penalty=10.0)
    chooser = Chooser([sampling], [key], [0], [[0]], "cpu")
    logits = torch.tensor([[0.1, 3.0, 2.0]])
    assert [chooser.choose(logits).tokens.item() for _ in range(2)] == [1, 2]


def test_two_logits_that_lie_close_are_counted_as_a_tie():
    close, apart = [1.0, 1.0 + NEAR / 2, 0.0], [1.0, 1.0 + NEAR * 2, 0.0]
    assert choose([close, apart], temperature=0).ties.tolist() == [True, False]


def test_a_winner_on_the_edge_of_the_nucleus_is_a_tie():
    logits = torch.tensor([0.5, 0.3, 0.2]).log()
    choice = choose(logits, 500, top_p=0.8 + 1e-7)
    assert torch.equal(choice.ties, choice.tokens == 2)


def test_a_loser_on_the_edge_of_the_nucleus_that_would_win_is_a_tie():
    logits = torch.tensor([0.5, 0.3, 0.2]).log()
    cut, free = choose(logits, 500, top_p=0.8 - 1e-7), choose(logits, 500)
    assert torch.equal(cut.ties, free.tokens == 2)


def test_equal_logits_on_the_edge_of_top_k_are_a_tie():
    choice = choose(torch.tensor([3.0, 2.0, 2.0, 0.0]), 500, top_k=2)
    assert choice.ties[choice.tokens != 0].all()


def test_ties_are_rarer_than_one_in_ten_thousand():
    logits = torch.randn(20_000, 64, generator=torch.Generator().manual_seed(3)) * 2
    settings = [{}, {"top_p": 0.9}, {"top_k": 10}, {"temperature": 0.4, "top_p": 0.95}]
    assert sum(choose(logits, **s).ties.sum().item() for s in settings) <= 8


@pytest.mark.parametrize("cut", [{"top_k": 5}, {"top_p": 0.5}])
def test_a_row_that_keeps_all_tokens_is_not_cut_by_its_neighbour(cut):
    """Each row has its own top-k and top-p, whatever the others of its batch have."""
    whole = Sampling(temperature=1.0, max_new_tokens=1)
    settings = [whole, replace(whole, **cut)]
    keys = [RolloutKey(0, "t", attempt).philox() for attempt in range(2)]
    alone, beside = (
        Chooser(settings[:rows], keys[:rows], [0] * rows, [[1]] * rows, "cpu") for rows in (1, 2)
    )
    logits = torch.zeros(2, 5000)
    for _ in range(50):
        assert alone.choose(logits[:1]).tokens[0] == beside.choose(logits).tokens[0]
