"""Shared-prefix attention against a full forward pass, architecture by architecture."""

import pytest
import torch
import transformers

from lib.generation import Engine, Sampling, kv_cache

DELTA = {
    # With larger weights the full pass, which computes in pieces of 64 tokens, and the pass by one
    # token of transformers differ by more than 1e-4.
    "initializer_range": 0.1,
    "num_hidden_layers": 5,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 6,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
COVERED = {
    "gemma2": (transformers.Gemma2Config, {"sliding_window": 6, "query_pre_attn_scalar": 8}),
    "gemma3_text": (
        transformers.Gemma3TextConfig,
        {"sliding_window": 6, "query_pre_attn_scalar": 8, "num_hidden_layers": 7},
    ),
    "gemma4_text": (
        transformers.Gemma4TextConfig,
        {
            "sliding_window": 6,
            "num_hidden_layers": 8,
            "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 2,
            "num_kv_shared_layers": 3,
            "global_head_dim": 16,
            "vocab_size_per_layer_input": 64,
            "hidden_size_per_layer_input": 8,
            "final_logit_softcapping": 9.0,
        },
    ),
    "granite": (transformers.GraniteConfig, {"logits_scaling": 2.0}),
    "llama": (transformers.LlamaConfig, {}),
    "ministral3": (
        transformers.Ministral3Config,
        {
            "sliding_window": 9,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 1e4,
                "factor": 4.0,
                "original_max_position_embeddings": 8,
                "llama_4_scaling_beta": 0.5,
            },
        },
    ),
    "mistral": (transformers.MistralConfig, {"sliding_window": 6}),
    "olmo2": (transformers.Olmo2Config, {}),
    "olmo3": (transformers.Olmo3Config, {"sliding_window": 6, "num_hidden_layers": 5}),
    "phi3": (transformers.Phi3Config, {"sliding_window": 6}),
    "qwen2": (transformers.Qwen2Config, {}),
    "qwen3": (transformers.Qwen3Config, {}),
    "qwen3_5_moe_text": (transformers.Qwen3_5MoeTextConfig, DELTA | EXPERTS),
    "qwen3_5_text": (transformers.Qwen3_5TextConfig, DELTA),
    "qwen3_moe": (transformers.Qwen3MoeConfig, EXPERTS),
    "smollm3": (transformers.SmolLM3Config, {}),
    "starcoder2": (transformers.Starcoder2Config, {"sliding_window": 6}),
}


@pytest.fixture
def sharing(monkeypatch):
    """Share every prompt that two rows have in common, however short; read it in small pieces."""
    monkeypatch.setattr(kv_cache, "SHARE_FROM", 1)
    monkeypatch.setattr(kv_cache, "PASS_WIDTH", 5)


def test_every_covered_architecture_is_tested_here():
    assert set(COVERED) == kv_cache.COVERED


@pytest.mark.parametrize("name", sorted(COVERED))
@pytest.mark.usefixtures("sharing")
def test_log_probs_are_those_of_a_full_forward_pass(name, make, prompt, keys, full_forward):
    kind, changes = COVERED[name]
    model = make(kind, **changes)
    contexts = [prompt(13)] * 3 + [prompt(9, seed=1)] * 2 + [prompt(4, seed=2)]
    batch = Engine(model).open(keys(6))
    sampling = Sampling(temperature=0.7, max_new_tokens=9)
    for turn in range(2):
        for row, reply in enumerate(batch.reply(range(6), contexts, sampling)):
            expected = full_forward(model, contexts[row], reply.tokens, 0.7)
            assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)
            contexts[row] = contexts[row] + reply.tokens + prompt(3 + row % 2, seed=turn)


@pytest.mark.parametrize("window", [4, 15, None])
@pytest.mark.usefixtures("sharing")
def test_one_group_over_an_odd_number_of_heads(window, make, prompt, keys, full_forward):
    heads = {"num_attention_heads": 6, "num_key_value_heads": 3, "sliding_window": window}
    model, context = make(transformers.MistralConfig, **heads), prompt(13)
    batch, contexts = Engine(model).open(keys(3)), [context] * 3
    for new in (1, 5):
        sampling = Sampling(temperature=1.0, max_new_tokens=new)
        for row, reply in enumerate(batch.reply(range(3), contexts, sampling)):
            expected = full_forward(model, contexts[row], reply.tokens)
            assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)
            contexts[row] = contexts[row] + reply.tokens + prompt(5, seed=row)


