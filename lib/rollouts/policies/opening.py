"""Policies and prompt formats opened by their names, each option checked before a model is loaded.

`open_policy` opens a model of this machine or one behind a server; `known_settings` tells what the
settings of the policy will be, as far as that needs no model, for `lib.rollouts.collection.check`.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from lib.envs import Environment
from lib.generation import models
from lib.rollouts.policies.local import LocalPolicy
from lib.rollouts.policies.protocol import Policy
from lib.rollouts.policies.server import ServerPolicy
from lib.rollouts.prompts.chat import ChatTemplate, ServerChat
from lib.rollouts.prompts.harness import Harness, Plain
from lib.rollouts.prompts.protocol import PromptFormat
from lib.rollouts.prompts.word_language import WordLanguage, check_vocabulary
from lib.rollouts.tool_calls import Parser

PROMPT_FORMATS = ("harness", "plain", "chat", "words")
"""Names of the prompt formats: the text harness, a plain prompt, chat, the lab's word language."""

SAMPLING = {
    "temperature": 0.7,
    "top_p": 0.95,
    "top_k": 0,
    "repetition_penalty": 1.0,
    "max_new_tokens": 1024,
}
"""How replies are sampled where nothing else is asked for."""


def check_prompt_format(name: str, *, parser: str | None = None, thinking: bool = False) -> None:
    """Raise ValueError for an option that a prompt format does not have, and would ignore."""
    if name not in PROMPT_FORMATS:
        raise ValueError(f"prompt_format is {name!r}: expected one of {', '.join(PROMPT_FORMATS)}")
    if parser and name == "words":
        raise ValueError(
            f"parser is {parser!r}, but the prompt format words reads calls by rules of its own: "
            "leave it out, or choose another prompt_format"
        )
    if thinking and name != "chat":
        raise ValueError(
            f"thinking is a switch of chat templates, and the prompt format {name} has none: "
            "choose the prompt_format chat, or leave it out"
        )


def default_parser(prompt_format: str) -> Parser:
    """What reads calls in a prompt format where nothing else is asked for."""
    return "native" if prompt_format == "chat" else "robust"


def open_prompt_format(
    name: str, tokenizer=None, *, parser: str | None = None, thinking: bool = False
) -> PromptFormat | ServerChat:
    """The prompt format of a name.

    name : one of `PROMPT_FORMATS`.
    tokenizer : of the model, whose chat template "chat" needs. Without one "chat" is the interface
        of a server, which applies the template itself.
    parser : reads tool calls, see `lib.rollouts.tool_calls` (default: "native" for chat, "robust"
        for "harness" and "plain", whose prompt asks for one form); not of "words".
    thinking : let the model reason first; of "chat" alone.

    Raises ValueError for an option that the format would ignore.
    """
    check_prompt_format(name, parser=parser, thinking=thinking)
    parser = parser or default_parser(name)
    if name == "words":
        return WordLanguage()
    if name == "chat" and tokenizer is None:
        return ServerChat(parser=parser, thinking=thinking)
    if name == "chat":
        return ChatTemplate(tokenizer, parser=parser, thinking=thinking)
    return {"harness": Harness, "plain": Plain}[name](parser=parser)


def check_words(environment: Environment, tokenizer) -> None:
    """Raise ValueError for a model that cannot read an environment in the word language."""
    if not hasattr(environment, "words"):
        raise ValueError(
            "the prompt_format words is for the environments of the lab, not for "
            f"{environment.name}: choose another one"
        )
    check_vocabulary(tokenizer, environment.words())


def open_policy(
    model: str | Path,
    environment: Environment | None = None,
    *,
    prompt_format: str = "harness",
    parser: str | None = None,
    thinking: bool = False,
    sampling: Mapping[str, Any] | None = None,
    context: int | None = None,
    device: str = "cpu",
    alone: Callable[[], AbstractContextManager] = nullcontext,
    server: str | None = None,
    **server_options: Any,
) -> Policy:
    """A policy of a model of this machine, or behind a server.

    model : a folder, a .gguf file or a packaged name (see `lib.generation.open_model`); with
        `server`, the name that the server has for it.
    environment : whose words a model of the word language must know.
    prompt_format, parser, thinking : as in `open_prompt_format`.
    sampling : changes to `SAMPLING`.
    context : longest context in tokens (default: the model's own).
    device, alone : as in `lib.generation.open_model`.
    server : an OpenAI-compatible address, http://.../v1, with `server_options` of `ServerPolicy`.

    Raises ValueError for what does not fit, MissingModel or FileNotFoundError without the model.
    """
    sampling = SAMPLING | dict(sampling or {})
    reading = {"parser": parser, "thinking": thinking}
    if server is not None:
        spoken = open_prompt_format(prompt_format, **reading)
        return ServerPolicy(server, str(model), spoken, **server_options, **sampling)
    from lib import generation

    sampled = generation.Sampling(**sampling)
    if model in models.PACKAGED_MODELS:
        model = models.find_model(model, models.CACHE)
    opened, tokenizer = generation.open_model(model, device=device, alone=alone)
    if prompt_format == "words" and environment is not None:
        check_words(environment, tokenizer)
    engine = generation.Engine(opened, tokenizer, context=context, frozen=True)
    spoken = open_prompt_format(prompt_format, tokenizer, **reading)
    return LocalPolicy(engine, spoken, sampled, name=Path(model).name)


def known_settings(
    model: str | Path,
    *,
    prompt_format: str = "harness",
    parser: str | None = None,
    thinking: bool = False,
    sampling: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The settings that `open_policy` will give a model of this machine, without loading it.

    Of chat the template is not known before, of a packaged model the name of its file.
    """
    check_prompt_format(prompt_format, parser=parser, thinking=thinking)
    settings = {"parser": parser or default_parser(prompt_format), "thinking": thinking}
    if prompt_format != "chat":
        settings = open_prompt_format(prompt_format, parser=parser).settings
    settings = {"policy": "local", **settings, "sampling": SAMPLING | dict(sampling or {})}
    if model not in models.PACKAGED_MODELS:
        settings["model"] = Path(model).name
    return settings
