"""Trained reward models: small stand-ins for an ordinal classifier and a generative verifier."""

import math

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForSequenceClassification

from lib.advantage import read_stored, read_transcript, token_scores, trajectory_values
from lib.advantage.reward_models import load_ordinal, ordinal_steps, verified_steps, verifier_prompt
from lib.rollouts.policies import PolicyError, ServerPolicy
from lib.rollouts.prompts import Harness, ServerChat
from lib.trajectories.schema import Message, Rollout
from lib.trajectories.tokens import Span, Transcript
from tests import tiny
from tests.recorder import serving


def classifier(vocabulary, pad):
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_labels=4,
        pad_token_id=pad,
        initializer_range=0.4,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LlamaForSequenceClassification(config).eval()


# ------------------------------------------------------------------------------------- ordinal


def test_each_step_is_read_up_to_its_last_token(rollouts, tokenizer):
    model = classifier(len(tokenizer), pad=None)
    rollout = max(rollouts, key=lambda one: len(one.turns))
    steps = [read_stored(one, tokenizer, 256) for one in (rollouts[0], rollout)]
    found = ordinal_steps(model, steps)[-len(rollout.turns) :]
    for value, turn in zip(found, rollout.turns, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([turn.prompt_ids + turn.action_ids])).logits[0]
        assert value == pytest.approx(1 + logits.sigmoid().sum().item(), abs=1e-5)
    assert ((found > 1) & (found < 5)).all()


def test_its_steps_are_aggregated_like_all_others(policy, rollouts, tokenizer):
    model = classifier(len(tokenizer), pad=None)
    steps = [read_stored(one, tokenizer, 256) for one in rollouts]
    rewards = ordinal_steps(model, steps, tokens_at_once=200)
    outcome = trajectory_values(token_scores(policy, None, steps), rewards, "last")
    ends = np.cumsum([len(one.turns) for one in rollouts]) - 1
    assert outcome.tolist() == rewards[ends].tolist()


def test_steps_past_the_context_stay_missing():
    transcript = Transcript("ask go say stop.", (Span(1, 4, 6), Span(3, 11, 15)))
    steps = read_transcript(transcript, tiny.tokenizer(), 10)
    found = ordinal_steps(classifier(264, pad=None), [steps])
    assert np.isnan(found).tolist() == [False, True]


def test_a_classifier_is_loaded_from_safetensors(tmp_path):
    model = classifier(264, pad=256)
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    loaded, tokenizer = load_ordinal(tmp_path)
    assert torch.equal(loaded.score.weight, model.score.weight)
    assert len(tokenizer) == len(tiny.tokenizer())
    with pytest.raises(FileNotFoundError, match=r"expected a folder with config\.json"):
        load_ordinal(tmp_path / "nowhere")


def test_a_language_model_is_no_classifier():
    with pytest.raises(ValueError, match="LlamaForCausalLM has no head called score"):
        ordinal_steps(tiny.model(), [])


# ------------------------------------------------------------------------------------ verifier

JUDGED = Rollout(
    "b",
    "p",
    "a",
    "t",
    0,
    False,
    messages=(
        Message("user", "Add 2 and 3."),
        Message("assistant", "It is 5."),
        Message("user", "And 4?"),
        Message("assistant", "It is 8."),
        Message("assistant", "Done."),
    ),
)


def verdict(word, chance):
    """Tokens of a verdict whose word begins inside one, and the likeliest tokens at each place."""
    other = {"correct": "in", "in": "correct"}[word]
    tops = {f"{{{word}": math.log(0.9 * chance), f"{{{other}": math.log(0.9 * (1 - chance))}
    rest = ["correct}"] if word == "in" else ["}"]
    tokens = ["\\boxed", f"{{{word}", *rest, "\n"]
    return [(token, tops if token == f"{{{word}" else {token: -0.1}) for token in tokens]


CRITIQUE = [("Step 1: 2 + 3 is 5, ", {}), *verdict("correct", 0.8)]
CRITIQUE += [("Step 3, unlike step 2, is ", {}), *verdict("in", 0.7)]


def in_chat(critique):
    def top(tops):
        return [{"token": token, "logprob": value, "bytes": None} for token, value in tops.items()]

    content = [
        {"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": top(tops)}
        for token, tops in critique
    ]
    text = "".join(token for token, _ in critique)
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, {"choices": [choice | {"logprobs": {"content": content}}]}


def as_completion(critique):
    tokens = [token for token, _ in critique]
    log_probs = {"tokens": tokens, "top_logprobs": [tops for _, tops in critique]}
    choice = {"index": 0, "text": "".join(tokens), "finish_reason": "stop"}
    return 200, {"choices": [choice | {"logprobs": log_probs}]}


def verifier(address, prompt_format, extra):
    settings = {"temperature": 0.0, "max_new_tokens": 99, "timeout": 5.0, "first_wait": 0.001}
    return ServerPolicy(address, "m", prompt_format, extra=extra, **settings)


@pytest.mark.parametrize(
    ("prompt_format", "extra", "answer"),
    [
        (ServerChat(), {"logprobs": True, "top_logprobs": 20}, in_chat),
        (Harness(), {"logprobs": 20}, as_completion),
    ],
)
def test_the_chance_is_that_at_each_verdict(prompt_format, extra, answer):
    with serving(lambda body: answer(CRITIQUE)) as server:
        found = verified_steps(verifier(server.address, prompt_format, extra), [JUDGED, JUDGED])
    (body, _) = server.bodies
    assert extra.items() <= body.items()
    assert found[[0, 2]] == pytest.approx([0.8, 0.3])
    assert np.isnan(found[1])  # no verdict on it
    assert found[3:].tolist() == pytest.approx(found[:3].tolist(), nan_ok=True)


def test_a_server_without_log_probs_is_told_what_to_send():
    text = {"role": "assistant", "content": "Step 1 is \\boxed{correct}"}
    answer = {"choices": [{"index": 0, "message": text, "finish_reason": "stop"}]}
    with serving(lambda body: (200, answer)) as server:
        asked = verifier(server.address, ServerChat(), {})
        with pytest.raises(PolicyError, match="the server sent no log-probs"):
            verified_steps(asked, [JUDGED])


def test_the_prompt_numbers_the_steps_and_shows_what_came_of_them():
    prompt = verifier_prompt(JUDGED)
    assert "Step 1: It is 5.\nThen came (user): And 4?" in prompt
    assert "Step 3: Done." in prompt
    assert prompt.index("Add 2 and 3.") < prompt.index("Step 1:")
