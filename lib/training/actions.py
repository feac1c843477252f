"""Rollouts as tensors: the sequences to read, and in them every token that the policy chose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from lib.ptgs import MissingTemperature
from lib.trajectory import Rollout


class Episode(NamedTuple):
    """The actions of one rollout.

    sequences: token ids to read, one list unless a turn did not go on from the last one's tokens.
    sequence, position: [actions], where each action token was chosen: the logits there are over it.
    tokens, log_probs: [actions], what was chosen, and its log-prob at the time, at `temperature`.
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
    sequences: list[list[int]] = []
    places = []
    # Backwards, since a turn's tokens are mostly read again by the turn after it. Its last token
    # need not be: nothing was chosen after it, and a dialect may leave an end token out.
    for turn in reversed(rollout.turns):
        if not turn.action_ids:
            continue
        read = list(turn.prompt_ids + turn.action_ids[:-1])
        if not sequences or sequences[-1][: len(read)] != read:
            sequences.append(read)
        first = len(turn.prompt_ids) - 1
        places.append((len(sequences) - 1, range(first, len(read)), turn))
    places.reverse()
    return Episode(
        sequences,
        np.array([one for one, where, _ in places for _ in where], dtype=np.int64),
        np.array([at for _, where, _ in places for at in where], dtype=np.int64),
        np.array([token for *_, turn in places for token in turn.action_ids], dtype=np.int64),
        np.array([value for *_, turn in places for value in turn.logprobs], dtype=np.float64),
        float(heat),
    )


@dataclass(frozen=True)
class Actions:
    """The actions of several rollouts, in their order; ``[a]`` are one an action token.

    ids: [sequences, longest], padded on the right, where causal attention never looks.
    sequence, position, tokens: [a], as in `Episode`.
    rollout: [a], number of the rollout here.  temperature: [a], of its row.
    """

    ids: torch.Tensor
    sequence: torch.Tensor
    position: torch.Tensor
    tokens: torch.Tensor
    rollout: torch.Tensor
    temperature: torch.Tensor


def collate(episodes: Sequence[Episode], device="cpu") -> Actions:
    """Put episodes side by side."""
    sequences = [one for episode in episodes for one in episode.sequences]
    ids = np.zeros((len(sequences), max(map(len, sequences), default=1)), dtype=np.int64)
    for row, one in zip(ids, sequences, strict=True):
        row[: len(one)] = one
    starts = np.cumsum([0, *(len(episode.sequences) for episode in episodes)])
    counts = [len(episode.tokens) for episode in episodes]

    def join(arrays):
        return torch.from_numpy(np.concatenate(arrays)).to(device)

    return Actions(
        ids=torch.from_numpy(ids).to(device),
        sequence=join([one.sequence + at for one, at in zip(episodes, starts, strict=False)]),
        position=join([one.position for one in episodes]),
        tokens=join([one.tokens for one in episodes]),
        rollout=torch.from_numpy(np.repeat(np.arange(len(episodes)), counts)).to(device),
        temperature=torch.from_numpy(
            np.repeat(np.array([one.temperature for one in episodes], dtype=np.float32), counts)
        ).to(device),
    )


def pieces(episodes: Sequence[Episode], rows: int) -> list[list[int]]:
    """Numbers of the episodes in lots of about `rows` sequences, those of like length together."""
    order = sorted(
        range(len(episodes)), key=lambda i: max(map(len, episodes[i].sequences), default=0)
    )
    lots, count = [[]], 0
    for i in order:
        size = len(episodes[i].sequences)
        if count and count + size > rows:
            lots.append([])
            count = 0
        lots[-1].append(i)
        count += size
    return lots
