"""Linear layers with weights of 8 bits, for sampling on a CPU: another policy, and a faster one.

Each row of a weight has a scale, and so has each token's input, so that no token's result depends
on what else is in the batch but by rounding. Products are summed exactly, in integers.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import nn

from lib.generation.packed_linear import SharedProduct, sibling_layers

NAME = "int8"


class Int8Linear(nn.Module):
    """A linear layer of whole numbers: y = s_x s_w (round(x / s_x) W) + bias.

    ``weight``, int8 [out, in], has a scale in each row, ``scale`` [out], and x one for each token.
    """

    def __init__(self, layer: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        weight = layer.weight.detach().float()
        # Without VNNI, sums of two products are kept in 16 bits: weights of 7 bits fit.
        largest = 127 if torch.cpu._is_vnni_supported() else 63
        scale = weight.abs().amax(1).clamp_(min=torch.finfo(torch.float32).tiny).div_(largest)
        self.register_buffer("weight", weight.div(scale[:, None]).round_().to(torch.int8))
        self.register_buffer("scale", scale)
        bias = None if layer.bias is None else layer.bias.detach().float()
        self.register_buffer("bias", bias)
        self.product = None

    def forward(self, x):
        """``x`` is [..., in], of any floating type; the result has that type."""
        return self.product(x)


def quantise(model) -> None:
    """Replace the weights of all linear layers by 8-bit ones; embeddings and norms stay.

    Raises ValueError if there is nothing to replace, or if the model is not on a CPU that can.
    """
    if model.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        raise ValueError(
            f"int8 weights are for a CPU with oneDNN, and this model is on {model.device}: "
            "use bfloat16 there"
        )
    parents = {
        child: (parent, name)
        for parent in model.modules()
        for name, child in parent.named_children()
    }
    groups = list(sibling_layers(model))
    if not groups:
        raise ValueError(f"{type(model).__name__} has no linear layers that int8 could replace")
    for layers in groups:
        replaced = [Int8Linear(layer) for layer in layers]
        product = partial(_product, *_packed(replaced))
        shared = SharedProduct(product, [layer.out_features for layer in layers])
        for i, (layer, new) in enumerate(zip(layers, replaced, strict=True)):
            new.product = partial(shared.part, i) if len(layers) > 1 else product
            setattr(*parents[layer], new.eval())


def dtype_name(model) -> str:
    """The type of a model's weights, as manifests have it: "int8", "bfloat16", "float32", ..."""
    if is_quantised(model):
        return NAME
    return str(model.dtype).removeprefix("torch.")


def is_quantised(model) -> bool:
    """Whether `quantise` has replaced the weights of this model."""
    return any(isinstance(module, Int8Linear) for module in model.modules())


def check_not_quantised(model, purpose: str) -> None:
    """Raises ValueError, which names the purpose, if the model has weights of 8 bits."""
    if is_quantised(model):
        raise ValueError(
            f"{purpose} needs the weights themselves, and these are rounded to int8, which is "
            'for collecting alone: load the model with dtype "float32" or "bfloat16"'
        )


def _packed(layers: Sequence[Int8Linear]):
    weight = torch.ops.onednn.qlinear_prepack(torch.cat([x.weight for x in layers]), None)
    scale = torch.cat([x.scale for x in layers])
    bias = None if layers[0].bias is None else torch.cat([x.bias for x in layers])
    return weight, scale, torch.zeros(len(scale), dtype=torch.int64), bias


def _product(weight, scale, zero_points, bias, x):
    # float32 holds the range of every type; float16 would lose a small scale.
    rows = x.reshape(-1, x.shape[-1]).float()
    lowest = torch.finfo(torch.float32).tiny
    scale_of_row = rows.abs().amax(-1, keepdim=True).clamp_(min=lowest).div_(127)
    whole = (rows / scale_of_row).round_().to(torch.int8)
    out = torch.ops.onednn.qlinear_pointwise(
        whole, 1.0, 0, weight, scale, zero_points, None, 1.0, 0, torch.float32, "none", [], ""
    ).mul_(scale_of_row)
    if bias is not None:
        out += bias
    return out.to(x.dtype).view(*x.shape[:-1], -1)
