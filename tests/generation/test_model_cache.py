"""The KV cache of transformers: the tokens and log-probs are those of reading all again."""

import warnings

import pytest
import torch
import transformers
from transformers import DynamicCache

from lib.generation import Engine, Sampling, model_cache
from lib.generation.cache_rows import join, select
from lib.generation.kv_cache import RereadCache
from lib.generation.model_cache import ModelCache
from tests.generation.conftest import SIZES, make_model

MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 8}
LATENT = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
}
DELTA = {
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "num_hidden_layers": 4,
    "initializer_range": 0.1,
}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128, "initializer_range": 0.3}
OF = {
    "bloom": (transformers.BloomConfig, {"n_head": 4, "n_layer": 2}),
    "cohere2": (transformers.Cohere2Config, {"sliding_window": 6, "num_hidden_layers": 5}),
    "deepseek_v3": (transformers.DeepseekV3Config, LATENT),
    "falcon_h1": (transformers.FalconH1Config, MAMBA | {"mamba_d_ssm": 64}),
    "glm4": (transformers.Glm4Config, {}),
    "gpt2": (transformers.GPT2Config, GPT),
    "gpt_neox": (transformers.GPTNeoXConfig, {}),
    "gpt_oss": (transformers.GptOssConfig, {"sliding_window": 6, "num_local_experts": 4}),
    "granitemoehybrid": (
        transformers.GraniteMoeHybridConfig,
        MAMBA
        | {"num_local_experts": 0, "shared_intermediate_size": 48, "mamba_expand": 2}
        | {"layer_types": ["mamba", "attention"]},
    ),
    "lfm2": (transformers.Lfm2Config, {"layer_types": ["conv", "full_attention"]}),
    "mamba": (transformers.MambaConfig, {"state_size": 8}),
    "minimax": (
        transformers.MiniMaxConfig,
        {
            "layer_types": ["full_attention", "linear_attention"],
            "num_local_experts": 4,
            "initializer_range": 0.1,
        },
    ),
    "opt": (transformers.OPTConfig, {"ffn_dim": 48, "word_embed_proj_dim": 32}),
    "phi": (transformers.PhiConfig, {}),
    "qwen3_next": (transformers.Qwen3NextConfig, DELTA),
}


@pytest.fixture(scope="module", params=sorted(OF))
def model(request):
    kind, changes = OF[request.param]
    return make_model(kind(**{**SIZES, **changes})).eval()


@pytest.fixture
def engine():
    """``engine(model)``: without the warning that this architecture has no shared prefixes."""

    def make(model, **changes):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="sampling")
            return Engine(model, **{"context": 128, **changes})

    return make


@pytest.fixture(scope="module")
def gpt2():
    return make_model(transformers.GPT2Config(**{**SIZES, **GPT}))


@pytest.fixture
def read(gpt2):
    """The numbers of tokens that GPT-2 reads, pass by pass."""
    numbers = []
    handle = gpt2.transformer.wte.register_forward_hook(
        lambda _, inputs, __: numbers.append(inputs[0].numel())
    )
    yield numbers
    handle.remove()


def three_turns(engine, prompt, keys):
    """Replies of rows with contexts of several lengths, edited, resting; and their contexts."""
    batch, replies = engine.open(keys(6)), []
    contexts = [prompt(13)] * 3 + [prompt(9, seed=1)] * 2 + [prompt(13, seed=2)]
    for turn, rows in enumerate([[0, 1, 2, 3, 4, 5], [5, 0, 1, 3], [4, 2, 1, 0]]):
        if turn == 2:
            contexts[1], contexts[2] = contexts[1][:6], [60, *contexts[2][1:]]
        settings = [Sampling(temperature=1.0, max_new_tokens=3 + row) for row in rows]
        for row, reply in zip(
            rows, batch.reply(rows, [contexts[row] for row in rows], settings), strict=True
        ):
            replies.append((contexts[row], reply))
            contexts[row] = contexts[row] + reply.tokens + prompt(1 + row % 2, seed=turn)
    return replies


