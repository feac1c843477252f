"""What is particular to some architectures: recurrent layers, shared keys, experts, wrappers."""

import warnings

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModelForImageTextToText

from lib.generation import Engine, Sampling, kv_cache
from lib.generation.logprobs import action_logits, collate, score_tokens
from lib.trajectories.tokens import Reading
from tests.generation.conftest import SIZES, make_model
from tests.generation.test_attention import COVERED, DELTA, EXPERTS

FREE = Sampling(temperature=1.0, max_new_tokens=7)
PAPERS = ["gemma4_text", "ministral3", "olmo3", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe"]


@pytest.fixture(scope="module", params=PAPERS)
def model(request):
    kind, changes = COVERED[request.param]
    return make_model(kind(**{**SIZES, **changes}))


@pytest.fixture(scope="module")
def delta():
    return make_model(transformers.Qwen3_5TextConfig(**{**SIZES, **DELTA}))


@pytest.fixture
def agrees(full_forward):
    """``agrees(model, context, reply)``: its log-probs are those of a full forward pass."""

    def check(model, context, reply):
        expected = full_forward(model, context, reply.tokens)
        assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)

    return check


def test_every_wrapper_is_tested_here():
    assert set(WRAPPED) == kv_cache.WRAPPERS


def test_the_same_tokens_at_batch_1_7_and_64(model, prompt, keys):
    engine, contexts = Engine(model), [prompt(20)] * 64
    by_size = [
        [
            reply
            for low in range(0, 64, size)
            for reply in engine.generate(
                contexts[low : low + size], keys(64)[low : low + size], FREE
            )
        ]
        for size in (1, 7, 64)
    ]
    assert sum(reply.ties for replies in by_size for reply in replies) == 0
    first, second, third = ([reply.tokens for reply in replies] for replies in by_size)
    assert first == second == third


def test_turns_of_rows_that_rest_part_and_are_edited(
    model, prompt, keys, full_forward, monkeypatch
):
    monkeypatch.setattr(kv_cache, "SHARE_FROM", 1)
    batch, contexts = Engine(model).open(keys(5)), [prompt(12)] * 3 + [prompt(12, seed=1)] * 2
    cool = [Sampling(temperature=0.3, max_new_tokens=n) for n in (2, 6, 6, 4, 6)]
    for turn, rows in enumerate([[0, 1, 2, 3, 4], [4, 0, 2], [1, 2, 3], [4, 3, 2, 1, 0]]):
        if turn == 2:
            contexts[2] = contexts[2][:8] + prompt(5, seed=7)
        if turn == 3:
            contexts[1] = contexts[1][:-3]
        replies = batch.reply(rows, [contexts[row] for row in rows], [cool[row] for row in rows])
        for row, reply in zip(rows, replies, strict=True):
            expected = full_forward(model, contexts[row], reply.tokens, 0.3)
            assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)
            contexts[row] = contexts[row] + reply.tokens + prompt(1 + row % 3, seed=turn)


def test_a_prompt_is_read_once_and_then_only_what_is_new(delta, prompt, keys):
    read = []
    handle = delta.model.embed_tokens.register_forward_hook(
        lambda _, inputs, __: read.append(inputs[0].numel())
    )
    batch, context = Engine(delta).open(keys(4)), prompt(40)
    read.clear()
    replies = batch.reply(range(4), [context] * 4, FREE)
    assert sum(read) == 39 + 4 + 4 * 6
    read.clear()
    contexts = [context + reply.tokens + prompt(3) for reply in replies]
    batch.reply(range(4), contexts, Sampling(temperature=1, max_new_tokens=1))
    handle.remove()
    assert sum(read) == 4 * (1 + 3)


def test_a_context_of_one_token_starts_from_nothing(delta, prompt, keys, agrees):
    batch = Engine(delta).open(keys(2))
    batch.reply([0, 1], [prompt(9)] * 2, FREE)
    for reply in batch.reply([0, 1], [[7], [7]], FREE):
        agrees(delta, [7], reply)


def test_the_attention_beside_recurrent_layers_holds_a_prompt_once(
    delta, prompt, keys, monkeypatch
):
    monkeypatch.setattr(kv_cache, "SHARE_FROM", 1)
    batch = Engine(delta).open(keys(8))
    batch.reply(range(8), [prompt(100)] * 8, FREE)
    assert batch.cache.store.shared[0].shape[2] == 1
    assert batch.cache.store.room < 99


