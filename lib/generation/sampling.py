"""Choosing the next token: every setting is explicit, and every random number has a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

NEAR = 1e-4
"""Two perturbed logits closer than this may swap places when rounding differs: a tie."""
MASS_NEAR = 1e-5
"""Rounding may move a token into or out of the nucleus that is within this mass of its edge."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """All settings of the sampling of a rollout; a checkpoint's generation settings are ignored.

    The order is: repetition penalty on the logits, division by the temperature, then top-k and
    top-p on the distribution at that temperature. By default all of them are off.
    """

    temperature: float
    """Divides the logits; 0 chooses the most likely token."""
    max_new_tokens: int
    """Maximum number of tokens in a reply; at least 1."""
    top_p: float = 1.0
    """Keep the fewest most likely tokens whose probabilities sum to at least this; in (0, 1]."""
    top_k: int = 0
    """Keep this many most likely tokens; 0 keeps all."""
    repetition_penalty: float = 1.0
    """Divides positive and multiplies negative logits of tokens already in the context; > 0."""
    stop: tuple[str, ...] = ()
    """A reply ends as soon as its text contains one of these strings, and is cut before it."""
    eos: tuple[int, ...] = ()
    """Token ids that end a reply; they are part of its tokens, not of its text."""

    def __post_init__(self):
        checks = [
            ("temperature", 0 <= self.temperature < float("inf"), "a finite number, at least 0"),
            ("max_new_tokens", self.max_new_tokens >= 1, "at least 1"),
            ("top_p", 0 < self.top_p <= 1, "in (0, 1]; 1 keeps all tokens"),
            ("top_k", 0 <= self.top_k < 2**31, "at least 0 and below 2^31; 0 keeps all tokens"),
            (
                "repetition_penalty",
                0 < self.repetition_penalty < float("inf"),
                "a finite number above 0; 1 is no penalty",
            ),
            ("stop", not isinstance(self.stop, str) and all(self.stop), "non-empty strings"),
            ("eos", all(token >= 0 for token in self.eos), "token ids, at least 0"),
        ]
        for name, good, expected in checks:
            if not good:
                raise ValueError(
                    f"Sampling.{name} is {getattr(self, name)!r}: it must be {expected}"
                )


def gumbel(keys: Sequence[np.ndarray], positions: Sequence[int], width: int) -> torch.Tensor:
    """Standard Gumbel noise, [rows, width], float32, on the CPU.

    Row i is a function of ``keys[i]``, ``positions[i]`` and ``width`` alone. Philox 4x64 (Salmon et
    al. 2011, "Parallel random numbers: as easy as 1, 2, 3", as in numpy) counts blocks in its first
    word; the position is its second, so positions never share a block. With u uniform,
    -log(-log(1 - u)) is computed so that the largest values, which decide, are the most precise.
    """
    generator = np.random.Philox(key=0)
    state = generator.state
    noise = torch.empty(len(keys), width)
    for row, key, position in zip(noise.numpy(), keys, positions, strict=True):
        state["state"]["key"][:] = key
        state["state"]["counter"][:] = (0, position, 0, 0)
        generator.state = state
        row[:] = generator.random_raw((width + 1) // 2).view(np.uint32)[:width]
    noise.add_(0.5).mul_(-(2.0**-32)).clamp_(min=2.0**-24 - 1)
    return noise.log1p_().neg_().log_().neg_()


class Choice(NamedTuple):
    """One token for each of n rows; all of shape [n].

    ``log_probs`` are of the model's whole distribution at the row's temperature, log_softmax(l/T),
    ``log_probs_at_1`` of log_softmax(l): neither top-k, top-p nor the repetition penalty enters
    them. A policy ratio needs these: another policy may keep other tokens, and the ratio of two
    truncated distributions would be infinite or zero. At temperature 0 the choice is certain, and
    its log_prob is 0.
    """

    tokens: torch.Tensor
    log_probs: torch.Tensor
    log_probs_at_1: torch.Tensor
    ties: torch.Tensor
    """True where rounding could have changed the choice, see NEAR and MASS_NEAR."""


class Chooser:
    """Chooses the next token of n rows, each by its own Sampling and its own key.

    Parameters
    ----------
    settings : n Samplings
    keys : n keys from :meth:`RolloutKey.philox`
    drawn : n counts of the tokens each rollout has sampled before: the position of its noise
    contexts : n lists of token ids, which only the repetition penalty reads
    """

    def __init__(self, settings, keys, drawn, contexts, device):
        def column(name):
            return torch.tensor([getattr(s, name) for s in settings], device=device)[:, None]

        self.temperature = column("temperature").float()
        self.top_p, self.top_k = column("top_p").float(), column("top_k")
        self.penalty = column("repetition_penalty").float()
        self.keys, self.drawn = np.stack(keys), np.array(drawn, dtype=np.int64)
        self.contexts = contexts if bool((self.penalty != 1).any()) else None
        self.seen = None

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows only, in this order; ``rows``, [m], are indices of the present rows."""
        device_rows = rows.to(self.temperature.device)
        for name in ("temperature", "top_p", "top_k", "penalty", "seen"):
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name)[device_rows])
        self.keys, self.drawn = self.keys[rows.numpy()], self.drawn[rows.numpy()]

    def choose(self, logits: torch.Tensor) -> Choice:
        """Sample argmax(l / T + g), g the keyed Gumbel noise; ``logits`` is [n, vocabulary]."""
        logits = logits.float()
        greedy = self.temperature == 0
        temperature = torch.where(greedy, 1.0, self.temperature)
        at_1 = logits.log_softmax(-1)
        at_t = at_1 if bool((temperature == 1).all()) else (at_1 / temperature).log_softmax(-1)
        scaled = at_t
        if self.contexts is not None:
            scaled = (self._penalised(logits) / temperature).log_softmax(-1)
        noise = self._noise(~greedy[:, 0].cpu().numpy(), logits.shape[1])
        tokens, ties = _winners(noise.to(logits.device), scaled, self.top_p, self.top_k)
        self.drawn += 1
        if self.seen is not None:
            self.seen.scatter_(1, tokens[:, None], True)
        picked = tokens[:, None]
        log_probs = torch.where(greedy, 0.0, at_t.gather(1, picked))
        log_probs_at_1 = at_1.gather(1, picked)
        if bool(log_probs_at_1.isnan().any()):
            raise FloatingPointError("the model's logits hold NaN: its weights are damaged")
        return Choice(tokens, log_probs[:, 0], log_probs_at_1[:, 0], ties)

    def _noise(self, random, width):
        if random.all():
            return gumbel(self.keys, self.drawn, width)
        noise = torch.zeros(len(random), width)
        noise[torch.from_numpy(random)] = gumbel(self.keys[random], self.drawn[random], width)
        return noise

    def _penalised(self, logits):
        if self.seen is None:
            self.seen = torch.zeros_like(logits, dtype=torch.bool)
            for row, context in zip(self.seen, self.contexts, strict=True):
                row[torch.tensor(context, device=row.device)] = True
        lowered = torch.where(logits > 0, logits / self.penalty, logits * self.penalty)
        return torch.where(self.seen, lowered, logits)


