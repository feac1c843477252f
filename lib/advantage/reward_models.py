"""Trained reward models that score the same steps; `trajectory_values` aggregates these, too.

An outcome or process reward model reads the whole conversation in its own tokens:

    reward, its_tokenizer = load_ordinal("WildReward-8B")       # THU-KEG/WildReward-8B
    steps = [read_text(rollout, its_tokenizer, ChatTemplate(its_tokenizer), 8192) for ...]
    ordinal_steps(reward, steps)                                 # [steps], from 1 to 5

A generative verifier (launch/ThinkPRM-7B, launch/ThinkPRM-14B) writes a verdict on each step:

    verifier = ServerPolicy("http://127.0.0.1:8000/v1", "launch/ThinkPRM-7B", ServerChat(),
        temperature=0.0, max_new_tokens=4096, extra={"logprobs": True, "top_logprobs": 20})
    verified_steps(verifier, rollouts)                           # [steps], chances from 0 to 1
"""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lib.advantage.tokenize import Steps
from lib.generation import context_limit
from lib.generation.logprobs import TOKENS_AT_ONCE, Reading, collate, microbatches
from lib.rollouts.policies.protocol import Context, Policy, PolicyError, Reply
from lib.trajectories.schema import Message, Rollout, RolloutKey

# ------------------------------------------------------------------- sequence classification


