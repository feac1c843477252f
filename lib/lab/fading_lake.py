"""One icy level on which a trained policy can be set beside the exact optimum.

A policy that sees the present observation alone, and an episode that may end after every reply,
make a stationary MDP of 25 states; an action is a whole reply, its log-prob the sum of its tokens'.
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
    """One level with a task for each cell to start from; after a reply it ends with 1 - gamma."""

    name = "fadinglake"

    def __init__(self, task: str = "frozenlake-train-00000", gamma: float = 0.9):
        super().__init__("train", 1, turns=200)
        self.gamma = gamma
        self.whole = FrozenLake().level(task)  # `level` gives it with a task's own start
        self.settings |= {"level": task, "gamma": gamma}

    def tasks(self) -> list[str]:
        return [f"{self.name}-{s:02}" for s, end in enumerate(self.whole.ends) if end is None]

    def _level(self, task: str):
        return replace(self.whole, start=int(task.rpartition("-")[2]))

    def reset(self, task: str, attempt: int) -> "Fading":
        return Fading(self, task, attempt)

    def table(self) -> tabular_mdp.Table:
        """The MDP that a policy of `Glance` meets here."""
        return tabular_mdp.from_level(self.whole, self.slip, self.gamma, PLANS)


class Fading(GridEpisode):
    """A walk that may end after any reply."""

    def __init__(self, world: FadingLake, task: str, attempt: int):
        super().__init__(world, task, attempt)
        self.fading = random.Random(f"{task}/{attempt}/fading")

    def step(self, reply):
        said = super().step(reply)
        if not self.done and self.fading.random() >= self.environment.gamma:
            self.outcome = Outcome(False, "faded", {"turns": self.turn, "moves": self.made})
            return ()
        return said


@dataclass(frozen=True)
class Glance(WordLanguage):
    """The lab's prompt format, but only the last observation is told."""

    @property
    def settings(self):
        return super().settings | {"dialect": "glance"}

    def prompt(self, context) -> str:
        return _glance(context.messages[-1].content)


def _glance(observation: str) -> str:
    return f"{START} {observation} {TURN} "


def log_chances(model, tokenizer, world: FadingLake) -> np.ndarray:
    """Log-probability of every action in every state, [s, a], at temperature 1."""
    import torch

    calls = [write_calls([move_call(plan, world.tool)]) for plan in PLANS[1:]]
    found = np.zeros((len(world.whole.seen), len(PLANS)))
    for state, observation in enumerate(world.whole.seen):
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
            found[state, [i + 1 for i in chosen]] = picked.sum((1, 2)).numpy()
        found[state, 0] = np.log(max(1 - np.exp(found[state, 1:]).sum(), 1e-12))
    return found


def run(
    base: Path, out: Path, *, steps: Sequence[int] = (50, 200), kl_weight: float = 0.3
) -> pd.DataFrame:
    """Train by GRPO with a KL to the base, and tabulate the policy after each of `steps`.

    Columns: `step` (0 is the base), `state`, `action` (its number in `PLANS`), `log_policy`, and
    `beta`: the weight of the KL in units of the return, kl_weight times the mean standard deviation
    of the groups' rewards up to that step, by which GRPO divides.
    """
    from lib.generation import load
    from lib.training import FixedTemperature, defaults, train_policy

    world = FadingLake()
    model, tokenizer = load(base)
    rows = [_tabulated(0, np.nan, log_chances(model, tokenizer, world))]
    for last in steps:
        model, tokenizer = load(base)
        settings = defaults("grpo", steps=last, kl_weight=kl_weight, max_new_tokens=10)
        log = train_policy(
            model,
            tokenizer,
            Glance(),
            world,
            world.tasks(),
            settings,
            FixedTemperature(1.0),
            out / f"{last}",
            progress=False,
        )
        rates = [g["successes"] / g["rollouts"] for line in log for g in line["groups"]]
        beta = kl_weight * np.mean([np.sqrt(r * (1 - r)) for r in rates if 0 < r < 1])
        rows.append(_tabulated(last, beta, log_chances(model, tokenizer, world)))
    return pd.concat(rows, ignore_index=True)


def _tabulated(step, beta, log_policy) -> pd.DataFrame:
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
