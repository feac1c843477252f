"""Attention of many rows to one copy of the prompt they share, and to their own tokens.

Registered with transformers as an attention function. A forward pass hands it a :class:`Pass`,
which holds the keys and values of earlier tokens; the model itself keeps no cache.
"""

import numpy as np
import torch
from transformers import AttentionInterface

from lib.generation.kv_store import KVStore

NAME = "shared_prefix"
HIDDEN = -1e30
"""Score of a hidden key: finite, so that a query with all keys hidden has no NaN."""


class Pass:
    """One forward pass over ``width`` token columns of the slots low to high.

    Tokens are right-aligned: column c of slot i is padding when c < padding[i], else the token at
    own place length[i] + c - padding[i].
    """

    def __init__(self, store: KVStore, low: int, high: int, padding: np.ndarray, width: int):
        device = store.own[0].device
        self.layout = store.layout
        self.own = [own[:, :, low:high] for own in store.own]
        column = np.arange(width)
        place = store.length[low:high, None] + column - padding[:, None]
        self.extent = int(place[:, -1].max()) + 1
        write = np.where(column < padding[:, None], store.room, place)
        positions = np.maximum(place + store.offset[low:high, None], 0)
        self.place = torch.from_numpy(place).to(device)
        self.write = torch.from_numpy(write).to(device)
        self.rows = torch.arange(high - low, device=device)[:, None]
        self.positions = torch.from_numpy(positions).to(device)
        self.masks = {}
        self.groups = 0
        if (store.prefix[low:high] >= 0).any():
            self._group_rows(store, store.prefix[low:high], store.offset[low:high])

    def _group_rows(self, store, prefix, offset):
        """Sort the rows by prefix into [groups, cells]; unused cells have row 0."""
        numbers, group, sizes = np.unique(
            prefix[prefix >= 0], return_inverse=True, return_counts=True
        )
        rows = np.flatnonzero(prefix >= 0)[np.argsort(group, kind="stable")]
        group = np.sort(group)
        cell = group * sizes.max() + np.arange(len(rows)) - (sizes.cumsum() - sizes)[group]
        members, cells = np.zeros(len(sizes) * sizes.max(), dtype=np.int64), np.zeros_like(prefix)
        members[cell], cells[rows] = rows, cell
        device = self.place.device
        self.groups, self.shared = len(numbers), store.shared_of(numbers)
        lengths = np.zeros(len(numbers), dtype=np.int64)
        lengths[group] = offset[rows]
        self.lengths = torch.from_numpy(lengths).to(device)
        in_order = np.array_equal(members, np.arange(len(prefix)))
        self.members, self.cells = (
            slice(None) if in_order else torch.from_numpy(x).to(device) for x in (members, cells)
        )
        alone = prefix < 0
        self.alone = (
            torch.from_numpy(alone).to(device)[:, None, None, None] if alone.any() else None
        )

    def attend(self, layer, query, key, value, scale, window, softcap):
        """Store the new keys and values, then attend to the prefix and to the row's own tokens.

        The prefix enters the row's softmax as one more key. With s the scores of the prefix's keys,
        that key's score is log sum exp s and its value softmax(s) V, which makes the whole equal to
        one softmax over all keys.

        ``query`` is [n, heads, T, head size], ``key`` and ``value`` [n, kv heads, columns, head
        size]; returns [n, T, heads, head size]. The queries are those of the last T columns.
        """
        rows, heads, width, size = query.shape
        kv_heads = key.shape[1]
        part, index = self.layout.place[layer]
        keys, values = self.own[part][index]
        if layer not in self.layout.reads_others:
            keys.transpose(1, 2)[self.rows, self.write] = key.transpose(1, 2)
            values.transpose(1, 2)[self.rows, self.write] = value.transpose(1, 2)

        query = (query * scale).reshape(rows, kv_heads, -1, size)
        keys, values = keys[:, :, : self.extent], values[:, :, : self.extent]
        repeats = heads // kv_heads
        hidden = self._own_mask(window, repeats, width)
        prefix = None
        if self.groups:
            shared = self.shared[part][index]
            prefix = self._attend_prefix(shared, query, window, softcap, repeats, width)
        if width > 1:
            out = _join(_attend(query, keys, values, hidden, softcap), prefix)
        else:
            out = _attend_once(query, keys, values, hidden, softcap, prefix)
        out = out.view(rows, kv_heads, -1, width, size)
        return out.permute(0, 3, 1, 2, 4).reshape(rows, width, heads, size)

    def _attend_prefix(self, shared, query, window, softcap, repeats, width):
        """Output and log-sum-exp over the prefixes, [n, kv heads, queries, size] and [..., 1].

        All queries of a group meet one copy of the keys; a row without a prefix gets no weight.
        """
        start, hidden = self._prefix_mask(window, repeats, width)
        keys, values = shared[:, :, :, start:]
        grouped = query[self.members].unflatten(0, (self.groups, -1)).transpose(1, 2)
        out, total = _attend(grouped.flatten(2, 3), keys, values, hidden, softcap)
        out, total = (
            x.unflatten(2, grouped.shape[2:4]).transpose(1, 2).flatten(0, 1)[self.cells]
            for x in (out, total)
        )
        return out, total if self.alone is None else total.masked_fill(self.alone, HIDDEN)

    def _own_mask(self, window, repeats, width):
        """Own places hidden from a query, [n, 1, repeats * T, extent]; None if it sees all."""
        about = "own", window, repeats, width
        if about not in self.masks:
            place = self.place[:, -width:, None]
            distance = place - torch.arange(self.extent, device=place.device)
            hidden = distance < 0
            if window is not None:
                hidden |= distance >= window
            hidden = hidden.repeat(1, repeats, 1)[:, None] if bool(hidden.any()) else None
            self.masks[about] = hidden
        return self.masks[about]

    def _prefix_mask(self, window, repeats, width):
        """The first place that a query sees, and what is hidden, [groups, 1, queries, places]."""
        about = "prefix", window, repeats, width
        if about not in self.masks:
            positions = self.positions[:, -width:]
            longest = self.shared[0].shape[4]
            start = 0
            if window is not None:
                start = min(max(int(positions.min()) - window + 1, 0), longest - 1)
            places = torch.arange(start, longest, device=self.place.device)
            hidden = (places >= self.lengths[:, None])[:, None, None]
            if window is not None:
                far = positions[self.members][:, :, None] - places >= window
                far = far.repeat(1, repeats, 1).unflatten(0, (self.groups, -1)).flatten(1, 2)
                hidden = hidden | far[:, None]
            self.masks[about] = start, hidden if bool(hidden.any()) else None
        return self.masks[about]