@pytest.mark.parametrize(
    "changes",
    [
        EXPERTS | {"enable_moe_block": True, "top_k_experts": 2},
        {"attention_k_eq_v": True, "num_global_key_value_heads": 1},
        {"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0},
        {"use_double_wide_mlp": True, "use_bidirectional_attention": "vision"},
    ],
)
def test_gemma_4_of_every_size(changes, make, prompt, keys, agrees):
    kind, usual = COVERED["gemma4_text"]
    model = make(kind, **{**usual, **changes})
    contexts = [prompt(13)] * 3 + [prompt(9, seed=1)]
    replies = Engine(model).generate(contexts, keys(4), FREE)
    for context, reply in zip(contexts, replies, strict=True):
        agrees(model, context, reply)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_model_with_adapters_is_sampled_as_a_whole(make, prompt, keys, agrees):
    peft = pytest.importorskip("peft")
    adapters = peft.LoraConfig(
        task_type="CAUSAL_LM", target_modules="all-linear", init_lora_weights=False
    )
    for kind, changes in (COVERED["qwen3_5_text"], (transformers.CohereConfig, {})):
        model = peft.get_peft_model(make(kind, **changes), adapters).eval()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="sampling uses the KV cache of transformers")
            engine = Engine(model)
        for reply in engine.generate([prompt(13)] * 2, keys(2), FREE):
            agrees(model, prompt(13), reply)


@pytest.mark.parametrize("name", ["gemma4_text", "qwen3_5_text"])
def test_half_precision_is_as_near_to_float32_as_a_full_pass(
    name, make, prompt, keys, full_forward
):
    kind, changes = COVERED[name]
    half = make(kind, **changes | {"initializer_range": 0.1}).bfloat16()
    exact = make(kind, **changes | {"initializer_range": 0.1})
    exact.load_state_dict({key: value.float() for key, value in half.state_dict().items()})
    contexts = [prompt(13, seed=i // 2) for i in range(12)]
    ours, full = [], []
    for context, reply in zip(
        contexts, Engine(half).generate(contexts, keys(12), FREE), strict=True
    ):
        expected = full_forward(exact, context, reply.tokens)
        ours.append((torch.tensor(reply.log_probs) - expected).abs())
        full.append((full_forward(half, context, reply.tokens) - expected).abs())
    assert torch.cat(ours).mean() < 1.5 * torch.cat(full).mean()


WRAPPED = {
    "gemma3": (transformers.Gemma3Config, "gemma3_text"),
    "gemma4": (transformers.Gemma4Config, "gemma4_text"),
    "mistral3": (transformers.Mistral3Config, "ministral3"),
    "qwen3_5": (transformers.Qwen3_5Config, "qwen3_5_text"),
    "qwen3_5_moe": (transformers.Qwen3_5MoeConfig, "qwen3_5_moe_text"),
}


def wrapped(name):
    """A model that also sees images, by the name of its architecture."""
    kind, text = WRAPPED[name]
    text_kind, changes = COVERED[text]
    vision = {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2}
    if name == "mistral3":
        vision |= {"model_type": "pixtral", "head_dim": 8, "intermediate_size": 16}
    config = kind(text_config=text_kind(**{**SIZES, **changes}), vision_config=vision)
    return make_model(config, AutoModelForImageTextToText)


@pytest.mark.parametrize("name", sorted(WRAPPED))
def test_a_checkpoint_that_also_sees_images_reads_text(name, prompt, keys, agrees):
    model = wrapped(name)
    engine = Engine(model)
    assert engine.context == 128
    for reply in engine.generate([prompt(13)] * 2, keys(2), FREE):
        agrees(model, prompt(13), reply)


def test_tokens_are_scored_as_in_a_full_pass(model, prompt, full_forward):
    context, completion = prompt(11), prompt(9, seed=1)
    other = prompt(30, seed=2)
    readings = [
        Reading([context + completion], np.zeros(9, int), 10 + np.arange(9), np.array(completion)),
        Reading([other], np.zeros(29, int), np.arange(29), np.array(other[1:])),
    ]
    first, second = score_tokens(model, readings, logits_at_once=320)
    assert np.allclose(first.log_probs, full_forward(model, context, completion), atol=1e-4)
    assert np.allclose(second.log_probs, full_forward(model, other[:1], other[1:]), atol=1e-4)


@pytest.mark.parametrize("name", [*PAPERS, *sorted(WRAPPED)])
def test_gradients_of_a_score_are_those_of_a_full_pass(name, prompt):
    kind, changes = COVERED[WRAPPED[name][1] if name in WRAPPED else name]
    model = (wrapped(name) if name in WRAPPED else make_model(kind(**{**SIZES, **changes}))).train()
    tokens, weight = prompt(20), model.get_input_embeddings().weight
    reading = Reading([tokens], np.zeros(9, int), 10 + np.arange(9), np.array(tokens[11:]))
    logits = action_logits(model, collate([reading]))[0]
    chosen = torch.tensor(tokens[11:])[:, None]
    [ours] = torch.autograd.grad(logits.log_softmax(-1).gather(1, chosen).sum(), weight)
    logits = model(torch.tensor([tokens]), use_cache=False).logits[0, 10:-1]
    [full] = torch.autograd.grad(logits.log_softmax(-1).gather(1, chosen).sum(), weight)
    assert full.abs().max() > 0.1
    assert torch.allclose(ours, full, atol=1e-4, rtol=1e-3)
