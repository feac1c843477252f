"""One icy level on which a trained policy can be compared with the exact optimum.

A policy that sees the present observation alone, and an episode that may end after every reply,
make a stationary MDP of 25 states. An action is a whole reply, whose log-prob is the sum of those
of its tokens.
"""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from lib.envs import Outcome, tabular_mdp
from lib.envs.frozenlake import FrozenLake
from lib.envs.grid import GridEpisode, move_call
from lib.rollouts.prompts.word_language import END, START, TURN, WordLanguage, write_calls

PLANS: list[tuple[int, ...]] = [
    (),
    *((move,) for move in range(4)),
    *itertools.product(range(4), repeat=2),
]
"""The actions: no valid call, one move, or two."""


class FadingLake(FrozenLake):
    """One level, a task for each cell to start from.

    After each reply an episode ends with probability 1 - gamma.
    """

    name = "fadinglake"

    def __init__(self, task: str = "frozenlake-train-00000", gamma: float = 0.9):
        super().__init__("train", 1, turns=200)
        self.gamma = gamma
        self.whole = FrozenLake().level(task)  # `level(task)` has the start of that task
        self.settings |= {"level": task, "gamma": gamma}

    def tasks(self) -> list[str]:
        return [f"{self.name}-{s:02}" for s, end in enumerate(self.whole.ends) if end is None]

    def _level(self, task: str):
        return replace(self.whole, start=int(task.rpartition("-")[2]))

    def reset(self, task: str, attempt: int) -> "Fading":
        return Fading(self, task, attempt)

    def table(self) -> tabular_mdp.Table:
        """The MDP that a policy with the prompt format `Glance` acts in."""
        return tabular_mdp.from_level(self.whole, self.slip, self.gamma, PLANS)


class Fading(GridEpisode):
    """A walk that may end after any reply."""

    def __init__(self, lake: FadingLake, task: str, attempt: int):
        super().__init__(lake, task, attempt)
        self.fading = random.Random(f"{task}/{attempt}/fading")

    def step(self, reply):
        messages = super().step(reply)
        if not self.done and self.fading.random() >= self.environment.gamma:
            self.outcome = Outcome(False, "faded", {"turns": self.turn, "moves": self.made})
            return ()
        return messages


@dataclass(frozen=True)
class Glance(WordLanguage):
    """The lab's prompt format with the last observation alone."""

    @property
    def settings(self):
        return super().settings | {"dialect": "glance"}

    def prompt(self, context) -> str:
        return _glance(context.messages[-1].content)


def _glance(observation: str) -> str:
    return f"{START} {observation} {TURN} "


def log_policy(model, tokenizer, lake: FadingLake) -> np.ndarray:
    """Log-probs of every action in every state, [s, a], at temperature 1."""
    import torch

    calls = [write_calls([move_call(plan, lake.tool)]) for plan in PLANS[1:]]
    log_probs = np.zeros((len(lake.whole.seen), len(PLANS)))
    for state, observation in enumerate(lake.whole.seen):
        start = tokenizer(_glance(observation), add_special_tokens=False)["input_ids"]
        replies = [
            tokenizer(f"{call} {END}", add_special_tokens=False)["input_ids"] for call in calls
        ]
        for length in {len(reply) for reply in replies}:
            chosen = [i for i, reply in enumerate(replies) if len(reply) == length]
            ids = torch.tensor([start + replies[i] for i in chosen])
            with torch.no_grad():
                logits = model(ids[:, :-1]).logits[:, len(start) - 1 :].double()
            picked = logits.log_softmax(-1).gather(2, ids[:, len(start) :, None])
            log_probs[state, [i + 1 for i in chosen]] = picked.sum((1, 2)).numpy()
        log_probs[state, 0] = np.log(max(1 - np.exp(log_probs[state, 1:]).sum(), 1e-12))
    return log_probs


def run(
    base: Path, out: Path, *, steps: Sequence[int] = (50, 200), kl_weight: float = 0.3
) -> pd.DataFrame:
    """Train by GRPO with a KL to the base; tabulate the base, and the policy after each of `steps`.

    Columns: `step` (0 is the base), `state`, `action` (its number in `PLANS`), `log_policy`, and
    `beta`: the weight of the KL in units of the return, kl_weight times the mean standard deviation
    of the groups' rewards up to that step, by which GRPO divides.
    """
    from lib.generation import load
    from lib.training import FixedTemperature, defaults, train_policy

    lake = FadingLake()
    model, tokenizer = load(base)
    rows = [tabulate(0, np.nan, log_policy(model, tokenizer, lake))]
    for last in steps:
        model, tokenizer = load(base)
        settings = defaults("grpo", steps=last, kl_weight=kl_weight, max_new_tokens=10)
        log = train_policy(
            model,
            tokenizer,
            Glance(),
            lake,
            lake.tasks(),
            settings,
            FixedTemperature(1.0),
            out / f"{last}",
            progress=False,
        )
        rates = [g["successes"] / g["rollouts"] for line in log for g in line["groups"]]
        beta = kl_weight * np.mean([np.sqrt(r * (1 - r)) for r in rates if 0 < r < 1])
        rows.append(tabulate(last, beta, log_policy(model, tokenizer, lake)))
    return pd.concat(rows, ignore_index=True)


def tabulate(step: int, beta: float, log_policy: np.ndarray) -> pd.DataFrame:
    """Rows of the table of `run` for the policy after one step.  log_policy: [s, a]."""
    states, actions = np.indices(log_policy.shape)
    return pd.DataFrame(
        {
            "step": step,
            "state": states.ravel(),
            "action": actions.ravel(),
            "log_policy": log_policy.ravel(),
            "beta": beta,
        }
    )
