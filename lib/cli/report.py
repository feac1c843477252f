"""`python -m lib report`: a page on two logs, before and after post-training."""

import argparse
from pathlib import Path

from lib.cli.arguments import named, positive

SUMMARY = "Write a page on two logs or files of outcomes, before and after post-training."


def add_arguments(parser):
    parser.add_argument("base", type=Path, metavar="BASE", help="log or outcomes of the base model")
    parser.add_argument(
        "post", type=Path, metavar="POST", help="log or outcomes of the post-trained model"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("report"),
        metavar="DIR",
        help="folder of the page, report.html, and of report.md with its pictures",
    )
    parser.add_argument(
        "--max-k",
        type=positive,
        metavar="K",
        help="largest budget k (default: the largest that both logs allow)",
    )
    reading = parser.add_argument_group("how the logs are read")
    reading.add_argument(
        "--choose",
        action="append",
        default=[],
        type=choice,
        metavar="[ARM.]NAME=VALUE",
        help="what to take of a log that holds several: scorer=match, filter=strict-match, "
        "threshold=1, format=inspect; base.scorer=... or post.scorer=... for one log alone; may be "
        "given several times",
    )
    reading.add_argument(
        "--column",
        action="append",
        default=[],
        type=named,
        metavar="NAME=COLUMN",
        help="the column of the file that has NAME's values: task=Problem; may be given several "
        "times",
    )


def choice(text):
    """(NAME, VALUE) of one choice, NAME with its arm where it has one."""
    name, value = named(text)
    arm, dot, rest = name.partition(".")
    if dot and arm not in ("base", "post"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected base.{rest} or post.{rest}")
    chosen = rest if dot else name
    if chosen == "columns":
        raise argparse.ArgumentTypeError(f"{text!r}: columns are given by --column NAME=COLUMN")
    if chosen == "threshold":
        try:
            value = float(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a number") from error
    return name, (value.split(",") if chosen == "ignore" else value)


def run(arguments):
    from lib.reporting import compare

    page = compare(
        arguments.base,
        arguments.post,
        out=arguments.out,
        max_k=arguments.max_k,
        choose=dict(arguments.choose),
        columns=dict(arguments.column),
    )
    print(f"Report: {page}")
