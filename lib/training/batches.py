"""Rollouts as tensors: the sequences to read, every token that the policy chose, and its scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from lib.generation import logprobs
from lib.generation.logprobs import action_logits, microbatches
from lib.ptgs import MissingTemperature
from lib.trajectories.schema import Rollout
from lib.trajectories.tokens import chosen_tokens


class Episode(NamedTuple):
    """The actions of one rollout: the fields of a `Reading`, and how the actions were sampled.

    log_probs: [actions], of each token when it was sampled, at `temperature`.
    """

    sequences: list[list[int]]
    sequence: np.ndarray
    position: np.ndarray
    tokens: np.ndarray
    log_probs: np.ndarray
    temperature: float


def read_episode(rollout: Rollout) -> Episode:
    """The actions of a rollout in the order in which they were chosen, end tokens included.

    Raises MissingTemperature if the rollout does not say at which temperature it was sampled.
    """
    temperature = rollout.sampling.get("temperature")
    if temperature is None or not 0 < temperature < float("inf"):
        raise MissingTemperature(
            f"rollout {rollout.key} has the temperature {temperature!r}: expected a number above "
            "0, since the update takes every log-prob at the temperature of its rollout"
        )
    sequences, places = chosen_tokens(rollout.turns)
    turns = [turn for turn in rollout.turns if turn.action_ids]
    return Episode(
        sequences,
        np.array([sequence for sequence, where in places for _ in where], dtype=np.int64),
        np.array([position for _, where in places for position in where], dtype=np.int64),
        np.array([token for turn in turns for token in turn.action_ids], dtype=np.int64),
        np.array([value for turn in turns for value in turn.logprobs], dtype=np.float64),
        float(temperature),
    )


@dataclass(frozen=True)
class Actions(logprobs.Actions):
    """The action tokens of several rollouts, in their order; ``[a]`` is an axis of action tokens.

    rollout: [a], index of the rollout.  temperature: [a], of its rollout.
    sampled: [a], the log-prob when it was sampled, at this temperature.
    """

    rollout: torch.Tensor
    temperature: torch.Tensor
    sampled: torch.Tensor


def collate(episodes: Sequence[Episode], device="cpu") -> Actions:
    """Put episodes side by side."""
    counts = [len(episode.tokens) for episode in episodes]
    temperatures = np.array([episode.temperature for episode in episodes], dtype=np.float32)
    sampled = np.concatenate([episode.log_probs for episode in episodes]).astype(np.float32)
    return Actions(
        **vars(logprobs.collate(episodes, device)),
        rollout=torch.from_numpy(np.repeat(np.arange(len(episodes)), counts)).to(device),
        temperature=torch.from_numpy(np.repeat(temperatures, counts)).to(device),
        sampled=torch.from_numpy(sampled).to(device),
    )


def log_softmax(logits: torch.Tensor, temperature: torch.Tensor | float) -> torch.Tensor:
    """log_softmax(logits / T), [a, vocabulary]; `temperature` is [a] or one number."""
    if isinstance(temperature, torch.Tensor):
        temperature = temperature[:, None]
    return (logits / temperature).log_softmax(-1)


def entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """-sum p log p of each action in nats, [a], from log-probs [a, vocabulary]."""
    return -(log_probs.exp() * log_probs).sum(-1)


class Scores(NamedTuple):
    """Scores of action tokens before the update; each [a], on the model's device.

    log_probs, entropy_x: at the rollout's own temperature T_x.
    entropy_ref: at T_ref.
    kl_start: the exact KL(policy || start) at T_ref, a sum over the vocabulary; NaN if not asked
        for.
    start_log_probs: the log-prob under the start at T_x, or NaN.
    hidden: [a, width], the states that the model's head reads, or [a, 0].
    """

    log_probs: torch.Tensor
    entropy_x: torch.Tensor
    entropy_ref: torch.Tensor
    kl_start: torch.Tensor
    start_log_probs: torch.Tensor
    hidden: torch.Tensor


@torch.no_grad()
def score(
    model,
    start,
    episodes: Sequence[Episode],
    *,
    t_ref: float,
    rows: int,
    compare: Sequence[bool],
    keep_hidden: bool = False,
) -> Scores:
    """Score every action token of the episodes, in their order.

    start: a function that returns the start's logits of some Actions.
    rows: sequences in one forward pass, at most.
    compare: which episodes to compare with the start.
    keep_hidden: return the hidden states, which a critic needs.
    """
    device = model.device
    counts = np.array([len(episode.tokens) for episode in episodes])
    ends = np.cumsum(counts)
    columns, order = [], []
    for batch in microbatches(episodes, rows=rows):
        actions = collate([episodes[i] for i in batch], device)
        logits, hidden = action_logits(model, actions)
        picked = actions.tokens[:, None]
        at_x, at_ref = log_softmax(logits, actions.temperature), log_softmax(logits, t_ref)
        log_probs = at_x.gather(1, picked)[:, 0]
        kl, of_start = torch.full_like(log_probs, torch.nan), torch.full_like(log_probs, torch.nan)
        compared = [number for number, i in enumerate(batch) if compare[i]]
        if compared:
            these = torch.isin(actions.rollout, torch.tensor(compared, device=device))
            logits = start(collate([episodes[batch[number]] for number in compared], device))
            temperature = actions.temperature[these]
            of_start[these] = log_softmax(logits, temperature).gather(1, picked[these])[:, 0]
            own = at_ref[these]
            kl[these] = (own.exp() * (own - log_softmax(logits, t_ref))).sum(-1)
        hidden = hidden if keep_hidden else hidden[:, :0]
        columns.append((log_probs, entropy(at_x), entropy(at_ref), kl, of_start, hidden))
        order += [np.arange(ends[i] - counts[i], ends[i]) for i in batch]
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(device)
    return Scores(*(torch.cat(column)[back] for column in zip(*columns, strict=True)))
