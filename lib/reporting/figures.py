"""Figures: saved the same way every time, and the picture of one comparison."""

import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib import ROOT, claims, plotting

LAYOUT = {
    "figure.constrained_layout.use": False,
    "savefig.bbox": None,
    "figure.subplot.left": 0.058,
    "figure.subplot.right": 0.905,
    "figure.subplot.bottom": 0.14,
    "figure.subplot.top": 0.9,
    "figure.subplot.wspace": 0.58,
}
"""Where the panels of a page's pictures lie. The numbers and names beside them are as wide in every
comparison, and searching for a layout for each takes longer than drawing it."""


def save_figure(figure: Figure, name: str, figures_dir: str | None) -> None:
    """Save a figure as NAME.png and NAME.svg, the same bytes for the same picture.

    figures_dir: a folder, relative to the root of the checkout; None saves nothing.
    """
    if figures_dir is None:
        return
    folder = ROOT / figures_dir
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    text = numbered_clip_paths(drawn.getvalue())
    (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def numbered_clip_paths(svg: str) -> str:
    """An SVG whose clip paths are numbered: matplotlib names some after addresses in memory.

    >>> numbered_clip_paths('<clipPath id="pa0"/><g clip-path="url(#pa0)"/>')
    '<clipPath id="clip1"/><g clip-path="url(#clip1)"/>'
    """
    for number, name in enumerate(re.findall(r'<clipPath id="(\w+)"', svg), 1):
        svg = svg.replace(f'<clipPath id="{name}"', f'<clipPath id="clip{number}"')
        svg = svg.replace(f"url(#{name})", f"url(#clip{number})")
    return svg


def overview(studies: Sequence[claims.Study]) -> Figure:
    """Coverage, consistency and the tasks by observed success: a row of panels per comparison."""
    rows = len(studies)
    figure, axes = plt.subplots(rows, 3, figsize=(12.5, 3.6 * rows), squeeze=False)
    for row, (comparison, tax) in zip(axes, studies, strict=True):
        heading = "" if rows == 1 else f"{comparison.label}\n"
        plotting.plot_coverage(tax, ax=row[0]).set_title(f"{heading}Coverage, 95 % bands")
        plotting.plot_consistency(tax, ax=row[1]).set_title("Consistency, 95 % bands")
        plotting.plot_success_rates(comparison.base, comparison.post, ax=row[2])
        row[2].set_title("Tasks by observed success")
        row[2].legend(loc="center left", bbox_to_anchor=(1, 0.5))  # beside, over no bar or word
    return figure


def save_overview(study: claims.Study, path: Path) -> None:
    """Draw the `overview` of one comparison into a PNG file, in the layout of `LAYOUT`."""
    with plt.rc_context(LAYOUT):
        figure = overview([study])
        figure.savefig(path, metadata={"Software": None})
        plt.close(figure)
