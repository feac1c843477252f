"""The hyperparameters of a run, in one place."""

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that decides how a policy is trained, apart from model, tasks and temperature schedule.

    The defaults are the lab's recipe for GRPO; :func:`defaults` gives that of any algorithm. Only
    PPO reads the fields of the critic.
    """

    algorithm: Literal["grpo", "ppo"] = "grpo"
    steps: int = 200
    """Policy iterations."""
    groups: int = 8
    """Tasks in a step, each with one group of rollouts."""
    group_size: int = 16
    """Rollouts in a group."""
    max_turns: int = 200
    """Replies after which an attempt has failed, if the environment did not end it."""
    max_new_tokens: int = 16
    """Maximum number of tokens in a reply."""
    reward: Literal["passed", "return"] = "passed"
    """1 for a solved task and 0 otherwise, or the shaped "return" in the outcome's info."""

    minibatch: int = 32
    """Rollouts in a gradient step."""
    epochs: int = 1
    """Passes over the rollouts of a step."""
    rows_at_once: int = 32
    """Maximum number of sequences in a forward pass: bounds memory, changes nothing else."""
    learning_rate: float = 3e-4
    """Of AdamW for the policy; constant."""
    weight_decay: float = 0.0
    max_gradient_norm: float = 1.0
    """Gradients of a larger norm are scaled down to it."""
    clip_low: float = 0.2
    """The probability ratio is clipped to [1 - clip_low, 1 + clip_high]."""
    clip_high: float = 0.28
    filter_mass: float = 1.0
    """Train on the fewest groups that hold this share of the sum of the groups' standard deviations
    of rewards, the largest first; never on groups of equal rewards. The paper's PPO has 0.9."""
    entropy_bonus: float = 0.0
    """Weight of the mean entropy at T_x in the objective."""
    kl_weight: float = 0.0
    """Weight of the KL to the start at T_x, by the k3 estimator (`objectives.k3`)."""
    t_ref: float = 1.0
    """Temperature at which entropy and KL are logged, beside those at T_x."""

    critic_learning_rate: float = 1e-3
    critic_warmup: int = 10
    """First steps, in which only the critic learns."""
    critic_epochs: int = 4
    """Passes of the critic over the rollouts of a step."""
    critic_width: int = 128
    """Hidden units of the value head."""
    gamma: float = 1.0
    """Discount of rewards, for each action token."""
    lam: float = 1.0
    """Lambda of generalised advantage estimation; 1 uses whole returns."""

    seed: int = 0
    """Of the task order, the sampling noise, the minibatches and the value head."""

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
            good = 0 < getattr(self, name) < LARGEST
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
        """Number of the first attempt of each group; ``step`` counts from 1.

        Attempt numbers key the sampling noise and the environment's randomness. So no two steps or
        seeds share one, and all are at least a million: evaluations use those below.
        """
        return (self.seed + 1) * ATTEMPTS + (step - 1) * self.group_size

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


LARGEST = 1e30
"""Rates and temperatures must be below it, for single precision."""

ATTEMPTS = 1_000_000
"""Attempt numbers of a task that are reserved for each seed."""


def defaults(algorithm: str, **changes) -> Settings:
    """The lab's recipe for an algorithm, with some fields changed.

    PPO has a lower learning rate: at GRPO's rate the critic lags behind the policy.
    """
    recipe = Settings(algorithm=algorithm)
    if algorithm == "ppo":
        recipe = replace(recipe, learning_rate=2e-4)
    return replace(recipe, **changes)
