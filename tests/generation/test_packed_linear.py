import pytest
import torch
from torch import nn
from transformers import LlamaConfig, PhiConfig, Qwen2Config

from lib.generation import Engine, packed_linear
from lib.generation.packed_linear import PackedLayers, packed, sibling_layers
from lib.generation.sampling import Sampling

SETTINGS = Sampling(temperature=1.0, max_new_tokens=8)
needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)


@pytest.fixture
def always(monkeypatch):
    """Packs models of any size, whatever measures faster."""
    monkeypatch.setattr(packed_linear, "LEAST_PARAMETERS", 0)
    monkeypatch.setattr(packed_linear, "measures_faster", lambda _: True)


@needs_onednn
@pytest.mark.parametrize("kind", [LlamaConfig, Qwen2Config])  # without biases, and with some
def test_packed_layers_compute_the_same(make, kind):
    model, tokens = make(kind).eval(), torch.arange(5, 25).view(2, 10)
    with torch.inference_mode():
        plain = model(tokens).logits
        with PackedLayers(list(sibling_layers(model))).used():
            fast = model(tokens).logits
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-5)


@needs_onednn
def test_a_frozen_engine_samples_the_same_tokens(make, prompt, keys, always):
    model = make(LlamaConfig)
    plain = Engine(model).generate([prompt(20)] * 32, keys(32), SETTINGS)
    frozen = Engine(model, frozen=True)
    assert frozen.fast().__enter__ is not None
    fast = frozen.generate([prompt(20)] * 32, keys(32), SETTINGS)
    assert [r.tokens for r in fast] == [r.tokens for r in plain]


@needs_onednn
def test_the_model_is_plain_again_after_each_reply(make, prompt, keys, always):
    model = make(LlamaConfig)
    Engine(model, frozen=True).generate([prompt(20)] * 4, keys(4), SETTINGS)
    assert not any("forward" in vars(module) for module in model.modules())


@needs_onednn
def test_weights_that_change_are_packed_again(make, always):
    model, tokens = make(LlamaConfig).eval(), torch.arange(5, 25)[None]
    used = packed(model)
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight.mul_(2)
    with torch.inference_mode():
        plain = model(tokens).logits
        with used():
            fast = model(tokens).logits
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-5)


def test_a_small_model_is_never_packed(make, monkeypatch):
    monkeypatch.setattr(packed_linear, "measures_faster", lambda _: True)
    model = make(LlamaConfig)
    with packed(model)():
        assert not any("forward" in vars(module) for module in model.modules())


def test_layers_that_measure_slower_stay_plain(make, always, monkeypatch):
    monkeypatch.setattr(packed_linear, "measures_faster", lambda _: False)
    model = make(LlamaConfig)
    with packed(model)():
        assert not any("forward" in vars(module) for module in model.modules())


def test_a_copy_that_does_not_fit_is_not_made(make, always, monkeypatch):
    memory = type("Memory", (), {"available": 1000})
    monkeypatch.setattr(packed_linear.psutil, "virtual_memory", lambda: memory)
    model = make(LlamaConfig)
    with packed(model)():
        assert not any("forward" in vars(module) for module in model.modules())


def test_layers_that_read_the_same_tensor_are_found(make):
    layers = sibling_layers(make(LlamaConfig, num_hidden_layers=1))
    assert [len(group) for group in layers] == [1, 3, 1, 2, 1]  # head, q k v, o, gate up, down


def test_siblings_of_different_kinds_stay_apart(make):
    model = make(LlamaConfig, num_hidden_layers=1)
    model.model.layers[0].self_attn.q_proj = nn.Linear(32, 32)  # alone with a bias
    assert [len(group) for group in sibling_layers(model)] == [1, 1, 1, 1, 1, 2, 1]


def test_a_layer_with_a_forward_of_its_own_stays_plain(make):
    model = make(PhiConfig, num_hidden_layers=1)
    model.lm_head.forward = model.lm_head.forward  # as accelerate's hooks do
    assert model.lm_head not in [layer for group in sibling_layers(model) for layer in group]


@needs_onednn
def test_what_is_measured_is_a_choice(make):
    assert packed_linear.measures_faster(list(sibling_layers(make(LlamaConfig)))) in (True, False)
