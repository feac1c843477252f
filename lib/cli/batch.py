"""`python -m lib batch`: the notebooks of a list, run in parallel, and one page about them."""

from pathlib import Path

from lib import ROOT
from lib.cli.arguments import positive

SUMMARY = "Run the notebooks of a list and write one page about them."


def add_arguments(parser):
    parser.add_argument(
        "batch",
        nargs="?",
        type=Path,
        default=ROOT / "notebooks" / "batch.yml",
        metavar="BATCH.yml",
        help="list of notebooks and their parameters (default: notebooks/batch.yml)",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        metavar="COUNT",
        help="notebooks that run at the same time (default: one a core)",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=ROOT / "build",
        metavar="DIR",
        help="folder of the executed notebooks and the page (default: build)",
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="run only the entries of these names"
    )


def run(arguments):
    """Return 1 if a notebook failed."""
    from lib.reporting import run_batch, write_pages

    results = run_batch(
        arguments.batch, out=arguments.out, jobs=arguments.jobs, only=arguments.only
    )
    print(f"Report: {write_pages(results, arguments.out)}")
    return 1 if any(result.failure for result in results) else 0
