"""Log-probs of chosen tokens under a causal language model, without computing all of its logits.

The head is applied only at the positions of action tokens, in pieces: all logits of a transcript of
2,048 tokens with a vocabulary of 262,144 would take 2 GB, and their log-softmax as much.
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
    """The action tokens of several readings, in their order; ``[a]`` is an axis of action tokens.

    ids: [sequences, longest], padded on the right, where causal attention never looks.
    sequence: [a], row of `ids`.  position, tokens: [a], as in `Reading`.
    """

    ids: torch.Tensor
    sequence: torch.Tensor
    position: torch.Tensor
    tokens: torch.Tensor


def collate(readings: Sequence[Reading], device="cpu") -> Actions:
    """Put readings side by side; equal sequences are read once.

    Attempts of a policy of low entropy are often equal. A sequence that is read once has the sum of
    their gradients.
    """
    rows: dict[tuple[int, ...], int] = {}
    row_of = [
        np.array([rows.setdefault(tuple(ids), len(rows)) for ids in reading.sequences], np.int64)
        for reading in readings
    ]
    ids = np.zeros((len(rows), max(map(len, rows), default=1)), dtype=np.int64)
    for row, sequence in zip(ids, rows, strict=True):
        row[: len(sequence)] = sequence

    def join(arrays):
        return torch.from_numpy(np.concatenate(arrays)).to(device)

    return Actions(
        ids=torch.from_numpy(ids).to(device),
        sequence=join([row[r.sequence] for r, row in zip(readings, row_of, strict=True)]),
        position=join([reading.position for reading in readings]),
        tokens=join([reading.tokens for reading in readings]),
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
    """Logits [a, vocabulary] that predict each action token, and their hidden states [a, width].

    most: number of actions to compute logits of, the first ones; `logits_of` computes the others.
    """
    kept = []

    def only_actions(states):
        kept.append(states[actions.sequence, actions.position])
        return kept[0][:most][None]

    with _head_reads(model, only_actions):
        logits = model(actions.ids, use_cache=False).logits[0]
    return logits.float(), kept[0]


def logits_of(model, hidden: torch.Tensor) -> torch.Tensor:
    """Logits [a, vocabulary] of hidden states [a, width], by the head and what follows it.

    What follows it (a soft cap, a scale) differs by architecture, so the whole model is run, on one
    token, at the cost of decoding one.
    """
    with _head_reads(model, lambda states: hidden[None]):
        anything = torch.zeros((1, 1), dtype=torch.long, device=hidden.device)
        return model(anything, use_cache=False).logits[0].float()


@contextmanager
def _head_reads(model, instead) -> Iterator[None]:
    """Let the model's head read `instead(states)` in place of its states."""
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
    """Score every action token of the readings, in their order, each in one forward pass.

    Equal readings, which many attempts of a policy of low entropy are, are read once.

    top_k: the mean log-prob is over so many of the most likely tokens, or all of a smaller
        vocabulary.
    tokens_at_once, logits_at_once: bounds of a forward pass and of the head, for memory.
    progress: a progress bar over tokens; None shows it on a terminal only.
    """
    if top_k < 1:
        raise ValueError(f"top_k is {top_k}: expected at least 1")
    _check_ids(model, readings)
    first: dict[tuple, int] = {}
    same = [first.setdefault(_content(reading), i) for i, reading in enumerate(readings)]
    scores = {i: TokenScores(np.zeros(0), np.zeros(0)) for i in first.values()}
    full = [i for i in scores if len(readings[i].tokens)]
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
                scores[i] = TokenScores(*values)
            bar.update(sum(read[j] for j in microbatch))
    return [scores[i] for i in same]


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
        del logits  # before the next logits are computed
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
