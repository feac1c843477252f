"""Advantages and losses."""

import numpy as np
import pytest
import torch

from lib.training.objectives import (
    advantages_over_time,
    clipped_loss,
    group_advantages,
    k3,
    kept_groups,
)


def test_group_advantages_have_mean_0_and_deviation_1():
    actual = group_advantages(np.array([1.0, 0, 0, 0]))
    assert actual == pytest.approx(np.array([3, -1, -1, -1]) / np.sqrt(3))


def test_groups_of_equal_rewards_are_dropped():
    rewards = [np.ones(4), np.array([0, 1.0]), np.zeros(4), np.zeros(0)]
    assert kept_groups(rewards) == [False, True, False, False]


def test_a_mass_keeps_the_groups_that_vary_most():
    rewards = [np.array([0, x]) for x in (2.0, 10.0, 6.0, 2.0, 0.0)]  # deviations 1, 5, 3, 1, 0
    assert kept_groups(rewards, 0.8) == [False, True, True, False, False]
    assert kept_groups(rewards, 0.9) == [True, True, True, False, False]
    assert kept_groups(rewards, 1.0) == [True, True, True, True, False]


def test_advantages_are_returns_less_values_at_gamma_and_lambda_1():
    values, rewards = np.array([0.2, 0.5, 0.1]), np.array([0, 0, 1.0])
    assert advantages_over_time(values, rewards, 1, 1) == pytest.approx(1 - values)


def test_advantages_over_time_by_their_sum():
    values, rewards, gamma, lam = np.array([0.2, 0.5, 0.1]), np.array([0.3, 0, 1.0]), 0.9, 0.8
    deltas = rewards + gamma * np.array([0.5, 0.1, 0]) - values
    sums = [sum((gamma * lam) ** k * d for k, d in enumerate(deltas[t:])) for t in range(3)]
    assert advantages_over_time(values, rewards, gamma, lam) == pytest.approx(sums)


def test_the_clip_is_asymmetric_and_pessimistic():
    ratios = torch.tensor([1.3, 1.25, 0.7, 0.7, 1.3])
    advantages = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0])
    loss, cut = clipped_loss(ratios.log(), torch.zeros(5), advantages, 0.2, 0.28)
    assert loss.tolist() == pytest.approx([-1.28, -1.25, -0.7, 0.8, 1.3])
    assert cut.tolist() == [True, False, False, True, False]


def test_k3_has_the_kl_as_its_mean():
    own, start = torch.tensor([0.2, 0.5, 0.3]).log(), torch.tensor([0.6, 0.3, 0.1]).log()
    kl = (own.exp() * (own - start)).sum()
    assert (own.exp() * k3(own, start)).sum().item() == pytest.approx(kl.item())
