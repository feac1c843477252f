"""The engine: what a rollout may and may not depend on, how it ends, what it leaves behind."""

import pytest
import torch
from transformers import AutoModelForCausalLM, BloomConfig, LlamaConfig

from lib.generation import Engine, Sampling, kv_cache
from lib.generation.engine import context_limit
from lib.generation.kv_cache import RereadCache, SharedPrefixCache
from lib.generation.model_cache import ModelCache
from lib.trajectories.schema import RolloutKey

FREE = Sampling(temperature=1.0, max_new_tokens=10)


def tokens(replies):
    assert sum(reply.ties for reply in replies) == 0
    return [reply.tokens for reply in replies]


def test_the_same_tokens_at_batch_1_7_and_64(llama, prompt, keys):
    engine, contexts = Engine(llama), [prompt(30)] * 64
    by_size = [
        tokens(
            reply
            for low in range(0, 64, size)
            for reply in engine.generate(
                contexts[low : low + size], keys(64)[low : low + size], FREE
            )
        )
        for size in (1, 7, 64)
    ]
    assert by_size[0] == by_size[1] == by_size[2]


def test_the_same_tokens_whatever_else_is_in_the_batch(llama, prompt, keys):
    engine = Engine(llama)
    mine, others = [prompt(12)] * 2, [prompt(5 + i, seed=i) for i in range(6)]
    hot = Sampling(temperature=1.7, top_k=9, max_new_tokens=4, repetition_penalty=1.3)
    alone = engine.generate(mine, keys(2), FREE)
    mixed = engine.generate(
        [mine[0], *others, mine[1]],
        [keys(2)[0], *keys(6, task="other"), keys(2)[1]],
        [FREE, *[hot] * 6, FREE],
    )
    assert tokens(alone) == tokens([mixed[0], mixed[-1]])


def test_attempts_differ_and_seeds_differ(llama, prompt):
    keys = [RolloutKey(0, "task", 0), RolloutKey(0, "task", 1), RolloutKey(1, "task", 0)]
    replies = tokens(Engine(llama).generate([prompt(10)] * 3, keys, FREE))
    assert len({tuple(reply) for reply in replies}) == 3


def test_each_row_is_sampled_and_scored_at_its_own_temperature(llama, prompt, keys, full_forward):
    heats = [0.4, 1.0, 1.8]
    settings = [Sampling(temperature=t, max_new_tokens=8) for t in heats]
    replies = Engine(llama).generate([prompt(10)] * 3, keys(3), settings)
    for heat, reply in zip(heats, replies, strict=True):
        for temperature, reported in [(heat, reply.log_probs), (1.0, reply.log_probs_at_1)]:
            expected = full_forward(llama, prompt(10), reply.tokens, temperature)
            assert torch.allclose(torch.tensor(reported), expected, atol=1e-4)


def test_greedy_is_the_greedy_of_transformers(llama, prompt, keys):
    context = prompt(10)
    expected = llama.generate(
        torch.tensor([context]),
        attention_mask=torch.ones(1, 10),
        do_sample=False,
        max_new_tokens=10,
        min_new_tokens=10,
    )
    sampling = Sampling(temperature=0, max_new_tokens=10)
    [reply] = Engine(llama).generate([context], keys(1), sampling)
    if 2 not in reply.tokens:
        assert reply.tokens == expected[0, 10:].tolist()


def test_a_checkpoints_generation_settings_do_not_leak_in(make, prompt, keys):
    plain, loud = make(LlamaConfig), make(LlamaConfig)
    loud.generation_config.update(top_k=1, temperature=0.1, repetition_penalty=9.0, max_length=12)
    replies = [Engine(m).generate([prompt(10)] * 4, keys(4), FREE) for m in (plain, loud)]
    assert tokens(replies[0]) == tokens(replies[1])


@pytest.mark.parametrize("cache", [SharedPrefixCache, ModelCache, RereadCache])
def test_turns_go_on_as_if_read_from_the_start(llama, prompt, keys, cache, full_forward):
    engine = Engine(llama)
    engine.new_cache = cache
    batch, contexts = engine.open(keys(5)), [prompt(6)] * 3 + [prompt(9, seed=1)] * 2
    for turn, rows in enumerate([[0, 1, 2, 3, 4], [4, 0, 2], [2, 4]]):
        replies = batch.reply(rows, [contexts[row] for row in rows], FREE)
        for row, reply in zip(rows, replies, strict=True):
            expected = full_forward(llama, contexts[row], reply.tokens)
            assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)
            contexts[row] = contexts[row] + reply.tokens + prompt(2 + row, seed=turn)


