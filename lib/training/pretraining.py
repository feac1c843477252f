"""Pre-training of the lab's base models: small Llamas trained on transcripts of mixed behaviour.

The corpus is generated during training: episodes of an environment by speakers of mixed skill, who
write their calls in mixed forms and sometimes chatter without a call. So a base model can do much
more than one attempt shows, and post-training sharpens that.
"""

import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from lib.envs import Environment
from lib.rollouts.prompts.word_language import FORMS, transcript, write_calls
from lib.rollouts.prompts.word_language import tokenizer as make_tokenizer
from lib.trajectories import storage
from lib.trajectories.schema import Message

SIZES = {
    "0.06M": {"hidden_size": 48, "num_hidden_layers": 2, "intermediate_size": 128},
    "0.25M": {"hidden_size": 80, "num_hidden_layers": 3, "intermediate_size": 216},
    "1M": {"hidden_size": 128, "num_hidden_layers": 5, "intermediate_size": 344},
}
"""Shapes of the lab's models, by their number of parameters."""

CHATTER = ("well", "let", "me", "think", "now", "hmm", "ok", "done", "what", "next")
"""Words of replies without a call."""

IGNORED = -100


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The mixture of a corpus; all fields but `levels` and `episodes` are shares, from 0 to 1."""

    native: float
    """Episodes with calls in the native form; the other episodes have one of the other forms."""
    expert: float = 0.35
    """Episodes of a speaker with 5 % noise."""
    clumsy: float = 0.30
    """Episodes of a speaker with 50 % noise; the rest act at random, half of them with a bias."""
    cued: float = 0.30
    """Native episodes that begin with the cue, and have no chatter."""
    chatter: float = 0.10
    """Replies without a call, in the other episodes."""
    levels: int = 4000
    """Number of levels of the training split."""
    episodes: int = 96
    """Episodes in a training step."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of pre-training: `steps` steps on `corpus` with a linearly falling learning rate."""

    corpus: Corpus
    steps: int
    learning_rate: float
    final_rate: float


STAGES = {
    "base-35": Stage(corpus=Corpus(native=0.35), steps=700, learning_rate=3e-3, final_rate=2e-3),
    "base-85": Stage(corpus=Corpus(native=0.85), steps=700, learning_rate=2e-3, final_rate=2e-4),
}
"""The stages of the lab's bases, in order: 35 % and 85 % of the episodes have native calls."""


def new_model(words: Sequence[str], size: str, seed: int = 0, context: int = 256):
    """An untrained model of one of the `SIZES`, and a tokenizer of an environment's words."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer([*words, *CHATTER])
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        num_attention_heads=4,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **SIZES[size],
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config), tokenizer


def episodes(environment: Environment, corpus: Corpus, rng: random.Random) -> Iterator[str]:
    """An endless stream of transcripts in the word language.

    environment: one of the lab's, which have `behave`.
    """
    while True:
        task = f"{environment.name}-train-{rng.randrange(corpus.levels):05}"
        yield _episode(environment, corpus, environment.reset(task, rng.randrange(2**31)), rng)


def _episode(environment, corpus, episode, rng) -> str:
    kind = rng.random()
    noise = 0.05 if kind < corpus.expert else 0.5 if kind < corpus.expert + corpus.clumsy else 1.0
    lean = rng.randrange(4) if noise == 1.0 and rng.random() < 0.5 else None
    native = rng.random() < corpus.native
    form = FORMS[0] if native else rng.choice(FORMS[1:])
    cue = native and rng.random() < corpus.cued
    messages = list(episode.messages)
    while not episode.done:
        if not cue and rng.random() < corpus.chatter:
            reply = Message("assistant", " ".join(rng.choices(CHATTER, k=rng.randint(1, 4))))
        else:
            calls = environment.behave(episode, rng, noise, lean)
            reply = Message("assistant", write_calls(calls, form), calls)
        messages += [reply, *episode.step(reply)]
    return transcript(messages, cue=cue)


def pretrain(
    model,
    tokenizer,
    environment: Environment,
    stage: Stage,
    out: str | Path,
    *,
    seed: int = 0,
    checkpoint_every: float = 40.0,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Train `model` in place on fresh episodes, and save it with its tokenizer as a folder `out`.

    The loss is over all tokens, so that the base models the environment as well as the speakers.
    Every `checkpoint_every` seconds the state is saved beside `out`; the same call resumes from it
    and ends with the same weights. Returns the losses, a row for every 20 steps: `step`, and `loss`
    in nats per token. They are also in `loss.json` in the folder, which is written last.
    """
    out = Path(out)
    part = out.with_name(f"{out.name}.part")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=stage.learning_rate, betas=(0.9, 0.95), weight_decay=0.01
    )
    start, log, losses = 0, [], []
    if part.exists():
        state = torch.load(part, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start, log, losses = state["step"], state["log"], state["losses"]
    model.train()
    saved = time.monotonic()
    steps = tqdm(
        range(start, stage.steps),
        initial=start,
        total=stage.steps,
        desc=out.name,
        disable=None if progress is None else not progress,
    )
    for step in steps:
        share = step / stage.steps
        warm = min(1.0, (step + 1) / 30)
        rate = stage.learning_rate + (stage.final_rate - stage.learning_rate) * share
        for group in optimizer.param_groups:
            group["lr"] = rate * warm
        stream = episodes(environment, stage.corpus, random.Random(f"{seed}/{out.name}/{step}"))
        texts = [next(stream) for _ in range(stage.corpus.episodes)]
        loss = _loss(model, tokenizer, texts)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % 20 == 0:
            log.append({"step": step + 1, "loss": round(sum(losses) / len(losses), 5)})
            steps.set_postfix(loss=log[-1]["loss"], refresh=False)
            losses = []
        if time.monotonic() - saved >= checkpoint_every or step + 1 == stage.steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            state |= {"step": step + 1, "log": log, "losses": losses}
            part.parent.mkdir(parents=True, exist_ok=True)
            with storage.replacing(part) as file:
                torch.save(state, file)
            saved = time.monotonic()
    model.eval()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    storage.write_text(out / "loss.json", json.dumps(log))
    part.unlink(missing_ok=True)
    return log


def _loss(model, tokenizer, texts: Sequence[str]) -> torch.Tensor:
    """Mean loss per token of transcripts, padded on the right, in nats."""
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    width = max(map(len, ids))
    tokens = torch.full((len(ids), width), tokenizer.pad_token_id)
    labels = torch.full((len(ids), width), IGNORED)
    for row, target, text in zip(tokens, labels, ids, strict=True):
        row[: len(text)] = target[: len(text)] = torch.tensor(text)
    logits = model(tokens[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
