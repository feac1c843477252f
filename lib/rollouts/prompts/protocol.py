"""What a prompt format is: it writes the prompt, says where a reply stops, and reads the reply."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

from lib.rollouts.call_formats import read_reply, split_thought
from lib.rollouts.policies.protocol import Context, PolicyError
from lib.rollouts.tool_calls import Parser
from lib.trajectories.schema import Message

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


def read_message(
    text: str, context: Context, parser: Parser, *, tokenizer=None, prompt: str = ""
) -> Message:
    """The assistant's message that a completion stands for, with its thought and its tool calls.

    tokenizer, prompt: see `lib.rollouts.call_formats.read_reply`.
    """
    read = read_reply(text, context.tools, tokenizer, prompt=prompt, parser=parser)
    return Message("assistant", text, read.calls, thought=read.thought)


def without_calls(message: Message, context: Context, parser: Parser) -> str | None:
    """The content of a reply without the calls in it; None where only the text can show them.

    None is for calls that the text holds in another form than a model's own.
    """
    if message.thought and message.content.strip() == message.thought:
        return message.content  # an open thought, to which the calls came from elsewhere
    read = read_reply(message.content, context.tools, parser=parser)
    if not read.calls:
        return message.content
    if not read.marked:
        return None
    thought = message.content.removesuffix(split_thought(message.content).answer)
    return thought + read.content.rstrip()
