"""A tiny real model with a byte-level tokenizer, and a tiny world: made on the spot, in no time."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lib.envs import Outcome
from lib.trajectory import Message, Tool, ToolCall

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and the special ones of TEMPLATE."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(["<|end|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|system|>"])
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>")
    made.chat_template = TEMPLATE
    return made


def model(context: int = 4096, heat: float = 0.3) -> LlamaForCausalLM:
    """Random weights, 0.04 M; the larger `heat`, the more its next token hangs on its context."""
    config = LlamaConfig(
        vocab_size=264,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=heat,
        bos_token_id=None,
        eos_token_id=256,
        pad_token_id=256,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LlamaForCausalLM(config).eval()


def save(folder: Path) -> Path:
    """Write model and tokenizer as a folder that `lib.generation.load` and servers read."""
    model().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


PRESS = Tool("press", "Press a button.", {"properties": {"n": {"type": "integer"}}})


class Buttons:
    """Task "t3" is solved by pressing button 3; another button takes one of three tries."""

    name = "buttons"

    def __init__(self, count: int = 4):
        self.count = count

    def tasks(self):
        return [f"t{number}" for number in range(self.count)]

    def reset(self, task, attempt):
        return _Episode(int(task[1:]))

    def oracle(self, episode):
        return press(episode.wanted)


class _Episode:
    system, tools = "Press the right button.", (PRESS,)

    def __init__(self, wanted):
        self.wanted, self.tries, self.closed = wanted, 0, False
        self.messages = (Message("user", f"Find button {wanted}."),)
        self.seeds = {"world": wanted}
        self.outcome = None

    @property
    def done(self):
        return self.outcome is not None

    def step(self, reply):
        self.tries += 1
        pressed = [call.arguments.get("n") for call in reply.tool_calls]
        if self.wanted in pressed:
            self.outcome = Outcome(True, info={"tries": self.tries})
        elif self.tries == 3:
            self.outcome = Outcome(False, "three tries", {"tries": 3})
        return () if self.done else (Message("tool", f"not {pressed}", name="press"),)

    def close(self):
        self.closed = True


def press(number: int) -> Message:
    """The message that presses a button."""
    return Message("assistant", "", (ToolCall("press", {"n": number}),))