def _scores(query, keys, hidden, softcap):
    """Scores of scaled queries, [..., q, size], for keys, [..., k, size]; ``hidden`` broadcasts."""
    scores = (query @ keys.mT).float()
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    return scores if hidden is None else scores.masked_fill_(hidden, HIDDEN)


def _attend(query, keys, values, hidden, softcap):
    """Attention of many queries and the log-sum-exp of its scores, [..., q, size] and [..., q, 1].

    On a CPU this is the kernel behind ``scaled_dot_product_attention``, which does not hand out the
    log-sum-exp: it keeps the scores of many queries in the processor's cache.
    """
    if query.device.type == "cpu" and softcap is None:
        if hidden is not None:
            lowest = max(HIDDEN, torch.finfo(query.dtype).min / 2)
            hidden = query.new_zeros(hidden.shape).masked_fill_(hidden, lowest)
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        out, total = flash(query, keys, values, attn_mask=hidden, scale=1.0)
        return out, total[..., None]
    scores = _scores(query, keys, hidden, softcap)
    return scores.softmax(-1).to(values.dtype) @ values, scores.logsumexp(-1, keepdim=True)


def _attend_once(query, keys, values, hidden, softcap, prefix):
    """Attention of one query a row to its own keys and, as one key more, to its prefix."""
    scores = _scores(query, keys, hidden, softcap)
    if prefix is None:
        return scores.softmax(-1).to(values.dtype) @ values
    value, score = prefix
    weights = torch.cat([scores, score], -1).softmax(-1).to(values.dtype)
    return torch.addcmul(weights[..., :-1] @ values, weights[..., -1:], value)


def _join(own, prefix):
    """Attention over two sets of keys, from the output and log-sum-exp of each."""
    if prefix is None:
        return own[0]
    (out, total), (value, score) = own, prefix
    return torch.lerp(out, value, torch.sigmoid(score - total).to(out.dtype))


def _shared_prefix_attention(
    module,
    query,
    key,
    value,
    attention_mask,
    *,
    rollout,
    scaling,
    sliding_window=None,
    softcap=None,
    **_,
):
    out = rollout.attend(module.layer_idx, query, key, value, scaling, sliding_window, softcap)
    return out, None


AttentionInterface.register(NAME, _shared_prefix_attention)
