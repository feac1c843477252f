"""The hyperparameters of a run, in one place."""

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that decides how a policy is trained, apart from model, tasks and sampler.

    The defaults are GRPO's recipe of the lab; :func:`defaults` gives those of an algorithm. Fields
    of the critic matter to PPO alone.
    """

    algorithm: Literal["grpo", "ppo"] = "grpo"
    steps: int = 200
    """Policy iterations."""
    groups: int = 8
    """Tasks a step, each with one group of rollouts."""
    group_size: int = 16
    """Rollouts a group."""
    max_turns: int = 200
    """Replies after which an attempt has failed, if the environment did not end it."""
    max_new_tokens: int = 16
    """Tokens of one reply, at most."""
    reward: Literal["passed", "return"] = "passed"
    """1 for a solved task and 0 else, or the shaped "return" of the outcome's info."""

    minibatch: int = 32
    """Rollouts of one gradient step."""
    epochs: int = 1
    """Passes over the rollouts of a step."""
    rows_at_once: int = 32
    """Sequences in one forward pass, at most: bounds memory, changes nothing else."""
    learning_rate: float = 3e-4
    """Of AdamW for the policy, constant."""
    weight_decay: float = 0.0
    max_gradient_norm: float = 1.0
    """Longer gradients are cut to this norm."""
    clip_low: float = 0.2
    """The probability ratio is clipped to [1 - clip_low, 1 + clip_high]."""
    clip_high: float = 0.28
    filter_mass: float = 1.0
    """Of the groups with the largest reward deviations, the fewest that hold this share of the sum
    of all are trained on; groups of equal rewards never are. The paper's PPO has 0.9."""
    entropy_bonus: float = 0.0
    """Weight of the mean entropy at T_x in the objective."""
    kl_weight: float = 0.0
    """Weight of the KL to the start at T_x, k3 estimator: exp(d) - d - 1, d = log q - log p."""
    t_ref: float = 1.0
    """Temperature at which entropy and KL are logged besides."""

    critic_learning_rate: float = 1e-3
    critic_warmup: int = 10
    """Steps in which only the critic learns."""
    critic_epochs: int = 4
    """The critic's passes over the rollouts of a step."""
    critic_width: int = 128
    """Hidden units of the value head."""
    gamma: float = 1.0
    """Discount of a reward, an action token."""
    lam: float = 1.0
    """Of generalised advantage estimation; 1 takes whole returns."""

    seed: int = 0
    """Of task order, sampling noise, minibatches and the value head."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int:
                self._require(field.name, type(value) is int, "a whole number, as an int")
            elif field.type is float:
                self._require(field.name, isinstance(value, int | float), "a number")
        for name in ("steps", "groups", "max_turns", "max_new_tokens", "minibatch", "epochs",
                     "rows_at_once", "critic_epochs", "critic_width"):  # fmt: skip
            self._require(name, getattr(self, name) >= 1, "at least 1")
        self._require("algorithm", self.algorithm in ("grpo", "ppo"), "grpo or ppo")
        self._require("reward", self.reward in ("passed", "return"), "passed or return")
        self._require("group_size", self.group_size >= 2, "at least 2, to compare within a group")
        for name in ("learning_rate", "critic_learning_rate", "max_gradient_norm", "t_ref"):
            good = 0 < getattr(self, name) < LARGEST  # what single precision can work with
            self._require(name, good, f"a finite number above 0, below {LARGEST:g}")
        for name in ("weight_decay", "clip_high", "entropy_bonus", "kl_weight", "critic_warmup"):
            good = 0 <= getattr(self, name) < math.inf
            self._require(name, good, "a finite number, at least 0")
        for name in ("gamma", "lam", "clip_low"):
            self._require(name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
        self._require("filter_mass", 0 < self.filter_mass <= 1, "in (0, 1]; 1 keeps all that vary")
        self._require("seed", self.seed >= 0, "at least 0")
        self._require("steps", self.steps * self.group_size <= ATTEMPTS, f"below {ATTEMPTS} a task")

    def _require(self, name, good, expected):
        if not good:
            raise ValueError(f"Settings.{name} is {getattr(self, name)!r}: it must be {expected}")

    def first_attempt(self, step: int) -> int:
        """Number of the first attempt of each group of a step, counted from 1.

        Attempts key both the sampling noise and the environment's own chance, so no two steps share
        one, no two seeds do, and none has a number below a million, where evaluations count.
        """
        return (self.seed + 1) * ATTEMPTS + (step - 1) * self.group_size

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


LARGEST = 1e30

ATTEMPTS = 1_000_000
"""Attempt numbers of a task that a run has to itself."""


def defaults(algorithm: str, **changes) -> Settings:
    """The lab's recipe for an algorithm, with some fields changed.

    PPO learns more slowly than GRPO here: at GRPO's rate the critic lags behind its policy.
    """
    recipe = Settings(algorithm=algorithm)
    if algorithm == "ppo":
        recipe = replace(recipe, learning_rate=2e-4)
    return replace(recipe, **changes)
