"""Advantages and losses: rewards and log-probs in, numbers out."""

from collections.abc import Sequence

import numpy as np
import torch


def kept_groups(rewards: Sequence[np.ndarray], mass: float = 1.0) -> list[bool]:
    """Which groups to train on: those whose rewards vary.

    Of these, the fewest with the largest standard deviations whose sum is at least `mass` times the
    sum over all. A group of equal rewards has no group-relative advantage, and is dropped.

    rewards: [rollouts] of each group.
    """
    spreads = np.array([np.std(group) if len(group) else 0.0 for group in rewards])
    order = np.argsort(-spreads, kind="stable")
    before = np.cumsum(spreads[order]) - spreads[order]
    kept = np.zeros(len(spreads), dtype=bool)
    kept[order] = before < mass * spreads.sum() - 1e-12
    return (kept & (spreads > 0)).tolist()


def group_advantages(rewards: np.ndarray) -> np.ndarray:
    """(reward - mean) / standard deviation within a group whose rewards vary, [rollouts]."""
    return (rewards - rewards.mean()) / rewards.std()


def advantages_over_time(
    values: np.ndarray, rewards: np.ndarray, gamma: float, lam: float
) -> np.ndarray:
    """Generalised advantage estimates of the actions of one episode, [actions].

    values: [actions], the critic's estimate before each action.  rewards: [actions], after each.
    A_t = sum_k (gamma lam)^k d_(t+k), d_t = r_t + gamma V_(t+1) - V_t, with V = 0 after the last
    (Schulman et al. 2016, "High-dimensional continuous control using generalized advantage
    estimation").
    """
    advantages, ahead = np.empty(len(values)), 0.0
    deltas = rewards + gamma * np.append(values[1:], 0.0) - values
    for at in range(len(values) - 1, -1, -1):
        advantages[at] = ahead = deltas[at] + gamma * lam * ahead
    return advantages


def clipped_loss(
    log_probs: torch.Tensor,
    old: torch.Tensor,
    advantages: torch.Tensor,
    low: float,
    high: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """-min(r A, clip(r, 1 - low, 1 + high) A) of each action token, r the ratio to `old`, [a].

    Also returns where the ratio is clipped, so that the token has no gradient: bool, [a].
    """
    ratio = (log_probs - old).exp()
    free = ratio * advantages
    bound = ratio.clamp(1 - low, 1 + high) * advantages
    return -torch.minimum(free, bound), bound < free


def k3(log_probs: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """exp(d) - d - 1 with d = start - log_probs, [a].

    Its mean over samples of the policy is KL(policy || start) (Schulman 2020, "Approximating KL
    divergence").
    """
    difference = start - log_probs
    return difference.exp() - difference - 1
