"""The KV cache that transformers has for an architecture, for a batch of rollouts.

It serves the architectures whose shared-prefix attention is not tested. Each distinct context is
read once and its cache copied to the rows; then each step reads one token a row.
"""

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import Cache

from lib.generation.cache_rows import join, select
from lib.generation.recurrent_states import cache_argument

PASS_SCORES = 2**21
"""Maximum of tokens times context length in a forward pass: bounds the attention scores."""
CHECKED = 12
"""Number of tokens that :func:`check` reads."""
CLOSE = 1e-4
"""Largest difference of log-probs, on average over a vocabulary, taken for rounding in float32."""


@dataclass
class _Group:
    """Rows whose sequences are equally long, and their cache, whose batch is in their order."""

    rows: list[int]
    tokens: list[list[int]]
    cache: Cache

    @property
    def length(self) -> int:
        return len(self.tokens[0])

    def part(self, which: Sequence[int]) -> "_Group":
        """These rows, by their index in this group; a copy unless they are all."""
        if len(which) == len(self.rows):
            return self
        rows, tokens = ([column[i] for i in which] for column in (self.rows, self.tokens))
        return _Group(rows, tokens, select(self.cache, which))


class ModelCache:
    """Keys, values and states of the rows' contexts, in caches that the model itself made.

    Rows whose sequences are equally long share a cache and a forward pass, so that no model has to
    support padding. In a later turn a row goes on from its cache if its context extends all that
    was read; else its context is read from the start.

    wide : whether the model can read several tokens at once after others, as :func:`check` finds.
    """

    implementation = None

    def __init__(self, model, rows: int, *, wide: bool = True):
        self.model, self.wide = model, wide
        self.rows: list[int] = []
        self.active: list[_Group] = []
        self.resting: list[_Group] = []

    def begin(self, rows: Sequence[int], contexts: Sequence[list[int]]) -> torch.Tensor:
        """Make these rows active and read their contexts; the logits after each, [n, vocabulary].

        A context that several rows have is read once.
        """
        context_of = dict(zip(rows, contexts, strict=True))
        groups = self._rest_all_but(context_of)
        self.rows, self.active, logits = list(rows), [], {}
        for group in groups:
            rest = [context_of[row][group.length :] for row in group.rows]
            logits.update(zip(group.rows, self._extend(group, rest), strict=True))
            self._add(self.active, group)
        fresh = {}
        for row in self.rows:
            if row not in logits:
                fresh.setdefault(tuple(context_of[row]), []).append(row)
        for group, after in self._read(fresh):
            logits.update(zip(group.rows, after, strict=True))
            self._add(self.active, group)
        return torch.stack([logits[row] for row in self.rows])

    def keep(self, alive: np.ndarray) -> None:
        """Keep the rows where ``alive``, bool [n], active; the others rest."""
        self.rows = [self.rows[i] for i in np.flatnonzero(alive)]
        kept, ended = _split(self.active, self.rows)
        self.active, self.resting = kept, self.resting + ended

    def step(self, tokens: np.ndarray) -> torch.Tensor:
        """Append a token to each active row; returns the logits after it, [n, vocabulary]."""
        token_of = dict(zip(self.rows, tokens.tolist(), strict=True))
        logits = {}
        for group in self.active:
            after = self._extend(group, [[token_of[row]] for row in group.rows])
            logits.update(zip(group.rows, after, strict=True))
        return torch.stack([logits[row] for row in self.rows])

    def _rest_all_but(self, context_of) -> list[_Group]:
        """Let all rows rest but those with a context; groups of those that can go on from it.

        The rows of a group have read equally many tokens and have equally many to read.
        """
        wanted, self.resting = _split(self.active + self.resting, context_of)
        groups = []
        for group in wanted:
            parts = {}
            for i, (row, tokens) in enumerate(zip(group.rows, group.tokens, strict=True)):
                context = context_of[row]
                if len(tokens) < len(context) and context[: len(tokens)] == tokens:
                    parts.setdefault(len(context), []).append(i)
            for length, which in parts.items():
                same = [other for aim, other in groups if aim == length]
                if not self._add(same, group.part(which)):
                    groups.append((length, same[-1]))
        return [group for _, group in groups]

    @staticmethod
    def _add(groups: list[_Group], group: _Group) -> bool:
        """Add the rows of a group to one of these, or it to these; returns whether to one."""
        for other in groups:
            if other.length == group.length:
                joined = join(other.cache, group.cache)
                if joined is not None:
                    other.cache = joined
                    other.rows += group.rows
                    other.tokens += group.tokens
                    return True
        groups.append(group)
        return False

    def _read(self, users) -> Iterator[tuple[_Group, torch.Tensor]]:
        """Read these contexts, each once; groups of their users and the logits of each user."""
        waiting = sorted(users, key=len)
        while waiting:
            longest = len(waiting[-1])
            most = max(1, PASS_SCORES // longest**2)
            batch = [context for context in waiting[-most:] if len(context) == longest]
            waiting = waiting[: -len(batch)]
            width = max(1, PASS_SCORES // longest) if self.wide else longest
            first = [context[:width] for context in batch]
            cache, after = forward(self.model, first)
            group = _Group(list(range(len(batch))), list(map(list, first)), cache)
            if longest > width:
                after = self._extend(group, [context[width:] for context in batch])
            which = [i for i, context in enumerate(batch) for _ in users[context]]
            rows = [row for context in batch for row in users[context]]
            tokens = [list(batch[i]) for i in which]
            yield _Group(rows, tokens, select(group.cache, which)), after[which]

    def _extend(self, group, rest) -> torch.Tensor:
        """Append these tokens, equally many for each row of a group; the logits after the last."""
        length, number = group.length, len(rest[0])
        width = PASS_SCORES // ((length + number) * len(rest)) if self.wide else 1
        width = max(1, width)
        for low in range(0, number, width):
            part = [tokens[low : low + width] for tokens in rest]
            group.cache, logits = forward(self.model, part, group.cache)
        for tokens, new in zip(group.tokens, rest, strict=True):
            tokens += new
        return logits


def _split(groups, wanted):
    """The rows of these groups that are in ``wanted``, and the others, as groups each."""
    inside, outside = [], []
    for group in groups:
        for side, belongs in ((inside, True), (outside, False)):
            which = [i for i, row in enumerate(group.rows) if (row in wanted) == belongs]
            if which:
                side.append(group.part(which))
    return inside, outside


def forward(model, tokens, cache: Cache | None = None) -> tuple[Cache, torch.Tensor]:
    """Read equally many tokens for each sequence; the cache, and the last logits, [n, vocabulary].

    cache : of what the sequences have read before; it may be changed in place.
    """
    name = cache_argument(model)
    few = {"logits_to_keep": 1} if _keeps_few(type(model)) else {}
    tokens = torch.tensor(tokens, device=model.device)
    out = model(tokens, use_cache=True, **{name: cache}, **few)
    return getattr(out, name), out.logits[:, -1]


def _keeps_few(kind) -> bool:
    return "logits_to_keep" in inspect.signature(kind.forward).parameters


def check(model, context: int) -> tuple[str | None, bool]:
    """Why the KV cache of this model cannot be used, or None; and whether it can be read widely.

    It reads a few tokens of two sequences at once, and again through a cache that is copied, joined
    and continued, by one token and by several. The log-probs must be equal up to rounding.
    """
    if cache_argument(model) is None:
        return "it takes no KV cache", False
    number = min(CHECKED, context)
    if number < CHECKED // 2:
        return "its context is too short to check its KV cache", False
    try:
        errors, wide_error, rounding = _errors(model, number)
    except Exception as error:  # whatever this architecture's code does not support
        message = str(error).partition("\n")[0]
        return f"its KV cache cannot be used: {type(error).__name__}: {message}", False
    dtype = model.get_input_embeddings().weight.dtype
    close = max(CLOSE, 8 * torch.finfo(dtype).eps, 4 * rounding)
    if not errors <= close:
        trouble = f"log-probs from its KV cache differ from those of a full pass by {errors:.2g}"
        return trouble, False
    return None, wide_error <= close


def _errors(model, number):
    """Differences of log-probs: read by one token, by several at once, and by rounding alone."""
    vocabulary = model.get_input_embeddings().weight.shape[0]
    start, generator = number // 2, torch.Generator().manual_seed(0)
    tokens = torch.randint(vocabulary // 4, vocabulary, (2, number), generator=generator)
    tokens[1, :start] = tokens[0, :start]
    read = tokens.to(model.device)
    expected = model(read, use_cache=False).logits.float().log_softmax(-1)
    alone = model(read[:1], use_cache=False).logits.float().log_softmax(-1)
    rounding = float((alone - expected[:1]).abs().mean(-1).max())

    def error(logits, last):
        return float((logits.float().log_softmax(-1) - expected[:, last]).abs().mean(-1).max())

    cache, logits = forward(model, tokens[:1, :start].tolist())
    if not isinstance(cache, Cache):
        raise TypeError(f"expected a Cache of transformers, got {type(cache).__name__}")
    errors = [error(logits, start - 1)]
    cache, wide_error = select(cache, [0, 0]), float("inf")
    for place in range(start, number):
        cache, logits = forward(model, tokens[:, place : place + 1].tolist(), cache)
        errors.append(error(logits, place))
        if place == start:  # the rows change places
            cache = join(select(cache, [1]), select(cache, [0]))
            tokens, expected = tokens.flip(0), expected.flip(0)
            with contextlib.suppress(Exception):  # a model whose code does not support it
                rest = tokens[:, place + 1 :].tolist()
                wide_error = error(forward(model, rest, select(cache, [0, 1]))[1], number - 1)
    return max(errors), wide_error, rounding
