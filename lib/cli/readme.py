"""`python -m lib readme`: the claims page, findings and pictures, from what is committed.

Run it after the notebooks: it reads their saved outputs and runs none of them.
"""

import sys
from pathlib import Path

from lib import ROOT

SUMMARY = "Renew the claims page and README.md from the notebooks' saved outputs and figures."


def add_arguments(parser):
    for option, place, kind, holds in (
        ("--page", "notebooks/guides/claims.md", "FILE", "page that holds the table of claims"),
        ("--readme", "README.md", "FILE", "page that holds the table of findings"),
        ("--notebooks", "notebooks", "DIR", "folder of the notebooks"),
    ):
        text = f"{holds} (default: {place})"
        parser.add_argument(option, type=Path, default=ROOT / place, metavar=kind, help=text)


def run(arguments):
    """Write claims and findings between their marks in the pages; report what was left out."""
    from lib.reporting import collect_claims, make_thumbnails, with_claims, with_findings

    page = arguments.page
    claims, left_out = collect_claims(sorted(arguments.notebooks.glob("*.ipynb")))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    if not claims:
        raise ValueError(
            f"`notebooks`: {arguments.notebooks} has no notebook that shows claims, so the pages "
            "stay as they are. Name the folder of the executed notebooks."
        )
    for path, renewed in ((page, with_claims), (arguments.readme, with_findings)):
        path.write_text(renewed(path.read_text(encoding="utf-8"), claims), encoding="utf-8")
    pictures = make_thumbnails(ROOT / "figures")
    print(f"{page.name}: {len(claims)} claims; figures: {len(pictures)} pictures")
