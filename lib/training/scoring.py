"""What the model says of action tokens, at each row's own temperature."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from lib.generation.logprobs import action_logits, microbatches
from lib.training.actions import Episode, collate


def log_softmax(logits: torch.Tensor, temperature: torch.Tensor | float) -> torch.Tensor:
    """log_softmax(logits / T), [a, vocabulary]; `temperature` is [a] or one number."""
    if isinstance(temperature, torch.Tensor):
        temperature = temperature[:, None]
    return (logits / temperature).log_softmax(-1)


def entropy(log_probs: torch.Tensor) -> torch.Tensor:
    """-sum p log p of each row in nats, [a], from log-probs [a, vocabulary]."""
    return -(log_probs.exp() * log_probs).sum(-1)


class Scores(NamedTuple):
    """Of every action token of a step, before the update; each [a], on the model's device.

    log_probs and entropy_x are at the row's temperature T_x, entropy_ref and kl_start at T_ref.
    kl_start is the exact KL(policy || start), a sum over the vocabulary; nan where it was not
    asked for. start_log_probs is the log-prob under the start at T_x, or nan.
    hidden: [a, width], what the model's head reads, or [a, 0].
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

    start: gives the start's logits of some Actions.  compare: episodes compared with the start.
    rows: sequences in one forward pass, at most.  keep_hidden: as a critic needs them.
    """
    device = model.device
    counts = np.array([len(episode.tokens) for episode in episodes])
    ends = np.cumsum(counts)
    found, order = [], []
    for microbatch in microbatches(episodes, rows=rows):
        actions = collate([episodes[i] for i in microbatch], device)
        logits, hidden = action_logits(model, actions)
        picked = actions.tokens[:, None]
        at_x, at_ref = log_softmax(logits, actions.temperature), log_softmax(logits, t_ref)
        log_probs = at_x.gather(1, picked)[:, 0]
        kl, theirs = torch.full_like(log_probs, torch.nan), torch.full_like(log_probs, torch.nan)
        chosen = [number for number, i in enumerate(microbatch) if compare[i]]
        if chosen:
            these = torch.isin(actions.rollout, torch.tensor(chosen, device=device))
            logits = start(collate([episodes[microbatch[number]] for number in chosen], device))
            heat = actions.temperature[these]
            theirs[these] = log_softmax(logits, heat).gather(1, picked[these])[:, 0]
            own = at_ref[these]
            kl[these] = (own.exp() * (own - log_softmax(logits, t_ref))).sum(-1)
        hidden = hidden if keep_hidden else hidden[:, :0]
        found.append((log_probs, entropy(at_x), entropy(at_ref), kl, theirs, hidden))
        order += [np.arange(ends[i] - counts[i], ends[i]) for i in microbatch]
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(device)
    return Scores(*(torch.cat(column)[back] for column in zip(*found, strict=True)))
