"""The pictures of the README: an opening one, and a thumbnail of each notebook."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib import claims, plotting
from lib.reporting import figure_titles

THUMBNAILS = {
    "01": ("01_harness", (0.0, 0.0, 0.36, 0.5)),
    "02": ("02_hero", (0.0, 0.16, 1.0, 1.0)),
    "03": ("03_tax", (0.0, 0.0, 0.5, 1.0)),
    "04": ("04_cooling", (0.0, 0.0, 0.5, 0.9)),
    "05": ("05_deployable", (0.0, 0.0, 0.52, 1.0)),
    "06": ("06_identity", (0.0, 0.0, 0.34, 0.9)),
    "07": ("07_sokoban", (0.0, 0.0, 0.55, 1.0)),
    "08": ("08_your_own_models", (0.0, 0.0, 0.33, 1.0)),
}
"""Number of a notebook -> the figure that stands for it, and the part of it that is shown: left,
top, right and bottom as shares of its width and height."""


def opening_study() -> claims.Study:
    """The comparison of the opening picture, from the paper's published counts."""
    table = claims.load("published", pairs=["gemma-4-31B"], benchmarks=["webshop"])
    [study] = claims.study(table)
    return study


def opening_picture(study: claims.Study) -> Figure:
    """Coverage of one comparison, large, with the numbers of the first and the last budget."""
    plotting.use_house_style()
    (comparison, tax), figure = study, plt.figure(figsize=(7.2, 3.4))
    ax = plotting.plot_coverage(tax, ends=True, ax=figure.gca())
    ax.set_title(
        plotting.as_text(f"{comparison.label}\n{figure_titles.opening_title(tax)}"),
        fontweight="bold",
    )
    return figure


def make_thumbnails(figures: Path, *, width: int = 200) -> list[Path]:
    """Write a small picture of each notebook to `figures/thumbnails`.  width: in pixels.

    Raises FileNotFoundError where a figure is missing: `make reproduce` draws them.
    """
    from PIL import Image

    folder = figures / "thumbnails"
    folder.mkdir(exist_ok=True)
    paths = []
    for number, (name, part) in THUMBNAILS.items():
        with Image.open(figures / f"{name}.png") as figure:
            sides = (figure.width, figure.height) * 2
            shown = figure.convert("RGB").crop(
                tuple(round(p * s) for p, s in zip(part, sides, strict=True))
            )
        height = round(width * shown.height / shown.width)
        shown = shown.resize((width, height), Image.Resampling.LANCZOS).quantize(64)
        paths.append(folder / f"{number}.png")
        shown.save(paths[-1], optimize=True)
    return paths
