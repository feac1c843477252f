"""What the progress advantage is compared with: a trained outcome reward model of the lab.

Every weight of the base is tuned with a classification head that reads the last token of a whole
transcript, on rollouts of training tasks whose outcomes are the labels. Progress advantage needs
none of them.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

from lib.generation import load

EPOCHS, ROWS, RATE = 3, 64, 1e-3


def fit(base: Path, transcripts: list[list[int]], passed: list[bool], *, seed: int = 0):
    """The base with a head, fitted to whether transcripts of token ids succeeded."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = load(base)[0]
        body, head = model.base_model, torch.nn.Linear(model.config.hidden_size, 1)
        weights = [*body.parameters(), *head.parameters()]
        optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.01)
        steps = EPOCHS * -(-len(transcripts) // ROWS)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)
        labels = torch.tensor(passed, dtype=torch.float32)
        for _ in range(EPOCHS):
            for these in torch.randperm(len(transcripts)).split(ROWS):
                logits = _logits(body, head, [transcripts[i] for i in these])
                loss = binary_cross_entropy_with_logits(logits, labels[these])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
    return body, head


@torch.no_grad()
def rate(reward_model, transcripts: list[list[int]]) -> NDArray[np.float64]:
    """The logit of success of each transcript, [t]."""
    logits = np.zeros(len(transcripts))
    for low in range(0, len(transcripts), 256):
        part = transcripts[low : low + 256]
        logits[low : low + len(part)] = _logits(*reward_model, part).double().numpy()
    return logits


def _logits(body, head, transcripts) -> torch.Tensor:
    ends = torch.tensor([len(tokens) for tokens in transcripts]) - 1
    ids = torch.zeros((len(transcripts), int(ends.max()) + 1), dtype=torch.long)
    for row, tokens in zip(ids, transcripts, strict=True):
        row[: len(tokens)] = torch.tensor(tokens)
    # Padded on the right, where causal attention never looks.
    states = body(ids, use_cache=False).last_hidden_state
    return head(states[torch.arange(len(ends)), ends])[:, 0]
