"""Rollouts of a lab model in its world, the model, its base, and their tokenizer."""

import numpy as np
import pytest

from lib.advantage import read_stored, token_scores
from lib.generation import load
from lib.lab import plan
from lib.lab.evaluation import open_policy
from lib.rollouts.episodes import roll_out
from lib.trajectories.schema import RolloutKey

FOLDERS = {
    "policy": plan.DATA / "models" / "sokoban-0.25M-grpo-fixed-0.0003-0",
    "reference": plan.DATA / "models" / "sokoban-0.25M-base-85",
}


@pytest.fixture(scope="session")
def opened():
    return open_policy(FOLDERS["policy"], "sokoban", 0.9)


@pytest.fixture(scope="session")
def policy(opened):
    return opened.engine.model


@pytest.fixture(scope="session")
def tokenizer(opened):
    return opened.engine.tokenizer


@pytest.fixture(scope="session")
def reference():
    return load(FOLDERS["reference"])[0]


@pytest.fixture(scope="session")
def rollouts(opened):
    """Six attempts at each of eight tasks, at T = 0.9, in the order of their keys."""
    world = plan.environment("sokoban", "test", 8)
    keys = [RolloutKey(0, task, attempt) for task in world.tasks() for attempt in range(6)]
    found = roll_out(opened.start(keys), world, keys, "lab", "post")
    return sorted(found, key=lambda rollout: rollout.key)


@pytest.fixture(scope="session")
def whole(policy, reference, rollouts, tokenizer):
    return token_scores(policy, reference, [read_stored(one, tokenizer, 256) for one in rollouts])


def same(found, whole):
    assert found.keys == whole.keys
    assert found.passed == whole.passed
    for name in ("steps", "messages", "missing", "counts", "tokens"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    for name in ("policy", "policy_top", "reference"):
        assert np.abs(getattr(found, name) - getattr(whole, name)).max() < 1e-4
