"""What several commands share: types of arguments, and arguments that each of them adds alike."""

import argparse
from pathlib import Path

PROMPT_FORMATS = ("harness", "plain", "chat", "words")
PARSERS = ("native", "robust", "paper", "exact")


class HelpFormatter(argparse.HelpFormatter):
    """Ends the help of each option with its default, where it has one that is not in the text."""

    def _get_help_string(self, action):
        text = action.help or ""
        default = action.default
        if action.option_strings and default is not None and "default" not in text:
            switch = isinstance(default, bool | list) or default is argparse.SUPPRESS
            text += "" if switch else " (default: %(default)s)"
        return text


def positive(text: str) -> int:
    """A whole number from 1 up."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 1 up, got {text!r}")


def natural(text: str) -> int:
    """A whole number from 0 up."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 0 up, got {text!r}")


def shard(text: str) -> tuple[int, int]:
    """(I, N) of I/N, the I-th of N parts, from 0."""
    part, _, parts = text.partition("/")
    if all(number.isascii() and number.isdigit() for number in (part, parts)):
        part, parts = int(part), int(parts)
        if part < parts:
            return part, parts
    raise argparse.ArgumentTypeError(
        f"expected I/N with I from 0 to N - 1, such as 0/4 for the first of four, got {text!r}"
    )


def named(text: str) -> tuple[str, str]:
    """(NAME, VALUE) of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return name, value


def add_out(parser: argparse.ArgumentParser, contents: str) -> None:
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="DIR", help=f"folder of {contents}"
    )


def add_model(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("model", metavar="MODEL", help=text)


def add_environment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "environment",
        metavar="ENVIRONMENT",
        help="frozenlake, sokoban, desk or, held-out tasks, sokoban:test and so on; or a benchmark "
        "such as bfcl:multi_turn_base",
    )


def add_tasks(parser, text: str) -> None:
    parser.add_argument("--tasks", type=positive, metavar="COUNT", help=text)


def add_seed(parser) -> None:
    parser.add_argument("--seed", type=natural, default=0, help="of all random numbers")


def add_context(parser) -> None:
    parser.add_argument(
        "--context",
        type=positive,
        metavar="TOKENS",
        help="longest context (default: the longest that the model reads)",
    )


def add_gpu(parser) -> None:
    parser.add_argument("--gpu", action="store_true", help="run on the GPU instead of the CPU")


def add_prompt_format(group, default: str | None) -> None:
    """How a model is prompted, and how its calls are read."""
    ending = f" (default: {default})" if default else ""
    group.add_argument(
        "--prompt-format",
        choices=PROMPT_FORMATS,
        default=default,
        help="the text harness, a plain prompt, the model's chat template, or the words of the "
        f"lab's models{ending}",
    )
    group.add_argument(
        "--parser",
        choices=PARSERS,
        help="what reads tool calls; not with --prompt-format words (default: native, the formats "
        "of all models, with chat; robust with harness and plain)",
    )
    group.add_argument(
        "--thinking",
        action="store_true",
        help="let the model reason first; with --prompt-format chat only",
    )


def begun_parser(arguments, name: str) -> str | None:
    """The parser that is asked for; else that of the folder, which an older version may have begun.

    name: of the setting in the folder's manifest.
    """
    if arguments.parser or arguments.prompt_format in (None, "words"):
        return arguments.parser
    from lib.trajectories import manifest

    there = manifest.settings(arguments.out).get(name)
    return there if there in PARSERS else None


def check_gpu(gpu: bool) -> None:
    """Raise ValueError if a GPU is asked for and there is none."""
    if gpu:
        import torch

        if not torch.cuda.is_available():
            raise ValueError("--gpu: torch finds no GPU here: leave it out, or mend that")
