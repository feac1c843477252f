"""References between a base and its post-trained policy, by merging their weights."""

import copy
from typing import Literal, get_args

import torch

Method = Literal["linear", "ties", "dare"]


@torch.no_grad()
def merge(
    policy,
    reference,
    alpha: float,
    *,
    method: Method = "linear",
    density: float = 0.2,
    generator: torch.Generator | None = None,
):
    """A new model with the weights pi_ref + alpha sparse(pi - pi_ref); policy and reference stay.

    alpha : from 0 (the reference) to below 1; at 1 a linear merge is the policy, whose log ratio
        to itself is zero everywhere.
    method : "linear" takes all of the difference. "ties" keeps of each tensor the share `density`
        of largest magnitude (TIES, arXiv 2306.01708; its election of signs has nothing to decide
        between one difference). "dare" keeps each weight's difference with the probability
        `density` and divides it by that, so that its mean is right (DARE, arXiv 2311.03099).
    generator : of DARE's draws; needed there.

    Raises ValueError for models of different shapes, and arguments out of range.
    """
    if not 0 <= alpha < 1:
        raise ValueError(
            f"alpha is {alpha}: expected from 0 to below 1; at 1 the reference is the policy and "
            "every score is zero"
        )
    if method not in get_args(Method) or not 0 < density <= 1:
        raise ValueError(
            f"method {method!r} with density {density}: expected one of "
            f"{', '.join(get_args(Method))}, and a density above 0, at most 1"
        )
    if method == "dare" and generator is None:
        raise ValueError("DARE drops weights at random: give a torch.Generator")
    theirs = dict(policy.named_parameters())
    merged = copy.deepcopy(reference)
    ours = dict(merged.named_parameters())
    _check_shapes(theirs, ours)
    for name, weight in ours.items():
        difference = theirs[name].float() - weight.float()
        if method == "ties":
            difference = _largest(difference, density)
        elif method == "dare":
            kept = torch.rand(difference.shape, generator=generator) < density
            difference = difference * kept.to(difference.device) / density
        weight.copy_(weight.float() + alpha * difference)
    return merged


def _largest(values: torch.Tensor, share: float) -> torch.Tensor:
    """The values of largest magnitude, this share of them; the others become zero."""
    flat = values.flatten()
    kept = flat.abs().topk(max(1, int(share * flat.numel()))).indices
    return torch.zeros_like(flat).scatter(0, kept, flat[kept]).view_as(values)


def _check_shapes(policy, reference) -> None:
    for name in sorted(policy.keys() | reference.keys()):
        shapes = [
            tuple(weights[name].shape) if name in weights else None
            for weights in (policy, reference)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"weight {name!r} has the shape {shapes[0]} in the policy and {shapes[1]} in the "
                "reference: only models of one architecture and size can be merged"
            )
