"""The KV cache of a batch of rollouts: no token of their contexts is computed twice."""

import contextlib
from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch

from lib.generation import shared_prefix_attention
from lib.generation.kv_store import KVStore, Layout
from lib.generation.recurrent_states import cache_argument, states_of
from lib.generation.slots import SlotAllocator
from lib.trajectories.tokens import common_length

COVERED = frozenset(
    {
        "gemma2",
        "gemma3_text",
        "gemma4_text",
        "granite",
        "llama",
        "ministral3",
        "mistral",
        "olmo2",
        "olmo3",
        "phi3",
        "qwen2",
        "qwen3",
        "qwen3_5_moe_text",
        "qwen3_5_text",
        "qwen3_moe",
        "smollm3",
        "starcoder2",
    }
)
"""Architectures whose shared-prefix attention is tested against a full forward pass."""
WRAPPERS = frozenset({"gemma3", "gemma4", "mistral3", "qwen3_5", "qwen3_5_moe"})
"""Architectures that also see images, around one of ``COVERED`` that reads text."""

SHARE_FROM = 1024
"""Rows attend to one copy of their prompt if that saves so many tokens; else each gets a copy."""
PASS_SCORES = 2**21
"""Maximum of tokens times context length in a forward pass: bounds the attention scores."""
PASS_WIDTH = 384
"""Maximum number of tokens of one sequence in a forward pass."""


def why_uncovered(config) -> str | None:
    """Why the shared-prefix attention cannot run this model; None if it can."""
    name, config = config.model_type, config.get_text_config(decoder=True)
    if name not in COVERED | WRAPPERS or config.model_type not in COVERED:
        return f"architecture {name!r} is not among the tested ones"
    return why_uncacheable(config)


def why_spread(model) -> str | None:
    """Why the shared-prefix attention cannot run where this model is; None if it can."""
    devices = {parameter.device for parameter in model.parameters()}
    return "its layers are on several devices" if len(devices) > 1 else None


def why_uncacheable(config) -> str | None:
    """Why keys of earlier tokens cannot serve later ones in this model; None if they can."""
    config = config.get_text_config(decoder=True)
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = {part.get("rope_type") for part in [rope, *rope.values()] if isinstance(part, dict)}
    if kinds & {"dynamic", "longrope"}:
        return "its rotary embedding changes with the length of the context"
    if getattr(config, "use_bidirectional_attention", None) not in (None, False, "vision"):
        return "its attention is bidirectional"
    return None


@contextlib.contextmanager
def reading(model, implementation: str | None = None):
    """Set the model to evaluation mode, without gradients, with this attention; then restore it."""
    training, before = model.training, model.config._attn_implementation
    try:
        if training:
            model.eval()
        if implementation is not None:
            model.set_attn_implementation(implementation)
        with torch.inference_mode():
            yield
    finally:
        if implementation is not None:
            model.set_attn_implementation(before)
        if training:
            model.train()


