"""`python -m lib readme`: the claims page and the front page's pictures, from what is committed.

Run it after the notebooks: it reads their saved outputs and runs none of them.
"""

import sys
from pathlib import Path

from lib import ROOT

SUMMARY = "Renew the claims page from the notebooks' saved outputs, and the pictures of README.md."


def add_arguments(parser):
    parser.add_argument(
        "--page",
        type=Path,
        default=ROOT / "notebooks" / "guides" / "claims.md",
        metavar="FILE",
        help="page that holds the table of claims (default: notebooks/guides/claims.md)",
    )
    parser.add_argument(
        "--notebooks",
        type=Path,
        default=ROOT / "notebooks",
        metavar="DIR",
        help="folder of the notebooks (default: notebooks)",
    )


def run(arguments):
    """Write the table between its marks in the page; report the claims that have no row in it."""
    from lib.reporting import collect_claims, draw_front_page, with_claims

    page = arguments.page
    claims, left_out = collect_claims(sorted(arguments.notebooks.glob("*.ipynb")))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    page.write_text(with_claims(page.read_text(encoding="utf-8"), claims), encoding="utf-8")
    pictures = draw_front_page()
    print(f"{page.name}: {len(claims)} claims; figures: {len(pictures)} pictures")
