"""Merged references in closed form."""

import pytest
import torch
from torch import nn

from lib.advantage.references import merge
from tests import tiny

BASE = [[0.0, 1.0, 2.0, 3.0, 4.0]]
DIFFERENCE = [[0.5, -4.0, 1.0, -2.0, 0.1]]


def layer(values):
    made = nn.Linear(len(values[0]), 1, bias=False)
    made.weight.data = torch.tensor(values)
    return made


@pytest.fixture
def pair():
    return layer((torch.tensor(BASE) + torch.tensor(DIFFERENCE)).tolist()), layer(BASE)


def test_linear(pair):
    expected = torch.tensor(BASE) + 0.25 * torch.tensor(DIFFERENCE)
    assert torch.allclose(merge(*pair, 0.25).weight, expected)
    assert (merge(*pair, 0.0).weight == pair[1].weight).all()
    assert pair[1].weight.tolist() == BASE  # as it was


def test_ties_keeps_the_largest_differences(pair):
    found = merge(*pair, 0.5, method="ties", density=0.4).weight
    expected = torch.tensor(BASE) + 0.5 * torch.tensor([[0, -4.0, 0, -2.0, 0]])
    assert torch.allclose(found, expected)


def test_dare_keeps_the_mean_and_the_share():
    policy, reference = layer([[1.0] * 40_000]), layer([[0.0] * 40_000])
    generator = torch.Generator().manual_seed(0)
    found = merge(policy, reference, 0.5, method="dare", density=0.2, generator=generator).weight
    assert set(found.flatten().tolist()) == {0.0, 2.5}
    assert found.mean().item() == pytest.approx(0.5, abs=0.02)


def test_a_whole_model_is_merged_and_a_density_of_1_is_linear():
    policy, reference = tiny.model(heat=0.4), tiny.model(heat=0.2)
    linear = merge(policy, reference, 0.5).state_dict()
    whole = merge(policy, reference, 0.5, method="ties", density=1.0).state_dict()
    for name, weight in linear.items():
        middle = (policy.state_dict()[name] + reference.state_dict()[name]) / 2
        assert torch.allclose(weight, middle, atol=1e-6)
        assert torch.allclose(weight, whole[name], atol=1e-6)


@pytest.mark.parametrize(
    ("alpha", "options", "expected"),
    [
        (1.0, {}, "alpha is 1.0: expected from 0 to below 1"),
        (-0.1, {}, r"alpha is -0\.1"),
        (0.5, {"method": "slerp"}, "method 'slerp'"),
        (0.5, {"method": "ties", "density": 0.0}, "density above 0"),
        (0.5, {"method": "dare"}, r"give a torch\.Generator"),
    ],
)
def test_what_cannot_be_merged(pair, alpha, options, expected):
    with pytest.raises(ValueError, match=expected):
        merge(*pair, alpha, **options)


def test_other_shapes_are_named(pair):
    with pytest.raises(ValueError, match=r"'weight' has the shape \(1, 5\) in the policy and"):
        merge(pair[0], layer([[1.0, 2.0]]), 0.5)
