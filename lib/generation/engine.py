"""Sampling many rollouts of a transformers causal model at once, turn after turn."""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from lib.generation import model_cache
from lib.generation.kv_cache import (
    RereadCache,
    SharedPrefixCache,
    reading,
    why_spread,
    why_uncacheable,
    why_uncovered,
)
from lib.generation.packed_linear import packed
from lib.generation.sampling import Chooser, Sampling
from lib.trajectories.schema import RolloutKey


@dataclass(frozen=True)
class Completion:
    """What a row sampled in a turn."""

    tokens: list[int]
    """Sampled token ids, including the end token or those of the stop string."""
    log_probs: list[float]
    """Log-prob of each token at the sampling temperature: log_softmax(logits / T)."""
    log_probs_at_1: list[float]
    """Log-prob of each token at temperature 1."""
    reason: str
    """Why it ended: "eos", "stop", "length" (max_new_tokens) or "context" (the context is full)."""
    text: str
    """The text without end token, cut before a stop string; "" without a tokenizer."""
    stop: str
    """The stop string that ended it, or ""."""
    ties: int
    """Number of tokens that rounding could have changed; see ``sampling.NEAR``."""


def context_limit(model) -> int | None:
    """The length of context, in tokens, that a model's configuration gives; None if it does not."""
    config = model.config.get_text_config(decoder=True)
    return getattr(config, "max_position_embeddings", None)


class Engine:
    """Samples from ``model``, a causal model of transformers, and does not change it.

    Parameters
    ----------
    model : a ``PreTrainedModel`` with a language-model head. If its weights change, open a new
        batch: an open batch keeps what the old weights computed.
    tokenizer : decodes tokens for ``Completion.text`` and stop strings; None if neither is needed.
    context : maximum length in tokens; by default the model's ``max_position_embeddings``.
    frozen : the weights will not change, so a copy of them may be laid out for faster products if
        that measures faster on this CPU (see ``packed_linear``).

    ``new_cache`` makes the KV cache of a batch: of the model and the number of rows. If the
    shared-prefix attention does not support the model, or it is on several devices, this is the
    cache of transformers, in which each row has a copy of its prompt. If even that fails a check,
    there is none, and each token reads the whole context again, slowly. In both cases a warning
    gives the reason.
    """

    def __init__(self, model, tokenizer=None, *, context: int | None = None, frozen: bool = False):
        limit = context_limit(model)
        if context is None and limit is None:
            raise ValueError(
                "this model has no max_position_embeddings: give Engine(context=tokens)"
            )
        if context is not None and not 1 <= context <= (limit or context):
            raise ValueError(
                f"context is {context}: it must be from 1 to the model's {limit} tokens"
            )
        self.model, self.tokenizer, self.context = model, tokenizer, context or limit
        self.new_cache = self._choose_cache()
        self.fast = packed(model) if frozen else nullcontext

    def _choose_cache(self):
        reason = why_uncovered(self.model.config) or why_spread(self.model)
        if reason is None:
            return SharedPrefixCache
        trouble, wide = why_uncacheable(self.model.config), False
        if trouble is None:
            with reading(self.model):
                trouble, wide = model_cache.check(self.model, self.context)
        if trouble is None:
            warnings.warn(
                "sampling uses the KV cache of transformers, with a copy of the prompt for each "
                f"row, because {reason}",
                stacklevel=3,
            )
            return partial(model_cache.ModelCache, wide=wide)
        if trouble != reason:
            reason += f", and {trouble}"
        warnings.warn(
            f"sampling re-reads the whole context for every token, because {reason}", stacklevel=3
        )
        return RereadCache

    def open(self, keys: Sequence[RolloutKey]) -> "Batch":
        """Open a batch of rollouts; row i draws the random numbers of ``keys[i]``."""
        return Batch(self, keys)

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        keys: Sequence[RolloutKey],
        sampling: Sampling | Sequence[Sampling],
    ) -> list[Completion]:
        """A completion of each context (token ids); ``sampling`` is for all rows or for each."""
        return self.open(keys).reply(range(len(keys)), contexts, sampling)


