"""Hyperparameters, and the attempt numbers that follow from them."""

import numpy as np
import pytest

from lib.training import (
    defaults,
)


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match=r"Settings.group_size is 1: it must be at least 2"):
        defaults("grpo", group_size=1)
    with pytest.raises(ValueError, match=r"Settings.algorithm is 'dpo': it must be grpo or ppo"):
        defaults("dpo")
    for value in (2.5, np.int64(2), None, True):
        with pytest.raises(ValueError, match=r"Settings.epochs is .*: it must be a whole number"):
            defaults("grpo", epochs=value)
    with pytest.raises(ValueError, match=r"Settings.learning_rate is '1': it must be a number"):
        defaults("grpo", learning_rate="1")


def test_no_two_steps_or_seeds_share_an_attempt(base):
    numbers = [
        defaults("grpo", seed=seed).first_attempt(step) + i
        for seed in (0, 1)
        for step in (1, 2, 200)
        for i in range(16)
    ]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) >= 1_000_000