def test_a_turn_does_not_repeat_the_noise_of_the_turn_before(llama, prompt, keys):
    batch = Engine(llama).open(keys(1))
    hot = Sampling(temperature=50.0, max_new_tokens=10)
    [one], [two] = (batch.reply([0], [prompt(5)], hot) for _ in range(2))
    assert one.tokens != two.tokens


def test_only_what_is_new_is_read(llama, prompt, keys):
    batch, context = Engine(llama).open(keys(1)), prompt(40)
    [reply] = batch.reply([0], [context], FREE)
    read = []
    handle = llama.model.embed_tokens.register_forward_hook(
        lambda _, inputs, __: read.append(inputs[0].numel())
    )
    batch.reply(
        [0], [context + reply.tokens + prompt(3)], Sampling(temperature=1, max_new_tokens=1)
    )
    handle.remove()
    # The last token sampled has not been read yet; then three of the observation.
    assert sum(read) == 1 + 3


def test_a_context_that_changes_in_the_middle_is_read_again(llama, prompt, keys, full_forward):
    batch = Engine(llama).open(keys(2))
    batch.reply([0, 1], [prompt(20)] * 2, FREE)
    edited = [prompt(20)[:8] + prompt(5, seed=3), prompt(20)[:15]]
    for context, reply in zip(edited, batch.reply([0, 1], edited, FREE), strict=True):
        expected = full_forward(llama, context, reply.tokens)
        assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)


def test_a_prompt_edited_after_being_shared_is_read_again(
    llama, prompt, keys, full_forward, monkeypatch
):
    monkeypatch.setattr(kv_cache, "SHARE_FROM", 1)
    batch = Engine(llama).open(keys(3))
    batch.reply([0, 1, 2], [prompt(20)] * 3, FREE)
    edited = [[*prompt(20)[:8], 5, 6], [*prompt(20)[:8], 5, 6], [*prompt(20), 7]]
    for context, reply in zip(edited, batch.reply([0, 1, 2], edited, FREE), strict=True):
        expected = full_forward(llama, context, reply.tokens)
        assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)


def test_rows_that_say_the_same_are_computed_once(llama, prompt, keys):
    read = []
    handle = llama.model.embed_tokens.register_forward_hook(
        lambda _, inputs, __: read.append(inputs[0].numel())
    )
    sure = Sampling(temperature=0.0, max_new_tokens=5)
    batch = Engine(llama).open(keys(8))
    batch.reply(range(8), [prompt(9)] * 8, sure)
    handle.remove()
    assert sum(read) == 9 + 4


def test_rows_that_part_and_end_apart_are_scored_as_if_alone(llama, prompt, keys, full_forward):
    contexts = [prompt(9)] * 6 + [prompt(9, seed=1)] * 2
    cool = [Sampling(temperature=0.3, max_new_tokens=n) for n in (3, 9, 9, 5, 9, 1, 9, 9)]
    batch = Engine(llama).open(keys(8))
    for token in (3, 4, 5):
        replies = batch.reply(range(8), contexts, cool)
        for reply, context in zip(replies, contexts, strict=True):
            expected = full_forward(llama, context, reply.tokens, 0.3)
            assert torch.allclose(torch.tensor(reply.log_probs), expected, atol=1e-4)
        contexts = [[*c, *r.tokens, token] for c, r in zip(contexts, replies, strict=True)]


def test_a_reply_that_was_stopped_half_way_is_sampled_anew(llama, prompt, keys, monkeypatch):
    contexts = [prompt(9)] * 4
    batch, calm = Engine(llama).open(keys(4)), Engine(llama).open(keys(4))
    monkeypatch.setattr(kv_cache.SharedPrefixCache, "step", stops)
    with pytest.raises(KeyboardInterrupt):
        batch.reply(range(4), contexts, FREE)
    monkeypatch.undo()
    assert tokens(batch.reply(range(4), contexts, FREE)) == tokens(
        calm.reply(range(4), contexts, FREE)
    )


