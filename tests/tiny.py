"""A tiny real model with a byte-level tokenizer, made on the spot."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

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


TOOLS_TEMPLATE = (
    "{{ tools | tojson }}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}"
    "{{ c.function.name }}<call>{{ c.function.arguments | tojson }}</call>{% endfor %}"
    "<|end|>{% endfor %}{% if enable_thinking %}<think>{% endif %}"
)
"""A chat template that takes tools and calls itself."""


def with_template(template):
    """The tokenizer, with another chat template."""
    made = tokenizer()
    made.chat_template = template
    return made
