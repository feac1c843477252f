import pytest
import torch
from torch import nn
from transformers import LlamaConfig, Qwen2Config

from lib.generation import Engine
from lib.generation.int8 import check_not_quantised, dtype_name, quantise
from lib.generation.sampling import Sampling

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)
SETTINGS = Sampling(temperature=1.0, max_new_tokens=8)


def dequantised(layer, x):
    """The definition, in floating point."""
    scale = x.abs().amax(-1, keepdim=True) / 127
    whole = (x / scale).round()
    out = (whole @ layer.weight.float().T) * layer.scale * scale
    return out if layer.bias is None else out + layer.bias


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_computes_what_its_definition_says(bias):
    parent = nn.Sequential(nn.Linear(64, 48, bias=bias))
    parent.device = torch.device("cpu")
    x = torch.randn(3, 5, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        quantise(parent)
        torch.testing.assert_close(parent(x), dequantised(parent[0], x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [LlamaConfig, Qwen2Config])
def test_a_quantised_model_is_near_the_model(make, kind):
    model, tokens = make(kind).eval(), torch.arange(5, 25)[None]
    with torch.inference_mode():
        before = model(tokens).logits
        quantise(model)
        after = model(tokens).logits
    correlation = torch.corrcoef(torch.stack([before.flatten(), after.flatten()]))[0, 1]
    assert correlation > 0.99


def test_the_log_probs_are_those_of_the_quantised_model(make, prompt, keys):
    model = make(LlamaConfig).eval()
    quantise(model)
    context = prompt(20)
    [reply] = Engine(model).generate([context], keys(1), SETTINGS)
    with torch.inference_mode():
        logits = model(torch.tensor([context + reply.tokens])).logits[0, len(context) - 1 : -1]
    expected = logits.log_softmax(-1).gather(1, torch.tensor(reply.tokens)[:, None])[:, 0]
    torch.testing.assert_close(torch.tensor(reply.log_probs), expected, atol=0.02, rtol=0)


def test_a_row_does_not_depend_on_the_others(make):
    model, tokens = make(LlamaConfig).eval(), torch.arange(5, 25).view(4, 5)
    quantise(model)
    with torch.inference_mode():
        together, alone = model(tokens).logits[:1], model(tokens[:1]).logits
    torch.testing.assert_close(together, alone, atol=0.02, rtol=0)


def test_zeros_stay_zeros(make):
    layer = nn.Sequential(nn.Linear(8, 4, bias=False))
    layer.device = torch.device("cpu")
    quantise(layer)
    assert not layer(torch.zeros(1, 8)).any()


def test_a_tied_embedding_keeps_its_weights(make):
    model = make(LlamaConfig, tie_word_embeddings=True)
    before = model.get_input_embeddings().weight.clone()
    quantise(model)
    assert torch.equal(model.get_input_embeddings().weight, before)


def test_the_type_is_in_its_name(make):
    model = make(LlamaConfig)
    assert dtype_name(model) == "float32"
    quantise(model)
    assert dtype_name(model) == "int8"


def test_training_a_quantised_model_is_refused(make):
    model = make(LlamaConfig)
    check_not_quantised(model, "training")
    quantise(model)
    with pytest.raises(ValueError, match="training needs the weights themselves"):
        check_not_quantised(model, "training")


def test_a_model_on_another_device_is_refused(make):
    with pytest.raises(ValueError, match="this model is on meta"):
        quantise(make(LlamaConfig).to("meta"))
