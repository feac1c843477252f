"""The update: its gradient, its passes, and the critic."""

import copy

import numpy as np
import pytest
import torch

from lib.training import (
    Diverged,
    defaults,
)
from lib.training.batches import read_episode
from lib.training.learners import make_learner
from lib.training.objectives import (
    group_advantages,
)
from tests.lettered_runs import (
    SMALL,
    groups_of,
    run,
    scored,
)


def test_the_first_gradient_is_that_of_the_policy_gradient(base):
    """Where the ratio is 1, it is -sum A grad log p(T_x) over tokens, divided by their number."""
    model = copy.deepcopy(base)
    groups = groups_of(model)
    episodes = [read_episode(row) for group in groups for row in group]
    rewards = [np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0])]
    settings = defaults("grpo", **SMALL, learning_rate=1e-12, max_gradient_norm=1e9)
    learner = make_learner(model, settings)
    message = learner.learn(1, episodes, scored(model, episodes), rewards, [True, True])
    actual = [parameter.grad.clone() for parameter in model.parameters()]

    model.zero_grad()
    loss, count = 0.0, 0
    advantages = np.concatenate([group_advantages(group) for group in rewards])
    for episode, advantage in zip(episodes, advantages, strict=True):
        (ids,) = episode.sequences
        logits = model(torch.tensor([ids])).logits[0, episode.position] / episode.temperature
        picked = logits.log_softmax(-1).gather(1, torch.tensor(episode.tokens)[:, None])
        loss = loss - advantage * picked.sum()
        count += len(episode.tokens)
    (loss / count).backward()
    for mine, parameter in zip(actual, model.parameters(), strict=True):
        assert torch.allclose(mine, parameter.grad, atol=1e-6)
    assert message["clip_share"] == 0
    assert message["updates"] == 1


def test_small_passes_give_the_same_gradient(base):
    norms = []
    for rows in (128, 3):
        model = copy.deepcopy(base)
        episodes = [read_episode(row) for group in groups_of(model) for row in group]
        extras = {"entropy_bonus": 0.1, "kl_weight": 0.1}
        learner = make_learner(model, defaults("grpo", **SMALL, **extras, rows_at_once=rows))
        rewards = [np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 0, 0])]
        message = learner.learn(1, episodes, scored(model, episodes), rewards, [True, True])
        norms.append(message["gradient_norm"])
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)


def test_the_critic_learns_before_the_policy(base, tmp_path):
    model, log = run(base, tmp_path, algorithm="ppo", critic_warmup=6)
    assert [line["updates"] for line in log] == [0] * 6
    for mine, theirs in zip(model.parameters(), base.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert log[0]["explained_variance"] == 0  # its first values are all 0
    assert log[-1]["gradient_norm"] is None


def test_a_divergence_says_what_to_do():
    message = (
        r"step 3: reward is nan: the training has diverged. Lower learning_rate \(it is 0.01\)"
    )
    with pytest.raises(Diverged, match=rf"^{message} and begin in another folder$"):
        raise Diverged(3, "reward is nan", 0.01)