def stops(*_):
    raise KeyboardInterrupt


def test_finished_rows_are_dropped(llama, prompt, keys):
    rows = []
    handle = llama.model.embed_tokens.register_forward_hook(
        lambda _, inputs, __: rows.append(len(inputs[0]))
    )
    settings = [Sampling(temperature=1, max_new_tokens=n) for n in (1, 4, 2)]
    replies = Engine(llama).generate([prompt(1, seed=i) for i in range(3)], keys(3), settings)
    handle.remove()
    assert rows == [3, 2, 1, 1]
    assert [len(reply.tokens) for reply in replies] == [1, 4, 2]


def test_the_end_token_ends_a_reply_and_is_not_in_its_text(llama, tokenizer, prompt, keys):
    sampling = Sampling(temperature=1.5, max_new_tokens=40, eos=(2, 60))
    replies = Engine(llama, tokenizer).generate([prompt(9)] * 30, keys(30), sampling)
    ended = [reply for reply in replies if reply.reason == "eos"]
    assert ended
    for reply in ended:
        assert reply.tokens[-1] in (2, 60)
        assert not {2, 60} & set(reply.tokens[:-1])
        assert "<end>" not in reply.text


def test_a_stop_string_ends_a_reply_and_is_cut_off(llama, tokenizer, prompt, keys):
    sampling = Sampling(temperature=3.0, max_new_tokens=60, stop=("ab", "c", "q:"))
    replies = Engine(llama, tokenizer).generate([prompt(9)] * 20, keys(20), sampling)
    for reply in replies:
        whole = tokenizer.decode(reply.tokens, clean_up_tokenization_spaces=False)
        if reply.reason == "stop":
            assert reply.text + reply.stop == whole
        assert not any(stop in reply.text for stop in sampling.stop)
    assert {"c"} <= {reply.stop for reply in replies}


def test_a_full_context_ends_a_reply_with_that_reason(llama, prompt, keys):
    contexts = [prompt(20), prompt(16), prompt(25), prompt(14)]
    sampling = Sampling(temperature=1.0, max_new_tokens=6)
    replies = Engine(llama, context=20).generate(contexts, keys(4), sampling)
    assert [len(reply.tokens) for reply in replies] == [0, 4, 0, 6]
    assert [reply.reason for reply in replies] == ["context", "context", "context", "length"]


def test_the_model_is_left_as_it_was(llama, prompt, keys):
    llama.train()
    before = llama.config._attn_implementation
    Engine(llama).generate([prompt(5)], keys(1), FREE)
    assert llama.training
    assert llama.config._attn_implementation == before
    llama(torch.tensor([prompt(5)])).logits.sum().backward()
    llama.zero_grad()
    llama.eval()


def test_a_bad_context_is_an_error_naming_row_and_range(llama, keys):
    with pytest.raises(
        ValueError, match=r"context of row 0 must have at least one token id, and ids from 0 to 63"
    ):
        Engine(llama).generate([[5, 64]], keys(1), FREE)


def test_a_row_named_twice_is_an_error(llama, prompt, keys):
    with pytest.raises(ValueError, match="expected different numbers from 0 to 1"):
        Engine(llama).open(keys(2)).reply([1, 1], [prompt(3)] * 2, FREE)


def test_stop_strings_without_a_tokenizer_are_an_error(llama, prompt, keys):
    stopping = Sampling(temperature=1, max_new_tokens=1, stop=("x",))
    with pytest.raises(ValueError, match=r"give Engine\(model, tokenizer\)"):
        Engine(llama).generate([prompt(3)], keys(1), stopping)


def test_a_context_longer_than_the_models_is_an_error(llama):
    with pytest.raises(ValueError, match="context is 129: it must be from 1 to the model's 128"):
        Engine(llama, context=129)


def test_a_model_that_gives_no_length_of_context_needs_one():
    config = BloomConfig(vocab_size=64, hidden_size=32, n_layer=1, n_head=4)
    model = AutoModelForCausalLM.from_config(config)
    assert context_limit(model) is None
    with pytest.raises(ValueError, match=r"give Engine\(context=tokens\)"):
        Engine(model)
