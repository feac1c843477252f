"""What a causal language model says of tokens that were chosen, without all of its logits.

The head is applied to the places where an action token was chosen, in pieces: of a transcript of
2,048 tokens and a vocabulary of 262,144, all logits would take 2 GB, and their log-softmax again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from tqdm import tqdm

from lib.trajectories.tokens import LOGITS_AT_ONCE, TOKENS_AT_ONCE, TOP_K, Reading, TokenScores


@dataclass(frozen=True)
class Actions:
    """The actions of several readings, in their order; ``[a]`` are one an action token.

    ids: [sequences, longest], padded on the right, where causal attention never looks.
    sequence: [a], row of `ids`.  position, tokens: [a], as in `Reading`.
    """

    ids: torch.Tensor
    sequence: torch.Tensor
    position: torch.Tensor
    tokens: torch.Tensor


def collate(readings: Sequence[Reading], device="cpu") -> Actions:
    """Put readings side by side; sequences that are the same are read once.

    Attempts of a sure policy are often the same, and what is read once has the sum of their
    gradients.
    """
    rows: dict[tuple[int, ...], int] = {}
    row_of = [
        np.array([rows.setdefault(tuple(one), len(rows)) for one in reading.sequences], np.int64)
        for reading in readings
    ]
    ids = np.zeros((len(rows), max(map(len, rows), default=1)), dtype=np.int64)
    for row, one in zip(ids, rows, strict=True):
        row[: len(one)] = one

    def join(arrays):
        return torch.from_numpy(np.concatenate(arrays)).to(device)

    return Actions(
        ids=torch.from_numpy(ids).to(device),
        sequence=join([at[one.sequence] for one, at in zip(readings, row_of, strict=True)]),
        position=join([one.position for one in readings]),
        tokens=join([one.tokens for one in readings]),
    )


def microbatches(
    readings: Sequence[Reading], *, rows: float = np.inf, tokens: float = np.inf
) -> list[list[int]]:
    """Split readings into microbatches of similar length; returns the indices of each.

    rows: sequences of a microbatch, at most.  tokens: of a microbatch, padding included, at most.
    A microbatch has at least one reading, however large.
    """
    lengths = [max(map(len, reading.sequences), default=0) for reading in readings]
    batches, count = [], 0
    for i in sorted(range(len(readings)), key=lengths.__getitem__):
        size = len(readings[i].sequences)
        # Lengths ascend, so the last reading is as long as its microbatch is wide.
        too_large = count + size > rows or (count + size) * lengths[i] > tokens
        if not batches or (count and too_large):
            batches.append([])
            count = 0
        batches[-1].append(i)
        count += size
    return batches or [[]]


def action_logits(
    model, actions: Actions, most: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits [a, vocabulary] over each action token, and the hidden states [a, width] they are of.

    most: logits of the first so many actions only; the others' hidden states await `logits_of`.
    """
    kept = []

    def only_actions(states):
        kept.append(states[actions.sequence, actions.position])
        return kept[0][:most][None]

    with _head_reads(model, only_actions):
        logits = model(actions.ids, use_cache=False).logits[0]
    return logits.float(), kept[0]


def logits_of(model, hidden: torch.Tensor) -> torch.Tensor:
    """Logits [a, vocabulary] of hidden states [a, width], as the head and what follows give them.

    What follows (a soft cap, a scale) differs by architecture, so the model itself runs, on one
    token, which costs as much as to decode one.
    """
    with _head_reads(model, lambda states: hidden[None]):
        anything = torch.zeros((1, 1), dtype=torch.long, device=hidden.device)
        return model(anything, use_cache=False).logits[0].float()


@contextmanager
def _head_reads(model, instead) -> Iterator[None]:
    """Within it the model's head reads `instead(states)` in place of its states."""
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: (instead(inputs[0]),))
    try:
        yield
    finally:
        hook.remove()


@torch.no_grad()
def score_tokens(
    model,
    readings: Sequence[Reading],
    *,
    top_k: int = TOP_K,
    tokens_at_once: int = TOKENS_AT_ONCE,
    logits_at_once: int = LOGITS_AT_ONCE,
    progress: bool | None = False,
) -> list[TokenScores]:
    """Score every action token of the readings, in their order; one forward pass reads each.

    Readings that are the same, as many attempts of a sure policy are, are read once.

    top_k: of a smaller vocabulary, all tokens.  tokens_at_once, logits_at_once: for memory.
    progress: a bar over tokens; None shows it on a terminal only.
    """
    if top_k < 1:
        raise ValueError(f"top_k is {top_k}: expected at least 1")
    _check_ids(model, readings)
    first: dict[tuple, int] = {}
    same = [first.setdefault(_content(reading), i) for i, reading in enumerate(readings)]
    found = {i: TokenScores(np.zeros(0), np.zeros(0)) for i in first.values()}
    full = [i for i in found if len(readings[i].tokens)]
    read = [sum(map(len, readings[i].sequences)) for i in full]
    shown = None if progress is None else not progress
    with tqdm(total=sum(read), unit="token", unit_scale=True, disable=shown) as bar:
        for microbatch in (
            microbatches([readings[i] for i in full], tokens=tokens_at_once) if full else ()
        ):
            these = [full[j] for j in microbatch]
            actions = collate([readings[i] for i in these], model.device)
            ends = np.cumsum([len(readings[i].tokens) for i in these])[:-1]
            columns = _score_microbatch(model, actions, top_k, logits_at_once)
            parts = [np.split(column, ends) for column in columns]
            for i, *values in zip(these, *parts, strict=True):
                found[i] = TokenScores(*values)
            bar.update(sum(read[j] for j in microbatch))
    return [found[i] for i in same]


def _content(reading: Reading) -> tuple:
    arrays = (reading.sequence.tobytes(), reading.position.tobytes(), reading.tokens.tobytes())
    return (tuple(map(tuple, reading.sequences)), *arrays)


def _score_microbatch(model, actions, top_k, logits_at_once) -> tuple[np.ndarray, np.ndarray]:
    vocabulary = model.get_output_embeddings().weight.shape[0]
    step = max(1, logits_at_once // vocabulary)
    logits, hidden = action_logits(model, actions, most=step)
    columns = []
    for low in range(0, len(hidden), step):
        if low:
            logits = logits_of(model, hidden[low : low + step])
        picked = logits.gather(1, actions.tokens[low : low + step, None])[:, 0]
        top = logits.topk(min(top_k, logits.shape[-1]), sorted=False).values.mean(-1)
        total = logits.logsumexp(-1)
        del logits  # before the next ones are there
        columns.append(torch.stack([picked - total, top - total]).double().cpu())
    log_probs, top = torch.cat(columns, 1).numpy()
    if np.isnan(log_probs).any():
        raise FloatingPointError("the model's log-probs hold NaN: its weights are damaged")
    return log_probs, top


def _check_ids(model, readings) -> None:
    vocabulary = model.get_input_embeddings().weight.shape[0]
    for number, reading in enumerate(readings):
        for sequence in (*reading.sequences, reading.tokens):
            if len(sequence) and not 0 <= min(sequence) <= max(sequence) < vocabulary:
                raise ValueError(
                    f"reading {number} has token ids from {min(sequence)} to {max(sequence)}, the "
                    f"model those from 0 to {vocabulary - 1}: they are another tokenizer's"
                )
