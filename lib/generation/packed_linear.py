"""Faster products of linear layers on a CPU, for a model whose weights stay as they are.

oneDNN reads weights faster if they were laid out for its kernels before: packed, as torch's own
inductor packs them. The values are those of the plain product up to rounding. Layers that read the
same tensor, such as queries, keys and values, become one product besides.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

import psutil
import torch
from torch import nn
from torch.nn.functional import linear

SIBLINGS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
"""Names of layers that read the same tensor in transformers' models."""
LEAST_PARAMETERS = 8_000_000
"""Smaller models are never packed: their products cost less than the calls around them."""
LEAST_ROWS = 4
"""Products of fewer rows stay plain: those read each weight once, in whatever layout."""
TYPICAL_ROWS = 32
"""Rows of the products that are measured."""
GAIN = 0.97
"""Layers are packed if their products take less than this share of the plain time."""

Product = Callable[[torch.Tensor], torch.Tensor]


def packed(model):
    """Makes the context in which ``model`` runs with packed weights: ``with packed(model)():``.

    Packing doubles the memory of the linear layers, and the model itself keeps its weights. If they
    change, they are packed again. The context changes nothing if the model is small, is not on a
    CPU, has no room for packed weights in half of the free memory, or measures no faster with them.
    """
    layers = [layers for layers in sibling_layers(model) if _can_pack(layers)]
    weights = [layer.weight for group in layers for layer in group]
    size = sum(weight.nbytes for weight in weights)
    if model.num_parameters() < LEAST_PARAMETERS or size > psutil.virtual_memory().available / 2:
        return nullcontext
    with torch.inference_mode():
        if not weights or not measures_faster(layers):
            return nullcontext
    return PackedLayers(layers).used


def sibling_layers(model) -> Iterator[list[nn.Linear]]:
    """The model's linear layers, those together that read the same tensor."""
    for parent in model.modules():
        children = {
            name: child
            for name, child in parent.named_children()
            # A child with a forward of its own was changed by a library such as accelerate.
            if type(child) is nn.Linear and "forward" not in vars(child)
        }
        for names in SIBLINGS:
            if children.keys() >= set(names) and _alike([children[name] for name in names]):
                yield [children.pop(name) for name in names]
        for child in children.values():
            yield [child]


def _alike(layers):
    kinds = {(x.in_features, x.weight.dtype, x.weight.device, x.bias is None) for x in layers}
    return len(kinds) == 1


def _can_pack(layers):
    weight = layers[0].weight
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    if weight.dtype == torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return weight.dtype == torch.float32


def measures_faster(groups: Sequence[Sequence[nn.Linear]]) -> bool:
    """Whether packed products take less time here; each shape but the largest is timed once."""
    shapes = {(sum(x.out_features for x in group), group[0].in_features): group for group in groups}
    if len(shapes) > 1:  # the head takes long to time, and gains like the others
        del shapes[max(shapes)]
    plain, fast = 0.0, 0.0
    for group in shapes.values():
        x = torch.ones(TYPICAL_ROWS, group[0].in_features, dtype=group[0].weight.dtype)
        product = packed_product(group)
        seconds = shortest(
            lambda x=x, group=group: [layer(x) for layer in group], partial(product, x)
        )
        plain, fast = plain + seconds[0], fast + seconds[1]
    return fast < GAIN * plain


def shortest(*works: Callable, repeats: int = 7) -> list[float]:
    """The shortest of several runs of each, in seconds; they take turns, and the first is free."""
    taken = []
    for _ in range(repeats + 1):
        taken.append([])
        for work in works:
            start = time.perf_counter()
            work()
            taken[-1].append(time.perf_counter() - start)
    return [min(column) for column in zip(*taken[1:], strict=True)]


def packed_product(layers: Sequence[nn.Linear]) -> Product:
    """The outputs of these layers beside each other, as a function of the tensor they all read."""
    weights = [layer.weight.detach() for layer in layers]
    weight = torch.cat(weights) if len(weights) > 1 else weights[0]
    biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
    bias = torch.cat(biases) if biases else None
    weight = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class SharedProduct:
    """One product for several layers that read the same tensor; each takes its part of it."""

    def __init__(self, product: Product, sizes: Sequence[int]):
        self.product, self.sizes = product, list(sizes)
        self.input, self.parts, self.missing = None, (), 0

    def part(self, i: int, x: torch.Tensor) -> torch.Tensor:
        """The output of layer ``i`` for ``x``, computed when the first of the layers reads it."""
        if x is not self.input:
            self.input, self.parts = x, self.product(x).split(self.sizes, -1)
            self.missing = len(self.sizes)
        part = self.parts[i]
        self.missing -= 1
        if not self.missing:
            self.input, self.parts = None, ()
        return part


class PackedLayers:
    """Packed copies of groups of layers, each of which reads one tensor."""

    def __init__(self, groups: Sequence[Sequence[nn.Linear]]):
        self.groups = groups
        self._pack()

    def _pack(self):
        self.forwards, self.versions = [], self._versions()
        with torch.inference_mode():
            for group in self.groups:
                product = packed_product(group)
                sizes = [layer.out_features for layer in group]
                shared = SharedProduct(product, sizes) if len(group) > 1 else None
                for i, layer in enumerate(group):
                    whole = partial(shared.part, i) if shared else product
                    self.forwards.append((vars(layer), partial(_forward, layer, whole)))

    def _versions(self):
        parameters = [p for group in self.groups for layer in group for p in layer.parameters()]
        return [(p.data_ptr(), 0 if p.is_inference() else p._version) for p in parameters]

    @contextmanager
    def used(self):
        """The context in which the layers compute with their packed weights."""
        if self._versions() != self.versions:
            self._pack()
        try:
            for attributes, forward in self.forwards:
                attributes["forward"] = forward
            yield
        finally:
            for attributes, _ in self.forwards:
                attributes.pop("forward", None)


def _forward(layer, packed_forward, x):
    if x.numel() < LEAST_ROWS * x.shape[-1]:
        return linear(x, layer.weight, layer.bias)
    return packed_forward(x)
