"""A tiny world in the lab's small language, and a tiny policy that plays it without skill."""

import random

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from lib.envs import Outcome
from lib.rollouts.prompts.word_language import END, WordLanguage, tokenizer, transcript, write_calls
from lib.trajectories.schema import Message, Tool, ToolCall

LETTERS = tuple("abcdef")
PRESS = Tool("press", "", {"properties": {"key": {"enum": list(LETTERS)}}, "required": ["key"]})
WORDS = ("want", "no", "press", *LETTERS, "1", "2", "3")
TOKENIZER = tokenizer(WORDS)
PROMPT_FORMAT = WordLanguage()


class Letters:
    """Task "a1" is solved by pressing "a"; in two turns, the world's chance being the first word.

    Tasks "a2" and so on are the same to the policy, so that a pool may be larger than the letters.
    """

    name = "letters"

    def tasks(self):
        return [letter + number for number in "123" for letter in LETTERS]

    def words(self):
        return list(WORDS)

    def reset(self, task, attempt):
        return _Episode(task, attempt)

    def oracle(self, episode):
        return press(episode.task[0])


class _Episode:
    system, tools = "", (PRESS,)

    def __init__(self, task, attempt):
        self.task, self.turns, self.seeds = task, 0, {"world": attempt}
        luck = random.Random(f"{task} {attempt}").choice("123")
        self.messages = (Message("user", f"{luck} want {task[0]}"),)
        self.outcome = None

    @property
    def done(self):
        return self.outcome is not None

    def step(self, reply):
        self.turns += 1
        pressed = [call.arguments["key"] for call in reply.tool_calls]
        if pressed == [self.task[0]]:
            self.outcome = Outcome(True, info={"return": 1.0 - 0.1 * self.turns})
        elif self.turns == 2:
            self.outcome = Outcome(False, "two tries", {"return": -0.2})
        return () if self.done else (Message("tool", "no"),)

    def close(self):
        pass


def press(letter):
    call = ToolCall("press", {"key": letter})
    return Message("assistant", write_calls([call]), (call,))


def model(width=32):
    """Random weights."""
    config = LlamaConfig(
        vocab_size=len(TOKENIZER),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        initializer_range=0.1,
        bos_token_id=TOKENIZER.bos_token_id,
        eos_token_id=TOKENIZER.eos_token_id,
        pad_token_id=TOKENIZER.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LlamaForCausalLM(config).eval()


def base(steps=120):
    """A policy that presses the right letter now and then; a second of training."""
    made, chance = model(), random.Random(0)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-2)
    for _ in range(steps):
        lines = []
        for _ in range(16):
            want, *tries = chance.choices(LETTERS, k=3)
            tries = [want if chance.random() < 0.25 else one for one in tries]
            luck = chance.choice("123")
            said = [Message("user", f"{luck} want {want}"), press(tries[0])]
            said += [Message("tool", "no"), press(tries[1])]
            lines.append(TOKENIZER(transcript(said), add_special_tokens=False)["input_ids"])
        ids = torch.tensor(lines)
        loss = made(ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return made


__all__ = ["END", "PROMPT_FORMAT", "TOKENIZER", "Letters", "base", "model", "press"]
