"""The command line: ``python -m lib COMMAND``.

A room is imported only by the command that needs it, so that help comes at once.
"""

import argparse
import sys
from pathlib import Path

from lib import ROOT


def batch(arguments):
    """Run the notebooks of a list and write one report about them."""
    from lib.batch import run_batch
    from lib.batch_page import write_pages

    results = run_batch(
        arguments.file, out=arguments.out, jobs=arguments.jobs, only=arguments.only or ()
    )
    print(f"Report: {write_pages(results, arguments.out)}")
    return 1 if any(result.failure for result in results) else 0


def readme(arguments):
    """Renew the claims table of README.md from the notebooks' saved outputs."""
    from lib.batch_page import collect_claims, with_claims

    path = ROOT / "README.md"
    claims, left_out = collect_claims(sorted((ROOT / "notebooks").glob("*.ipynb")))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    path.write_text(with_claims(path.read_text(encoding="utf-8"), claims), encoding="utf-8")
    print(f"{path.name}: {len(claims)} claims")


def report(arguments):
    """Write a one-page report on two files of outcomes, before and after post-training."""
    from lib.report import write_report

    path = write_report(arguments.base, arguments.post, max_k=arguments.max_k, out=arguments.out)
    print(f"Report: {path}")


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments; each command is the function of its name above."""
    main_parser = argparse.ArgumentParser(prog="python -m lib", description="Sharpening Lab.")
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)

    def command(function):
        added = commands.add_parser(
            function.__name__, help=function.__doc__, description=function.__doc__
        )
        added.set_defaults(command=function)
        return added

    add = command(batch).add_argument
    add(
        "file",
        nargs="?",
        type=Path,
        default=ROOT / "notebooks" / "batch.yml",
        metavar="BATCH.yml",
        help="list of notebooks and parameters (default: notebooks/batch.yml)",
    )
    add("-j", "--jobs", type=int, help="notebooks run at once (default: one a core)")
    add(
        "-o",
        "--out",
        type=Path,
        default=ROOT / "build",
        metavar="DIR",
        help="folder of the executed notebooks and the report (default: build)",
    )
    add("--only", nargs="+", metavar="NAME", help="run only the entries of these names")

    command(readme)

    add = command(report).add_argument
    add("base", type=Path, metavar="BASE", help="outcomes of the base model")
    add("post", type=Path, metavar="POST", help="outcomes of the post-trained model")
    add("--max-k", type=int, metavar="K", help="largest k (default: the most that both allow)")
    add(
        "-o",
        "--out",
        type=Path,
        default=Path("report"),
        metavar="DIR",
        help="folder of the report and its figure (default: report)",
    )
    return main_parser


def main(argv=None) -> int:
    """Run one command; 0 where it did its work, 1 where a notebook failed, 2 on bad input."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.command(arguments) or 0
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (OverflowError, MemoryError, RecursionError) as error:  # an input far out of range
        print(f"error: too large to work with ({type(error).__name__}: {error})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
