"""Figures: saved the same way every time, and the picture of one comparison."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib import ROOT, claims, plotting


def save_figure(figure: Figure, name: str, figures_dir: str | None) -> None:
    """Save a figure as NAME.png and NAME.svg, the same bytes for the same picture.

    figures_dir: a folder, relative to the root of the checkout; None saves nothing.
    """
    if figures_dir is None:
        return
    folder = ROOT / figures_dir
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


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