class Batch:
    """Rollouts that are sampled together, turn by turn, and keep a KV cache between turns."""

    def __init__(self, engine: Engine, keys: Sequence[RolloutKey]):
        self.engine = engine
        self.keys = [RolloutKey(*key).philox() for key in keys]
        self.drawn = np.zeros(len(keys), dtype=np.int64)
        self.cache = self._new_cache()

    def reply(
        self,
        rows: Sequence[int],
        contexts: Sequence[Sequence[int]],
        sampling: Sampling | Sequence[Sampling],
    ) -> list[Completion]:
        """A completion for each of ``rows``, indices of this batch's rollouts.

        ``contexts[i]`` is the *whole* context of ``rows[i]`` as token ids. The prefix it has in
        common with that row's last context and completion is not computed again, and what several
        rows have in common is computed once. ``sampling`` is for all rows, or one for each.
        """
        rows, contexts = list(rows), [list(context) for context in contexts]
        shared = isinstance(sampling, Sampling)
        settings = [sampling] * len(rows) if shared else list(sampling)
        self._check(rows, contexts, settings)
        replies = _Replies(settings, [self.engine.context - len(context) for context in contexts])
        live = np.flatnonzero(replies.limit > 0)
        if len(live):
            try:
                with reading(self.engine.model, self.cache.implementation), self.engine.fast():
                    self._sample(live, rows, contexts, settings, replies)
            except BaseException:  # the cache may be half written
                self.cache = self._new_cache()
                raise
        self.drawn[rows] += replies.length
        return [replies.completion(i, self.engine.tokenizer) for i in range(len(rows))]

    def _new_cache(self):
        return self.engine.new_cache(self.engine.model, len(self.keys))

    def _sample(self, active, rows, contexts, settings, replies):
        logits = self.cache.begin([rows[i] for i in active], [contexts[i] for i in active])
        chooser = Chooser(
            settings=[settings[i] for i in active],
            keys=[self.keys[rows[i]] for i in active],
            drawn=[self.drawn[rows[i]] for i in active],
            contexts=[contexts[i] for i in active],
            device=logits.device,
        )
        while True:
            choice = chooser.choose(logits)
            alive = replies.write(active, choice, self.engine.tokenizer)
            if not alive.any():
                return
            tokens = choice.tokens.cpu().numpy()
            if not alive.all():
                self.cache.keep(alive)
                chooser.select(torch.from_numpy(np.flatnonzero(alive)))
                active, tokens = active[alive], tokens[alive]
            logits = self.cache.step(tokens)

    def _check(self, rows, contexts, settings):
        if not len(rows) == len(contexts) == len(settings):
            raise ValueError(
                f"{len(rows)} rows, {len(contexts)} contexts and {len(settings)} samplings: "
                "expected one context for each row, and one Sampling for all rows or one for each"
            )
        if len(set(rows)) < len(rows) or not all(0 <= row < len(self.keys) for row in rows):
            raise ValueError(
                f"rows are {rows}: expected different numbers from 0 to {len(self.keys) - 1}"
            )
        vocabulary = self.engine.model.get_input_embeddings().weight.shape[0]
        for row, context in zip(rows, contexts, strict=True):
            if not context or not 0 <= min(context) <= max(context) < vocabulary:
                raise ValueError(
                    f"the context of row {row} must have at least one token id, and ids from 0 to "
                    f"{vocabulary - 1}"
                )
        if self.engine.tokenizer is None and any(s.stop for s in settings):
            raise ValueError("stop strings need a tokenizer: give Engine(model, tokenizer)")


class _Replies:
    """What n rows have sampled in this turn, and when each ends."""

    def __init__(self, settings: Sequence[Sampling], room: Sequence[int]):
        self.settings = settings
        wanted = np.array([s.max_new_tokens for s in settings], dtype=np.int64)
        self.limit = np.minimum(wanted, np.maximum(room, 0))
        self.at_limit = np.where(wanted <= room, "length", "context").astype(object)
        self.reason = np.where(self.limit > 0, "", "context").astype(object)
        self.length = np.zeros(len(settings), dtype=np.int64)
        shape = len(settings), int(self.limit.max(initial=0))
        self.tokens = np.zeros(shape, dtype=np.int64)
        self.log_probs, self.log_probs_at_1 = np.zeros(shape), np.zeros(shape)
        self.ties = np.zeros(len(settings), dtype=np.int64)
        self.eos = np.full((len(settings), max((len(s.eos) for s in settings), default=0)), -1)
        for row, setting in zip(self.eos, settings, strict=True):
            row[: len(setting.eos)] = setting.eos
        self.stopping = np.array([bool(s.stop) for s in settings], dtype=bool)

    def write(self, active, choice, tokenizer):
        """Add a token to each row of ``active``, [n]; returns which of them continue, bool [n]."""
        tokens = choice.tokens.cpu().numpy()
        column = self.length[active]
        self.tokens[active, column] = tokens
        self.log_probs[active, column] = choice.log_probs.cpu().numpy()
        self.log_probs_at_1[active, column] = choice.log_probs_at_1.cpu().numpy()
        self.ties[active] += choice.ties.cpu().numpy()
        self.length[active] += 1
        ended = active[(tokens[:, None] == self.eos[active]).any(1)]
        self.reason[ended] = "eos"
        for row in active[self.stopping[active]]:
            if not self.reason[row] and self._stops(row, tokenizer):
                self.reason[row] = "stop"
        full = active[(self.length[active] == self.limit[active]) & (self.reason[active] == "")]
        self.reason[full] = self.at_limit[full]
        return self.reason[active] == ""

    def _stops(self, row, tokenizer):
        # A token is at least a byte of text, so a stop string spans at most so many tokens. The
        # extra tokens are for the start, where decoding may drop a space or half a character.
        strings = self.settings[row].stop
        window = max(len(s.encode()) for s in strings) + 8
        start = max(self.length[row] - window, 0)
        text = _decode(tokenizer, self.tokens[row, start : self.length[row]])
        return any(s in text for s in strings)

    def completion(self, row, tokenizer):
        tokens = self.tokens[row, : self.length[row]]
        reason, text, stop = str(self.reason[row]), "", ""
        if tokenizer is not None:
            text = _decode(tokenizer, tokens[:-1] if reason == "eos" else tokens)
        if reason == "stop":
            stop = min((s for s in self.settings[row].stop if s in text), key=text.find, default="")
            text = text.partition(stop)[0] if stop else text
        return Completion(
            tokens=tokens.tolist(),
            log_probs=self.log_probs[row, : self.length[row]].tolist(),
            log_probs_at_1=self.log_probs_at_1[row, : self.length[row]].tolist(),
            reason=reason,
            text=text,
            stop=stop,
            ties=int(self.ties[row]),
        )


def _decode(tokenizer, tokens):
    return tokenizer.decode(
        tokens.tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