class SharedPrefixCache:
    """Keys and values of the rows' contexts; what rows have in common is computed once.

    A prompt is computed once however many rows have it. Rows with equal contexts read one sequence
    until they sample different tokens, which takes long if the policy has low entropy.

    A recurrent layer cannot take tokens back or skip padding. So if a model has any, each row reads
    a sequence of its own, a context that does not extend what was read is read from its start, and
    sequences that read different numbers of tokens are read apart.
    """

    implementation = shared_prefix_attention.NAME

    def __init__(self, model, rows: int):
        self.model = model
        self.layout = Layout(model.config.get_text_config(decoder=True))
        with reading(model):
            self.states = states_of(model)
        self.recurrent = bool(self.states.tensors)
        self.store = self._new_store(0, 0)
        self.slots = SlotAllocator(rows)
        self.cached: list[list[int]] = []  # the tokens of each slot

    def begin(self, rows: Sequence[int], contexts: Sequence[list[int]]) -> torch.Tensor:
        """Make these rows active and read their contexts; the logits after each, [n, vocabulary].

        Only the tokens after the longest common prefix with the row's last context are computed.
        """
        self.store.empty(self.slots.held)
        self.cached[self.slots.held :] = []
        seen: dict[tuple, int] = {}
        first = [
            i if self.recurrent else seen.setdefault(tuple(context), i)
            for i, context in enumerate(contexts)
        ]
        self._copy(*self.slots.begin(np.array(rows), np.array(first)))
        count = self.slots.sequences
        read = [[]] * count
        for slot, context in zip(self.slots.read, contexts, strict=True):
            read[slot] = context

        for slot, context in enumerate(read):
            self._keep_common(slot, context)
        self._read_prompts(read)
        rest = [c[len(held) :] for c, held in zip(read, self.cached, strict=False)]
        lengths = np.array(list(map(len, rest)))
        if self.recurrent and (lengths != lengths[0]).any():
            logits = self._read_by_length(rest, lengths)
        else:
            logits = self._read(self.store, rest)
        self.cached[:count] = map(list, read)
        return self._of_rows(logits)

    def keep(self, alive: np.ndarray) -> None:
        """Keep the rows where ``alive``, bool [n], active."""
        self._copy(*self.slots.keep(alive))

    def step(self, tokens: np.ndarray) -> torch.Tensor:
        """Append a token to each active row; returns the logits after it, [n, vocabulary]."""
        self._copy(*self.slots.split(tokens))
        token_of = np.empty(self.slots.sequences, dtype=np.int64)
        token_of[self.slots.read] = tokens
        new = [[token] for token in token_of.tolist()]
        for cached, token in zip(self.cached, new, strict=False):
            cached += token
        return self._of_rows(self._forward(self.store, 0, new, head=True))

    def _read_by_length(self, rest, lengths):
        logits = {}
        for length in np.unique(lengths):
            slots = np.flatnonzero(lengths == length)
            taken = self.store.take(slots)
            read = self._read(taken, [rest[slot] for slot in slots])
            self.store.put(slots, taken)
            logits.update(zip(slots.tolist(), read, strict=True))
        return torch.stack([logits[slot] for slot in range(len(rest))])

    def _read(self, store, rest):
        """Append these tokens to the first sequences; the logits after each, [n, vocabulary]."""
        width = max(map(len, rest))
        extent = int(store.length[: len(rest)].max()) + width
        rows_a_pass = max(1, PASS_SCORES // (extent * min(width, PASS_WIDTH)))
        logits = [
            self._forward(store, low, rest[low : low + rows_a_pass], head=True)
            for low in range(0, len(rest), rows_a_pass)
        ]
        return torch.cat(logits)

    def _copy(self, sources, targets):
        self.store.extend(self.slots.count)
        self.cached += [[] for _ in range(self.slots.count - len(self.cached))]
        self.store.copy(sources, targets)
        copies = [self.cached[source].copy() for source in sources.tolist()]
        for target, copy in zip(targets.tolist(), copies, strict=True):
            self.cached[target] = copy

    def _of_rows(self, logits):
        read = self.slots.read
        if np.array_equal(read, np.arange(len(logits))):
            return logits  # no copy of many rows of the vocabulary
        return logits[torch.from_numpy(read).to(logits.device)]

    def _new_store(self, number, room):
        like = self.model.get_input_embeddings().weight
        return KVStore(self.layout, number, room, like, self.states.new(number))

    def _keep_common(self, slot, context):
        """Drop cached tokens after the common prefix, and the last token: its logits are needed."""
        cached = self.cached[slot]
        kept = common_length(cached, context[:-1])
        if kept < (len(cached) if self.recurrent else self.store.offset[slot]):
            kept = 0
            self.store.prefix[slot], self.store.offset[slot] = -1, 0
        if not kept:
            self.store.states.clear(slot)
        self.store.length[slot] = kept - self.store.offset[slot]
        del cached[kept:]

    def _read_prompts(self, contexts):
        """Compute the prompts of empty slots, each once, and give them to all slots that need them.

        A prompt ends before the last token of the context, whose logits each slot computes itself.
        """
        users = {}
        for slot, context in enumerate(contexts):
            if len(context) > 1 and not self.cached[slot]:
                users.setdefault(tuple(context[:-1]), []).append(slot)
        readers = np.bincount(self.slots.read)
        rows = {prompt: int(readers[slots].sum()) for prompt, slots in users.items()}
        saved = sum((rows[prompt] - 1) * len(prompt) for prompt in users)
        shared = [prompt for prompt in users if rows[prompt] > 1 and saved >= SHARE_FROM]
        own = users.keys() - shared
        self.store.grow(max(map(len, own), default=0))
        held = {}
        for prompt, computed, states in self._compute(users):
            slots = users[prompt]
            self.store.states.write(slots, states)
            if prompt in own:
                self.store.fill(slots, computed)
            else:
                held[prompt] = computed
            for slot in slots:
                self.cached[slot] = list(prompt)
        if held:
            self.store.share([users[prompt] for prompt in held], list(held.values()))

    def _compute(self, prompts):
        """Yield each prompt, its keys and values as for ``KVStore.fill``, and its states."""
        waiting = sorted(prompts, key=len)
        while waiting:
            longest = len(waiting[-1])
            together = max(1, PASS_SCORES // (longest * min(longest, PASS_WIDTH)))
            batch, waiting = waiting[-together:], waiting[:-together]
            if self.recurrent:  # no padding: those that are shorter wait for another pass
                waiting += [prompt for prompt in batch if len(prompt) < longest]
                batch = [prompt for prompt in batch if len(prompt) == longest]
            read = self._new_store(len(batch), longest)
            self._forward(read, 0, batch, head=False)
            for i, prompt in enumerate(batch):
                keys = [own[:, :, i, :, : len(prompt)] for own in read.own]
                yield prompt, keys, read.states.read([i])

    def _forward(self, store, low, sequences, head):
        """Append these tokens, a list for each slot from ``low`` on, to their sequences.

        With ``head``, returns the logits after the last token of each, [n, vocabulary].
        """
        high, width = low + len(sequences), max(map(len, sequences))
        padding = width - np.array([len(s) for s in sequences])
        tokens = np.zeros((len(sequences), width), dtype=np.int64)
        tokens[np.arange(width) >= padding[:, None]] = list(chain.from_iterable(sequences))
        tokens = torch.from_numpy(tokens).to(store.own[0].device)
        extent = int((store.length[low:high] - padding).max()) + width
        store.grow(extent)
        columns = max(16, min(PASS_WIDTH, PASS_SCORES // extent))
        for start in range(0, width, columns):
            part = tokens[:, start : start + columns]
            padded = np.clip(padding - start, 0, part.shape[1])
            rollout = shared_prefix_attention.Pass(store, low, high, padded, part.shape[1])
            common = {"position_ids": rollout.positions, "use_cache": False, "rollout": rollout}
            if self.recurrent:
                common[cache_argument(self.model)] = store.states.cache(low, high)
            if head and start + columns >= width:
                out = self.model(part, logits_to_keep=1, **common)
            else:
                # Layers that read the keys of other layers have nothing to do for these tokens.
                few = {"logits_to_keep": 1} if self.layout.reads_others else {}
                out = self.model.base_model(part, **few, **common)
            store.length[low:high] += part.shape[1] - padded
        return out.logits[:, -1] if head else None


class RereadCache:
    """No cache: each token reads the whole context again. Slow, and right for any causal model."""

    implementation = None

    def __init__(self, model, rows: int):
        self.model = model
        self.contexts: list[list[int]] = []

    def begin(self, rows, contexts):
        """As :meth:`SharedPrefixCache.begin`."""
        self.contexts = [list(context) for context in contexts]
        return self._logits()

    def keep(self, alive):
        """As :meth:`SharedPrefixCache.keep`."""
        self.contexts = [self.contexts[i] for i in np.flatnonzero(alive)]

    def step(self, tokens):
        """As :meth:`SharedPrefixCache.step`."""
        for context, token in zip(self.contexts, tokens.tolist(), strict=True):
            context.append(token)
        return self._logits()

    def _logits(self):
        # Contexts of equal length share a pass, so that no model has to support padding.
        logits = [None] * len(self.contexts)
        by_length = {}
        for i, context in enumerate(self.contexts):
            by_length.setdefault(len(context), []).append(i)
        for length, members in by_length.items():
            together = max(1, PASS_SCORES // length**2)
            for low in range(0, len(members), together):
                part = members[low : low + together]
                tokens = torch.tensor([self.contexts[i] for i in part], device=self.model.device)
                for i, row in zip(part, self.model(tokens, use_cache=False).logits, strict=True):
                    logits[i] = row[-1]
        return torch.stack(logits)