def load_ordinal(path: str | Path, *, dtype: torch.dtype = torch.float32, device: str = "cpu"):
    """A sequence classifier with an ordinal head, in evaluation mode, and its tokenizer.

    path : a folder of safetensors; code that comes with a model is not run.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if not any(Path(path).glob("*.safetensors")):
        raise FileNotFoundError(f"{path}: expected a folder with config.json and safetensors")
    common = {"local_files_only": True, "trust_remote_code": False}
    model = AutoModelForSequenceClassification.from_pretrained(
        path, use_safetensors=True, dtype=dtype, **common
    )
    return model.to(device).eval(), AutoTokenizer.from_pretrained(path, **common)


@torch.no_grad()
def ordinal_steps(
    model, trajectories: Sequence[Steps], *, tokens_at_once: int = TOKENS_AT_ONCE
) -> NDArray[np.float64]:
    """The ordinal reward 1 + sum_j sigmoid(logit_j) at the last token of every step, [s].

    With four thresholds j it is from 1 to 5. An outcome reward model is meant to be read at the end
    alone: aggregate its steps by "last". NaN where a step is missing.

    model : of transformers' sequence classifiers, whose head is called `score`.
    """
    if not hasattr(model, "score"):
        raise ValueError(
            f"{type(model).__name__} has no head called score: expected a sequence classifier on a "
            "causal model"
        )
    rewards = np.full(sum(len(steps.counts) for steps in trajectories), np.nan)
    firsts = np.cumsum([0, *(len(steps.counts) for steps in trajectories)])
    longest = context_limit(model) or math.inf
    readings = [_ends(steps, longest) for steps in trajectories]
    full = [i for i, reading in enumerate(readings) if len(reading.position)]
    for microbatch in (
        microbatches([readings[i] for i in full], tokens=tokens_at_once) if full else ()
    ):
        these = [full[j] for j in microbatch]
        actions = collate([readings[i] for i in these], model.device)
        states = model.base_model(actions.ids, use_cache=False).last_hidden_state
        logits = model.score(states[actions.sequence, actions.position]).float()
        scores = 1 + logits.sigmoid().sum(-1).double().cpu().numpy()
        where = [firsts[i] + np.flatnonzero(trajectories[i].counts) for i in these]
        rewards[np.concatenate(where)] = scores
    return rewards


def _ends(steps: Steps, longest: int) -> Reading:
    """What to read, with the position of the last token of each step that has tokens."""
    sequences = [list(sequence) for sequence in steps.reading.sequences]
    counts = np.array(steps.counts, dtype=int)
    lasts = np.cumsum(counts[counts > 0]) - 1
    places = []
    for last in lasts:
        sequence = sequences[steps.reading.sequence[last]]
        place, token = int(steps.reading.position[last]) + 1, int(steps.reading.tokens[last])
        if place == len(sequence) < longest:  # nothing followed it, so no model read it
            sequence.append(token)
        # A prompt format may have left out an end token: then the token before it is the last.
        places.append(place if place < len(sequence) and sequence[place] == token else place - 1)
    return Reading(
        sequences,
        steps.reading.sequence[lasts],
        np.array(places, dtype=np.int64),
        steps.reading.tokens[lasts],
    )


# --------------------------------------------------------------------------- generative verifier

_VERDICT = re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*(correct|incorrect)\b", re.IGNORECASE)
_STEP = re.compile(r"\bstep\s*(\d+)", re.IGNORECASE)


def verified_steps(verifier: Policy, rollouts: Sequence[Rollout]) -> NDArray[np.float64]:
    """P(correct) of every step, where the critique of its rollout gives a verdict on it, [s].

    P is p(correct) / (p(correct) + p(incorrect)) among the likeliest tokens there. NaN where the
    verifier gave no verdict on a step, or no critique at all.

    verifier : a `ServerPolicy` that asks for log-probs: `extra={"logprobs": True, "top_logprobs":
        20}` in chat, `extra={"logprobs": 20}` for completions.

    Raises PolicyError if the server sends no log-probs.
    """
    session = verifier.start([RolloutKey(0, rollout.task, rollout.attempt) for rollout in rollouts])
    prompts = [Message("user", verifier_prompt(rollout)) for rollout in rollouts]
    contexts = [Context("", (), (prompt,)) for prompt in prompts]
    replies = session.reply(range(len(rollouts)), contexts)
    chances = []
    for rollout, reply in zip(rollouts, replies, strict=True):
        count = sum(message.role == "assistant" for message in rollout.messages)
        steps = np.full(count, np.nan)
        for step, chance in _verdicts(reply):
            if 1 <= step <= len(steps):
                steps[step - 1] = chance
        chances.append(steps)
    return np.concatenate([np.zeros(0), *chances])


def verifier_prompt(rollout: Rollout) -> str:
    """The task and its numbered steps, and a request for a verdict on each of them."""
    task, steps = [], []
    for message in rollout.messages:
        if message.role == "assistant":
            calls = [f"{call.name}({call.arguments})" for call in message.tool_calls]
            steps.append("\n".join([f"Step {len(steps) + 1}: {message.content}".rstrip(), *calls]))
        elif steps:
            steps[-1] += f"\nThen came ({message.role}): {message.content}"
        else:
            task.append(message.content)
    listed = "\n\n".join(steps)
    return (
        "An agent was given this task:\n\n" + "\n".join(task) + "\n\nThis is what it did, step by "
        f"step:\n\n{listed}\n\nCheck the steps one after another. Say of each what is right or "
        "wrong with it, and close with a line of its own that reads 'Step N is \\boxed{correct}' "
        "or 'Step N is \\boxed{incorrect}'."
    )


def _verdicts(reply: Reply) -> Iterator[tuple[int, float]]:
    """The steps that a critique judges, counted from 1, each with P(correct)."""
    if reply.trouble:
        return
    text = "".join(token for token, _ in reply.likely) or reply.message.content
    starts = np.cumsum([0, *(len(token) for token, _ in reply.likely)])
    step = read = 0
    for verdict in _VERDICT.finditer(text):
        if not reply.likely:
            raise PolicyError(
                "the server sent no log-probs, so a verdict has no chance: ask for them, "
                "extra={'logprobs': True, 'top_logprobs': 20} in chat, extra={'logprobs': 20} else"
            )
        named = _STEP.search(text, read, verdict.start())
        step, read = int(named[1]) if named else step + 1, verdict.end()
        place = int(np.searchsorted(starts, verdict.start(1), side="right")) - 1
        token, likely = reply.likely[place]
        yield step, _chance(likely, token[: verdict.start(1) - starts[place]])


def _chance(likely: dict[str, float], before: str) -> float:
    """p(correct) / (p(correct) + p(incorrect)) over the likely tokens that begin either word.

    before: what a token holds before the word.
    """
    sums = {"correct": 0.0, "incorrect": 0.0}
    for token, log_prob in likely.items():
        word = token.removeprefix(before).strip().lower()
        for verdict in sums:
            if word and (verdict.startswith(word) or word.startswith(verdict)):
                sums[verdict] += math.exp(log_prob)
    total = sum(sums.values())
    return sums["correct"] / total if total else math.nan
