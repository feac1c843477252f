"""States of recurrent layers, such as the gated delta nets of Qwen 3.5, one for each sequence."""

import inspect
from collections.abc import Sequence

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import (
    CacheLayerMixin,
    LinearAttentionCacheLayerMixin,
    LinearAttentionLayer,
)


def cache_argument(model) -> str | None:
    """The name by which this model's forward pass takes a KV cache; None if it takes none."""
    plain = model.get_base_model() if hasattr(model, "get_base_model") else model  # in peft
    taken = inspect.signature(plain.forward).parameters
    return next((name for name in ("cache", "past_key_values") if name in taken), None)


class RecurrentStates:
    """What the recurrent layers of n sequences remember; a model without any has no tensors.

    ``tensors[i]`` is [n, ...]: state number ``names[i][2]`` of layer ``names[i][0]``, of the kind
    ``names[i][1]``, "conv" or "recurrent". Zeros are the state before the first token.
    """

    def __init__(self, names: Sequence[tuple[int, str, int]], tensors: Sequence[torch.Tensor]):
        self.names, self.tensors = list(names), list(tensors)

    def new(self, number: int) -> "RecurrentStates":
        """States before the first token of so many sequences."""
        zeros = [tensor.new_zeros(number, *tensor.shape[1:]) for tensor in self.tensors]
        return RecurrentStates(self.names, zeros)

    def taken(self, slots) -> "RecurrentStates":
        """A copy of the states of these slots."""
        return RecurrentStates(self.names, self.read(slots))

    def read(self, slots) -> list[torch.Tensor]:
        """A copy of the tensors of these slots."""
        return [tensor[slots] for tensor in self.tensors]

    def write(self, slots, values: Sequence[torch.Tensor]) -> None:
        """Set the states of these slots to ``values``, [slots, ...] or [1, ...] each."""
        for tensor, value in zip(self.tensors, values, strict=True):
            tensor[slots] = value

    def clear(self, slot: int) -> None:
        """Set a slot to the state before the first token."""
        for tensor in self.tensors:
            tensor[slot] = 0

    def extend(self, more: int) -> None:
        """Add so many slots."""
        grown = zip(self.tensors, self.new(more).tensors, strict=True)
        self.tensors = [torch.cat(pair) for pair in grown]

    def cache(self, low: int, high: int) -> "_CacheOfStates":
        """A cache for a forward pass that updates the states of the slots low to high in place."""
        layers = {}
        for (number, kind, index), tensor in zip(self.names, self.tensors, strict=True):
            layers.setdefault(number, []).append((kind, index, tensor[low:high]))
        return _CacheOfStates(layers)


def states_of(model) -> RecurrentStates:
    """No sequence's states, of the shapes and types that this model has: it reads one token."""
    config = model.config.get_text_config(decoder=True)
    if "linear_attention" not in (getattr(config, "layer_types", None) or ()):
        return RecurrentStates([], [])
    cache = DynamicCache(config=config)
    token = torch.zeros((1, 1), dtype=torch.long, device=model.device)
    model.base_model(token, use_cache=True, **{cache_argument(model): cache})
    names, tensors = [], []
    for number, layer in enumerate(cache.layers):
        if isinstance(layer, LinearAttentionCacheLayerMixin):
            for kind in ("conv", "recurrent"):
                for index, tensor in getattr(layer, f"{kind}_states").items():
                    if tensor is not None:
                        names.append((number, kind, index))
                        tensors.append(tensor[:0])
    return RecurrentStates(names, tensors)


class _CacheOfStates(Cache):
    """A cache of transformers that holds states, and no keys: the attention stores those itself."""

    def __init__(self, states):
        layers = [_NoKeys() for _ in range(max(states) + 1)]
        for number, held in states.items():
            layer = layers[number] = LinearAttentionLayer(1 + max(index for _, index, _ in held))
            for kind, index, tensor in held:
                getattr(layer, f"{kind}_states")[index] = tensor
                getattr(layer, f"is_{kind}_states_initialized")[index] = True
                layer.has_previous_state[index] = True
                layer.device, layer.dtype = tensor.device, tensor.dtype
                if kind == "conv":
                    layer.conv_kernel_size[index] = tensor.shape[-1]
        super().__init__(layers=layers)

    def update(self, key_states, value_states, layer_idx, *args, **kwargs):
        return key_states, value_states

    def get_seq_length(self, layer_idx=0):
        return 0

    def get_mask_sizes(self, query_length, layer_idx):
        return query_length, 0


class _NoKeys(CacheLayerMixin):
    """The layer of an attention whose keys are elsewhere."""

    is_sliding = False

    def lazy_initialization(self, key_states, value_states): ...

    def update(self, key_states, value_states, *args, **kwargs):
        return key_states, value_states

    def get_mask_sizes(self, query_length):
        return query_length, 0

    def get_seq_length(self):
        return 0

    def get_max_length(self):
        return -1