def test_tokens_are_those_of_reading_all_again(model, engine, prompt, keys, full_forward):
    cached, again = engine(model), engine(model)
    assert cached.new_cache.func is ModelCache
    again.new_cache = RereadCache
    replies, expected = (three_turns(which, prompt, keys) for which in (cached, again))
    for (context, reply), (_, other) in zip(replies, expected, strict=True):
        assert reply.tokens == other.tokens
        log_probs = full_forward(model, context, reply.tokens)
        assert torch.allclose(torch.tensor(reply.log_probs), log_probs, atol=1e-4)


def test_the_same_tokens_at_batch_1_7_and_64(gpt2, engine, prompt, keys):
    sampling, cached = Sampling(temperature=1.0, max_new_tokens=8), engine(gpt2)
    by_size = [
        [
            reply.tokens
            for low in range(0, 64, size)
            for key in [keys(64)[low : low + size]]
            for reply in cached.generate([prompt(20)] * len(key), key, sampling)
        ]
        for size in (1, 7, 64)
    ]
    assert by_size[0] == by_size[1] == by_size[2]


def test_a_prompt_is_read_once_and_then_a_token_a_row(gpt2, engine, prompt, keys, read):
    cached = engine(gpt2)
    read.clear()
    cached.generate([prompt(40)] * 8, keys(8), Sampling(temperature=1.0, max_new_tokens=4))
    assert read == [40, 8, 8, 8]


def test_a_later_turn_reads_only_what_is_new(gpt2, engine, prompt, keys, read):
    batch, contexts = engine(gpt2).open(keys(2)), [prompt(40), prompt(30)]
    settings = [Sampling(temperature=1.0, max_new_tokens=number) for number in (4, 2)]
    replies = batch.reply([0, 1], contexts, settings)
    read.clear()
    contexts = [c + r.tokens + prompt(3) for c, r in zip(contexts, replies, strict=True)]
    batch.reply([0, 1], contexts, Sampling(temperature=1.0, max_new_tokens=1))
    assert sum(read) == 2 * (1 + 3)


def test_a_long_prompt_is_read_in_pieces(gpt2, engine, prompt, keys, read, monkeypatch):
    cached, sampling = engine(gpt2), Sampling(temperature=1.0, max_new_tokens=2)
    whole = cached.generate([prompt(40)] * 3, keys(3), sampling)
    monkeypatch.setattr(model_cache, "PASS_SCORES", 400)
    read.clear()
    pieces = cached.generate([prompt(40)] * 3, keys(3), sampling)
    assert read == [10, 10, 10, 10, 3]
    assert [reply.tokens for reply in whole] == [reply.tokens for reply in pieces]


def test_what_cannot_read_several_tokens_after_others_reads_them_one_by_one(engine):
    mamba = make_model(transformers.MambaConfig(**{**SIZES, "state_size": 8}))
    assert engine(mamba).new_cache.keywords == {"wide": False}


def test_a_cache_that_changes_the_log_probs_is_not_used(gpt2, prompt, monkeypatch):
    right = model_cache.forward

    def forgets(model, tokens, cache=None):
        return right(model, tokens)

    monkeypatch.setattr(model_cache, "forward", forgets)
    with pytest.warns(UserWarning, match="re-reads the whole context.*differ from those of a full"):
        engine = Engine(gpt2)
    assert engine.new_cache is RereadCache


def test_an_architecture_without_a_cache_says_so():
    model = make_model(transformers.OpenAIGPTConfig(**{**SIZES, **GPT}))
    with pytest.warns(UserWarning, match="re-reads the whole context.*it takes no KV cache"):
        assert Engine(model).new_cache is RereadCache


def test_caches_of_unlike_lengths_are_not_joined(gpt2):
    caches = [model_cache.forward(gpt2, [[5] * length])[0] for length in (3, 4)]
    assert join(*caches) is None
    assert join(caches[0], select(caches[0], [0, 0])).layers[0].keys.shape[0] == 3


def test_selecting_rows_leaves_the_cache_as_it_was():
    config = transformers.Qwen3NextConfig(**{**SIZES, **DELTA})
    model, cache = make_model(config).eval(), DynamicCache(config=config)
    with torch.no_grad():
        model_cache.forward(model, [[5, 6, 7]], cache)
        twins = select(cache, [0, 0])
        once = model_cache.forward(model, [[8], [9]], twins)[1]
        again = model_cache.forward(model, [[8]], cache)[1]
    assert torch.allclose(once[0], again[0], atol=1e-5)
