"""Attention of many rows to one copy of the prompt they share, and to their own tokens.

Registered with transformers as an attention function. A forward pass hands it a :class:`Pass`,
which holds the keys and values of earlier tokens; the model itself keeps no cache.
"""

from collections.abc import Sequence

import numpy as np
import torch
from transformers import AttentionInterface

NAME = "shared_prefix"


class Slots:
    """Keys and values of n sequences: tokens of their own, after a prefix that several may share.

    ``store`` is [layers, 2, n, kv heads, room + 1, head size], keys then values; place ``room`` is
    written by padding and never read. Slot i has ``length[i]`` own tokens, at positions from
    ``offset[i]`` on, after the prefix ``prefixes[prefix[i]]``, [layers, 2, kv heads, offset[i],
    head size], or, where ``prefix[i]`` is -1, after nothing.
    """

    def __init__(self, config, number: int, room: int, like: torch.Tensor):
        heads = config.num_attention_heads
        kv_heads = getattr(config, "num_key_value_heads", None) or heads
        size = getattr(config, "head_dim", None) or config.hidden_size // heads
        layers = config.num_hidden_layers
        self.store = like.new_zeros(layers, 2, number, kv_heads, room + 1, size)
        self.length = np.zeros(number, dtype=np.int64)
        self.prefix = np.full(number, -1)
        self.offset = np.zeros(number, dtype=np.int64)
        self.prefixes: dict[int, torch.Tensor] = {}

    @property
    def room(self) -> int:
        """Own tokens a sequence can hold."""
        return self.store.shape[4] - 1

    def grow(self, room: int) -> None:
        """Make place for at least ``room`` own tokens a sequence."""
        if room > self.room:
            shape = list(self.store.shape)
            shape[4] = -(-room // 32) * 32 + 1
            grown = self.store.new_zeros(shape)
            held = int(self.length.max(initial=0))
            grown[:, :, :, :, :held] = self.store[:, :, :, :, :held]
            self.store = grown

    def swap(self, a: Sequence[int], b: Sequence[int]) -> None:
        """Exchange the sequences of slots a[i] and b[i]."""
        there, here = [*a, *b], [*b, *a]
        if there:
            self.store[:, :, there] = self.store[:, :, here]
            for column in (self.length, self.prefix, self.offset):
                column[there] = column[here]


class Pass:
    """One forward pass over ``width`` token columns of the slots low to high.

    Tokens are right-aligned: column c of slot i is padding when c < padding[i], else the token at
    own place length[i] + c - padding[i].
    """

    def __init__(self, slots: Slots, low: int, high: int, padding: np.ndarray, width: int):
        device = slots.store.device
        self.layers = slots.store[:, :, low:high]
        column = np.arange(width)
        place = slots.length[low:high, None] + column - padding[:, None]
        self.extent = int(place[:, -1].max()) + 1
        write = np.where(column < padding[:, None], slots.room, place)
        positions = np.maximum(place + slots.offset[low:high, None], 0)
        self.place = torch.from_numpy(place).to(device)
        self.write = torch.from_numpy(write).to(device)
        self.rows = torch.arange(high - low, device=device)[:, None]
        self.positions = torch.from_numpy(positions).to(device)
        self.groups = []
        for prefix in np.unique(slots.prefix[low:high]):
            if prefix >= 0:
                members = np.flatnonzero(slots.prefix[low:high] == prefix)
                everyone = len(members) == high - low
                index = slice(None) if everyone else torch.from_numpy(members).to(device)
                self.groups.append((slots.prefixes[prefix], index))
        self.masks = {}

    def attend(self, layer, query, key, value, scale, window, softcap):
        """Store the new keys and values, then attend to prefix and own part and join the two.

        With (o, z) the output and log-sum-exp of the scores of either part, the whole softmax gives
        o = o_own + sigmoid(z_prefix - z_own) (o_prefix - o_own).

        ``query`` is [n, heads, T, head size], ``key`` and ``value`` [n, kv heads, T, head size];
        returns [n, T, heads, head size].
        """
        rows, heads, width, size = query.shape
        kv_heads = key.shape[1]
        keys, values = self.layers[layer]
        keys.transpose(1, 2)[self.rows, self.write] = key.transpose(1, 2)
        values.transpose(1, 2)[self.rows, self.write] = value.transpose(1, 2)

        query = (query * scale).reshape(rows, kv_heads, -1, size)
        hidden = self._own_mask(window, heads // kv_heads)
        extent = slice(self.extent)
        out, own = _attend(query, keys[:, :, extent], values[:, :, extent], hidden, softcap)
        for group, (prefix, members) in enumerate(self.groups):
            start, hidden = self._prefix_mask(group, window, heads // kv_heads)
            if start < prefix.shape[3]:
                keys, values = prefix[layer, :, :, start:]
                mine = query[members].transpose(0, 1)
                shared = mine.reshape(kv_heads, -1, size)
                part, total = _attend(shared, keys, values, hidden, softcap)
                part = part.view(mine.shape).transpose(0, 1)
                total = total.view(*mine.shape[:3], 1).transpose(0, 1)
                weight = torch.sigmoid(total - own[members]).to(out.dtype)
                out[members] = torch.lerp(out[members], part, weight)
        out = out.view(rows, kv_heads, -1, width, size)
        return out.permute(0, 3, 1, 2, 4).reshape(rows, width, heads, size)

    def _own_mask(self, window, repeats):
        """Own places hidden from a query, [n, 1, repeats * T, extent]; None if it sees all."""
        if window not in self.masks:
            distance = self.place[:, :, None] - torch.arange(self.extent, device=self.place.device)
            hidden = distance < 0
            if window is not None:
                hidden |= distance >= window
            hidden = hidden.repeat(1, repeats, 1)[:, None] if bool(hidden.any()) else None
            self.masks[window] = hidden
        return self.masks[window]

    def _prefix_mask(self, group, window, repeats):
        """The first place of the prefix that any query sees, and what is hidden from some."""
        if window is None:
            return 0, None
        if (group, window) not in self.masks:
            prefix, members = self.groups[group]
            positions, length = self.positions[members], prefix.shape[3]
            start = min(max(int(positions.min()) - window + 1, 0), length)
            places = torch.arange(start, length, device=positions.device)
            hidden = positions[:, :, None] - places >= window
            hidden = hidden.repeat(1, repeats, 1).flatten(0, 1) if bool(hidden.any()) else None
            self.masks[group, window] = start, hidden
        return self.masks[group, window]


def _attend(query, keys, values, hidden, softcap):
    """Softmax attention and the log-sum-exp of its scores: [..., q, size] and [..., q, 1].

    ``query`` is [..., q, size] and scaled, ``keys`` and ``values`` [..., k, size]; scores where
    ``hidden`` (broadcast to [..., q, k]) get a large negative value, finite so that a part hidden
    as a whole has no NaN and no weight.
    """
    scores = (query @ keys.mT).float()
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if hidden is not None:
        scores.masked_fill_(hidden, -1e30)
    weights = scores.softmax(-1)
    total = scores.amax(-1, keepdim=True) - weights.amax(-1, keepdim=True).log()
    return weights.to(values.dtype) @ values, total


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