@pytest.mark.usefixtures("sharing")
def test_groups_may_rest_and_take_new_prompts(llama, prompt, keys, full_forward):
    batch, contexts = Engine(llama).open(keys(6)), [prompt(9)] * 3 + [prompt(13, seed=1)] * 3
    sampling = Sampling(temperature=1.0, max_new_tokens=4)
    for turn, rows in enumerate([range(6), [4, 5], [0, 1, 2], range(6)]):
        if turn == 2:
            contexts[:3] = [prompt(11, seed=2)] * 3
        for row, reply in zip(
            rows, batch.reply(rows, [contexts[r] for r in rows], sampling), strict=True
        ):
            expected = full_forward(llama, contexts[row], reply.tokens)
            assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)
            contexts[row] = contexts[row] + reply.tokens + prompt(2, seed=row)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.usefixtures("sharing")
def test_half_precision_is_right_to_its_own_rounding(dtype, make, prompt, keys, full_forward):
    model = make(transformers.MistralConfig, sliding_window=15, initializer_range=0.1).to(dtype)
    batch, contexts = Engine(model).open(keys(3)), [prompt(13)] * 3
    sampling = Sampling(temperature=1.0, max_new_tokens=5)
    for _ in range(2):
        for row, reply in enumerate(batch.reply(range(3), contexts, sampling)):
            expected = full_forward(model, contexts[row], reply.tokens)
            assert torch.allclose(torch.tensor(reply.log_probs), expected.float(), atol=0.1)
            contexts[row] = contexts[row] + reply.tokens + prompt(3, seed=row)


@pytest.mark.usefixtures("sharing")
def test_sharing_does_not_change_what_is_sampled(llama, prompt, keys, monkeypatch):
    contexts = [prompt(20)] * 8
    sampling = Sampling(temperature=1.0, max_new_tokens=12)
    shared = Engine(llama).generate(contexts, keys(8), sampling)
    monkeypatch.setattr(kv_cache, "SHARE_FROM", 10**9)
    copied = Engine(llama).generate(contexts, keys(8), sampling)
    assert sum(reply.ties for reply in shared) == 0
    assert [reply.tokens for reply in shared] == [reply.tokens for reply in copied]


@pytest.mark.usefixtures("sharing")
def test_a_shared_prompt_is_computed_once_and_held_once(llama, prompt, keys):
    read = []
    handle = llama.model.embed_tokens.register_forward_hook(
        lambda _, inputs, __: read.append(inputs[0].numel())
    )
    batch = Engine(llama).open(keys(8))
    batch.reply(range(8), [prompt(100)] * 8, Sampling(temperature=1.0, max_new_tokens=4))
    handle.remove()
    assert 99 + 1 < sum(read) <= 99 + 1 + 8 * 3
    assert batch.cache.store.shared[0].shape[2] == 1
    assert batch.cache.store.room < 99


def test_an_uncovered_architecture_says_so_and_is_right(prompt, keys, full_forward):
    sizes = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    ends = {"bos_token_id": 1, "eos_token_id": 2}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **ends)).eval()
    with pytest.warns(UserWarning, match="KV cache of transformers.*'gpt2'"):
        engine = Engine(model)
    contexts = [prompt(7), prompt(5, seed=1), prompt(7)]
    sampling = Sampling(temperature=0.7, max_new_tokens=6)
    for context, reply in zip(contexts, engine.generate(contexts, keys(3), sampling), strict=True):
        expected = full_forward(model, context, reply.tokens, 0.7)
        assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)


@pytest.mark.parametrize("rope_type", ["dynamic", "longrope"])
def test_a_rotary_embedding_that_depends_on_the_length_is_not_covered(rope_type):
    config = transformers.LlamaConfig()
    config.rope_parameters = {"rope_type": rope_type, "rope_theta": 1e4}
    assert "rotary" in kv_cache.why_uncovered(config)


def test_a_model_on_several_devices_is_not_covered(make):
    model = make(transformers.LlamaConfig)
    assert kv_cache.why_spread(model) is None
    model.model.layers[1].to("meta")
    assert "several devices" in kv_cache.why_spread(model)
