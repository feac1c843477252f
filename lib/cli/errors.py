"""Errors of the library in the words of the command line: the parameter max_k becomes --max-k."""

import argparse
import re
import shlex
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
    message = re.sub(pattern, lambda match: options[match[match.lastgroup]], message)
    return _in_choices(message) if "choose" in options else message


def _in_choices(message: str) -> str:
    """A message on how to read a log, with --choose and --column in the place of arguments.

    >>> _in_choices('several scorers: `scorer="exact match"`; for one arm, `base.scorer`')
    "several scorers: `--choose 'scorer=exact match'`; for one arm, `--choose base.scorer=...`"
    >>> _in_choices('`columns={"task": "...", "passed": "..."}`')
    '`--column task=... --column passed=...`'
    """

    def columns(match):
        pairs = re.findall(r'"([^"]*)": "([^"]*)"', match[1])
        return "`" + " ".join(f"--column {_quoted(*pair)}" for pair in pairs) + "`"

    message = re.sub(r"`columns=\{([^`]*)\}`", columns, message)
    message = re.sub(r"`((?:base|post)\.\w+)`", r"`--choose \1=...`", message)
    value = r'`(\w+)=(?:"([^`]*)"|([^`"]*))`'
    return re.sub(value, lambda m: f"`--choose {_quoted(m[1], m[2] or m[3] or '')}`", message)


def _quoted(name, value) -> str:
    """NAME=VALUE as typed in a shell; the dots of a value left open stay as they are."""
    return f"{name}=..." if value == "..." else shlex.quote(f"{name}={value}")
