"""Rollouts as tensors: the sequences to read, and in them every token that the policy chose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from lib.generation import logprobs
from lib.ptgs import MissingTemperature
from lib.trajectories.schema import Rollout, chosen_tokens


class Episode(NamedTuple):
    """The actions of one rollout, a `lib.generation.logprobs.Reading` and how it was sampled.

    log_probs: [actions], of each token at the time, at `temperature`.
    """

    sequences: list[list[int]]
    sequence: np.ndarray
    position: np.ndarray
    tokens: np.ndarray
    log_probs: np.ndarray
    temperature: float


def read_episode(rollout: Rollout) -> Episode:
    """The actions of a rollout in the order in which they were chosen, end tokens included.

    Raises MissingTemperature if the rollout's sampling does not tell its temperature.
    """
    heat = rollout.sampling.get("temperature")
    if heat is None or not 0 < heat < float("inf"):
        raise MissingTemperature(
            f"rollout {rollout.key} has the temperature {heat!r}: every log-prob of the update is "
            "taken at the temperature its row was sampled at, a number above 0"
        )
    sequences, places = chosen_tokens(rollout.turns)
    turns = [turn for turn in rollout.turns if turn.action_ids]
    return Episode(
        sequences,
        np.array([one for one, where in places for _ in where], dtype=np.int64),
        np.array([at for _, where in places for at in where], dtype=np.int64),
        np.array([token for turn in turns for token in turn.action_ids], dtype=np.int64),
        np.array([value for turn in turns for value in turn.logprobs], dtype=np.float64),
        float(heat),
    )


@dataclass(frozen=True)
class Actions(logprobs.Actions):
    """The actions of several rollouts, in their order; ``[a]`` are one an action token.

    rollout: [a], number of the rollout here.  temperature: [a], of its row.
    sampled: [a], the log-prob at the time, at this temperature.
    """

    rollout: torch.Tensor
    temperature: torch.Tensor
    sampled: torch.Tensor


def collate(episodes: Sequence[Episode], device="cpu") -> Actions:
    """Put episodes side by side."""
    counts = [len(episode.tokens) for episode in episodes]
    heats = np.array([one.temperature for one in episodes], dtype=np.float32)
    sampled = np.concatenate([one.log_probs for one in episodes]).astype(np.float32)
    return Actions(
        **vars(logprobs.collate(episodes, device)),
        rollout=torch.from_numpy(np.repeat(np.arange(len(episodes)), counts)).to(device),
        temperature=torch.from_numpy(np.repeat(heats, counts)).to(device),
        sampled=torch.from_numpy(sampled).to(device),
    )
