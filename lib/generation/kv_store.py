"""Keys and values of the sequences of a KV cache, and the states of its recurrent layers."""

import copy
from collections.abc import Sequence

import numpy as np
import torch

from lib.generation.recurrent_states import RecurrentStates

SPARE = 16
"""Spare places for the next tokens of a sequence."""


class Layout:
    """Where the keys and values of each layer are stored.

    ``parts``: number of layers of each shape (kv heads, head size). ``place``: for each layer the
    part and the index in it, or None if the layer has no keys. ``reads_others``: layers that attend
    to the keys of an earlier layer, whose place they have.
    """

    def __init__(self, config):
        self.parts: dict[tuple[int, int], int] = {}
        self.place: list[tuple[int, int] | None] = []
        self.reads_others: set[int] = set()
        kinds = getattr(config, "layer_types", None) or [None] * config.num_hidden_layers
        sharing = getattr(config, "kv_sharing_modes", None) or [None] * config.num_hidden_layers
        latest = {}
        for layer, (kind, mode) in enumerate(zip(kinds, sharing, strict=True)):
            if kind == "linear_attention":
                self.place.append(None)
            elif mode == "reuse":
                self.place.append(latest[kind])
                self.reads_others.add(layer)
            else:
                shape = _kv_shape(config.per_layer_config[layer])
                index = self.parts.setdefault(shape, 0)
                self.parts[shape] += 1
                latest[kind] = list(self.parts).index(shape), index
                self.place.append(latest[kind])


def _kv_shape(config):
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    return kv_heads, getattr(config, "head_dim", None) or config.hidden_size // heads


class KVStore:
    """Keys and values of n sequences: tokens of their own, after a prefix that several may share.

    Layers of one shape are stored together; there is a part for each shape. ``own`` has for each
    part [layers, 2, n, kv heads, room + 1, head size], keys then values; place ``room`` is written
    by padding and never read. Slot i has ``length[i]`` own tokens, at positions from ``offset[i]``
    on, after prefix number ``prefix[i]`` or, where that is -1, after nothing. ``shared`` has for
    each part [layers, 2, prefixes, kv heads, longest, head size]. ``states`` are those of the
    recurrent layers.
    """

    def __init__(
        self, layout: Layout, number: int, room: int, like: torch.Tensor, states: RecurrentStates
    ):
        self.layout, self.states = layout, states
        self.own, self.shared = (
            [
                like.new_zeros(layers, 2, count, kv_heads, places, size)
                for (kv_heads, size), layers in layout.parts.items()
            ]
            for count, places in ((number, room + 1), (0, 0))
        )
        self.length = np.zeros(number, dtype=np.int64)
        self.prefix = np.full(number, -1)
        self.offset = np.zeros(number, dtype=np.int64)
        self._some = (), self.shared

    @property
    def room(self) -> int:
        """Number of own tokens that a sequence can hold."""
        return self.own[0].shape[4] - 1

    def grow(self, room: int) -> None:
        """Make room for at least ``room`` own tokens in each sequence.

        It grows often and by little: attention reads densely packed keys up to three times as fast.
        """
        if room > self.room:
            held = int(self.length.max(initial=0))
            self.own = [_widened(own, room + SPARE + 1, held) for own in self.own]

    def copy(self, sources: np.ndarray, targets: np.ndarray) -> None:
        """Copy the sequence of slot sources[i] to slot targets[i], all at once."""
        if len(targets):
            for own in self.own:
                own[:, :, targets] = own[:, :, sources]
            for column in (self.length, self.prefix, self.offset):
                column[targets] = column[sources]
            self.states.write(targets, self.states.read(sources))

    def take(self, slots: np.ndarray) -> "KVStore":
        """A store with a copy of these slots, and with the same prefixes."""
        taken = copy.copy(self)
        taken.own = [own[:, :, slots] for own in self.own]
        taken.length, taken.prefix, taken.offset = (
            column[slots] for column in (self.length, self.prefix, self.offset)
        )
        taken.states = self.states.taken(slots)
        return taken

    def put(self, slots: np.ndarray, taken: "KVStore") -> None:
        """Write what :meth:`take` copied, and may have continued since, back to these slots."""
        self.grow(taken.room)
        for own, part in zip(self.own, taken.own, strict=True):
            places = part.shape[4] - 1
            own[:, :, slots, :, :places] = part[:, :, :, :, :places]
        self.length[slots] = taken.length
        self.states.write(slots, taken.states.tensors)

    def empty(self, first: int) -> None:
        """Forget the sequences of the slots from ``first`` on."""
        self.length[first:], self.prefix[first:], self.offset[first:] = 0, -1, 0

    def extend(self, number: int) -> None:
        """Have at least ``number`` slots; add some more empty ones, so that few calls add any."""
        more = number - len(self.length)
        if more > 0:
            more += len(self.length) // 2
            self.own = [
                torch.cat([own, own.new_zeros([*own.shape[:2], more, *own.shape[3:]])], 2)
                for own in self.own
            ]
            self.length, self.offset = (
                np.append(column, np.zeros(more, dtype=np.int64))
                for column in (self.length, self.offset)
            )
            self.prefix = np.append(self.prefix, np.full(more, -1))
            self.states.extend(more)

    def fill(self, slots: Sequence[int], prompt: Sequence[torch.Tensor]) -> None:
        """Write this prompt, for each part [layers, 2, kv heads, length, head size], to slots."""
        for own, part in zip(self.own, prompt, strict=True):
            own[:, :, slots, :, : part.shape[3]] = part[:, :, None]
        self.length[slots] = prompt[0].shape[3]

    def share(
        self, users: Sequence[Sequence[int]], prefixes: Sequence[Sequence[torch.Tensor]]
    ) -> None:
        """Give each prefix, as ``prompt`` of :meth:`fill`, to empty slots that use it.

        Prefixes that no slot uses any more are dropped.
        """
        used, renumbered = np.unique(self.prefix[self.prefix >= 0], return_inverse=True)
        self.prefix[self.prefix >= 0] = renumbered
        for number, (slots, prefix) in enumerate(zip(users, prefixes, strict=True), len(used)):
            self.prefix[slots], self.offset[slots] = number, prefix[0].shape[3]
        kept = self.offset[self.prefix >= 0]
        longest = int(kept.max(initial=0))
        for i, before in enumerate(self.shared):
            shape = list(before.shape)
            shape[2], shape[4] = len(used) + len(users), longest
            shared = before.new_zeros(shape)
            held = min(longest, before.shape[4])
            shared[:, :, : len(used), :, :held] = before[:, :, used.tolist(), :, :held]
            for number, prefix in enumerate(prefixes, len(used)):
                shared[:, :, number, :, : prefix[i].shape[3]] = prefix[i]
            self.shared[i] = shared
        self._some = (), None

    def shared_of(self, numbers: np.ndarray) -> list[torch.Tensor]:
        """``shared`` of these prefixes, numbers in rising order; the last result is cached."""
        if len(numbers) == self.shared[0].shape[2]:
            return self.shared
        if self._some[0] != tuple(numbers):
            self._some = tuple(numbers), [part[:, :, numbers.tolist()] for part in self.shared]
        return self._some[1]


def _widened(own, places, held):
    """A copy of ``own`` with so many places a sequence, of which ``held`` are in use."""
    shape = list(own.shape)
    shape[4] = places
    grown = own.new_empty(shape)
    grown[:, :, :, :, :held] = own[:, :, :, :, :held]
    # Places that are not written yet are read with no weight, so they must be finite.
    grown[:, :, :, :, held:] = 0
    return grown