def _winners(noise, scaled, top_p, top_k):
    """The best of ``scaled`` + ``noise`` among the tokens that top-k and top-p keep, and ties: [n].

    ``scaled``, [n, vocabulary], are log-probs at the row's temperature. To find the kept tokens, a
    row sorts its 64 largest, then, if these do not suffice, its 1,024 largest, then all.
    """
    tokens = torch.zeros(len(scaled), dtype=torch.int64, device=scaled.device)
    ties = torch.zeros_like(tokens, dtype=torch.bool)
    whole = ((top_p == 1) & (top_k == 0))[:, 0]
    if bool(whole.any()):
        best, order = _rows(noise, whole).add_(_rows(scaled, whole)).topk(2)
        tokens[whole], ties[whole] = order[:, 0], best[:, 0] - best[:, 1] < NEAR
    waiting = ~whole
    for number in (64, 1024, scaled.shape[1]):
        rows = waiting.nonzero()[:, 0]
        if len(rows) == 0:
            break
        of_rows = _rows(scaled, waiting)
        if number < scaled.shape[1]:
            top, order = of_rows.topk(number)
            p, k = top_p[rows, 0], top_k[rows, 0]
            enough = (top.exp().sum(-1) >= p + MASS_NEAR) | ((k > 0) & (k < number))
            rows, top, order = rows[enough], top[enough], order[enough]
        else:
            top, order = of_rows.sort(-1, descending=True)
        if len(rows):
            raced = top + noise[rows[:, None], order]
            place, ties[rows] = _race(raced, top, top_p[rows], top_k[rows])
            tokens[rows] = order.gather(1, place)[:, 0]
            waiting[rows] = False
    return tokens, ties


def _rows(x, chosen):
    """The rows of ``x`` where ``chosen``; no copy if it is all of them."""
    return x if bool(chosen.all()) else x[chosen]


def _race(raced, top, top_p, top_k):
    """Place of the best of ``raced`` among the kept, [m, 1], and whether it is a tie, [m].

    ``top``, [m, c], are the largest log-probs in falling order, including all kept tokens. It is
    a tie if the best two are close, or if a token at the edge of the kept set would decide.
    """
    rank = torch.arange(top.shape[1], device=top.device)
    within_k = (top_k == 0) | (rank < top_k)
    of_top_k = top.masked_fill(~within_k, -torch.inf).logsumexp(-1, keepdim=True)
    norm = torch.where(top_k > 0, of_top_k, 0.0)
    larger = (top - norm).exp().cumsum(-1).roll(1, -1).index_fill_(1, rank[:1], 0.0)

    def count(mass):
        kept = ((larger < mass) | (top_p == 1)) & within_k
        return kept.sum(-1, keepdim=True).clamp(min=1)

    kept, surely, possibly = count(top_p), count(top_p - MASS_NEAR), count(top_p + MASS_NEAR)
    edge = top.gather(1, kept - 1)
    beyond = top.gather(1, kept.clamp(max=len(rank) - 1))
    swappable = (edge - beyond < NEAR) & (kept < len(rank))
    inner = torch.minimum(surely, (top > edge + NEAR).sum(-1, keepdim=True))
    outer = torch.maximum(possibly, (top > edge - NEAR).sum(-1, keepdim=True))
    surely, possibly = (
        torch.where(swappable, inner, surely),
        torch.where(swappable, outer, possibly),
    )

    winner = raced.masked_fill(rank >= kept, -torch.inf).argmax(-1, keepdim=True)
    best, first = raced.masked_fill(rank >= possibly, -torch.inf).topk(2)
    ties = (best[:, :1] - best[:, 1:] < NEAR) | (first[:, :1] != winner) | (winner >= surely)
    return winner, ties[:, 0]
