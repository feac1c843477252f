"""What a prompt format is: it writes the prompt, says where a reply stops, and reads the reply."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

from lib.rollouts.call_formats.thoughts import split_thought
from lib.rollouts.policies.protocol import Context, PolicyError
from lib.rollouts.tool_calls import Parser, parse_tool_calls
from lib.trajectories.schema import Message, ToolCall

BREAK = "\ufdd0"
"""Breaks up text that looks like a special token but is only content, as "<|im_end|>" in a tool's
answer. It is a noncharacter, which no text holds. The texts on its two sides are tokenised apart,
so that the model reads the same characters but no special token.
"""


class PromptFormat(Protocol):
    """A way to speak to a model in plain text.

    stops: strings that end a reply.
    special_tokens: True where the tokenizer adds its own special tokens to a prompt, such as a
        first token. All of the prompt is then text, even what looks like a special token. False
        where the prompt already holds its special tokens; a `BREAK` then breaks up text that only
        looks like one.
    """

    stops: tuple[str, ...]
    special_tokens: bool

    @property
    def settings(self) -> dict[str, Any]:
        """The name of the format ("dialect"), a hash of its wording, its options: JSON values."""

    def prompt(self, context: Context) -> str:
        """The text that the model completes, with each `BREAK` in it."""

    def read(self, text: str, context: Context) -> Message:
        """The message that a completion stands for."""


def drop_characters(prompt: str, count: int) -> str:
    """Return the prompt without its first `count` characters, where a `BREAK` does not count."""
    parts = prompt.split(BREAK)
    while count > len(parts[0]):
        count -= len(parts.pop(0))
    return BREAK.join([parts[0][count:], *parts[1:]])


def check_known_tokens(prompt: Sequence[int], tokenizer) -> None:
    """Raise PolicyError if more than half of a prompt's tokens are the unknown token.

    The model was then trained on another language than that of the prompt format.
    """
    unknown = 0 if tokenizer.unk_token_id is None else list(prompt).count(tokenizer.unk_token_id)
    if unknown > len(prompt) / 2:
        raise PolicyError(
            f"{unknown} of the {len(prompt)} tokens of a prompt are unknown to the model. Choose "
            "the prompt_format that it was trained with; for the lab's models, this is words."
        )


def digest(wording: str) -> str:
    """A short key of the words of a prompt format, for its settings (SHA-256)."""
    return hashlib.sha256(wording.encode()).hexdigest()[:16]


def read_calls(text: str, context: Context, parser: Parser) -> tuple[ToolCall, ...]:
    """The tool calls in a completion, but none in the model's thoughts."""
    return parse_tool_calls(split_thought(text).answer, context.tools, parser).calls


def read_message(text: str, context: Context, parser: Parser) -> Message:
    """The assistant's message that a completion stands for, with its tool calls."""
    thought, answer = split_thought(text)
    calls = parse_tool_calls(answer, context.tools, parser).calls
    return Message("assistant", text, calls, thought=thought)
