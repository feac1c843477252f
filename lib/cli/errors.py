"""Errors of the library in the words of the command line: the parameter max_k becomes --max-k."""

import argparse
import re
from collections.abc import Mapping


def options_of(
    parser: argparse.ArgumentParser, aliases: Mapping[str, str] | None = None
) -> dict[str, str]:
    """For each parameter that an error may name, the option or positional argument that gives it.

    aliases : parameters that have another name than the option: {"count": "--tasks"}.
    """
    options = {}
    for action in parser._actions:  # argparse has no public list of them
        options[action.dest] = max(action.option_strings, key=len, default=action.metavar)
    return options | dict(aliases or {})


def in_options(message: str, options: Mapping[str, str]) -> str:
    """A message of the library, with options in the place of parameters.

    A parameter is replaced where it cannot be an English word: in backticks, if it has an
    underscore, and as the subject that the message begins with.

    >>> options = {"max_k": "--max-k", "count": "--tasks", "tau": "--tau"}
    >>> in_options("9 attempts allow a max_k of 9", options)
    '9 attempts allow a --max-k of 9'
    >>> in_options("`count` is 9: expected a count of at most 8", options)
    '--tasks is 9: expected a count of at most 8'
    >>> in_options("tau is 0.5: expected a tau above 1", options)
    '--tau is 0.5: expected a tau above 1'
    """
    names = sorted(options, key=len, reverse=True)
    anywhere = "|".join(name for name in names if "_" in name) or "(?!)"
    pattern = (
        rf"`(?P<quoted>{'|'.join(names)})`"
        rf"|(?<![\w./'\"-])(?:[A-Z]\w*\.)?(?P<bare>{anywhere})(?![\w/-]|\.\w)"
        rf"|\A(?:[A-Z]\w*(?:\.|: ))?(?P<subject>{'|'.join(names)})(?= is\b| = |:)"
    )
    return re.sub(pattern, lambda match: options[match[match.lastgroup]], message)
