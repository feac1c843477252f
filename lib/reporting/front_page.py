"""The pictures of the README: an opening one, and a thumbnail of each notebook."""

from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib import claims, plotting
from lib.reporting import figure_titles

THUMBNAILS = {
    "01": ("01_harness", 1),
    "02": ("02_hero", 1),
    "03": ("03_tax", 1),
    "04": ("04_cooling", 1),
    "05": ("05_deployable", 1),
    "06": ("06_identity", 1),
    "07": ("07_sokoban", 1),
    "08": ("08_your_own_models", 1),
}
"""Number of a notebook -> the figure that stands for it, and the number of its panel."""
SVG = "http://www.w3.org/2000/svg"


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
    folder = figures / "thumbnails"
    folder.mkdir(exist_ok=True)
    paths = []
    for number, (name, panel) in THUMBNAILS.items():
        svg = (figures / f"{name}.svg").read_text(encoding="utf-8")
        paths.append(folder / f"{number}.svg")
        paths[-1].write_text(thumbnail(svg, panel, width=width), encoding="utf-8")
    return paths


def thumbnail(svg: str, panel: int, *, width: int) -> str:
    """The curves and marks of one panel of matplotlib's SVG; text would be too small to read.

    panel: counted from 1.  width: in pixels.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(svg)
    figure = next(child for child in root if child.get("id") == "figure_1")
    axes = next(child for child in figure if child.get("id") == f"axes_{panel}")
    figure[:] = [axes]
    left, top, right, bottom = _extent(axes[0][0].get("d"))
    axes[:] = [
        child for child in axes if not child.get("id", "").startswith(("text", "matplotlib.axis"))
    ]
    root[:] = [child for child in root if child.tag != f"{{{SVG}}}metadata"]
    edge = 4
    across, down = right - left + 2 * edge, bottom - top + 2 * edge
    root.set("viewBox", f"{left - edge:g} {top - edge:g} {across:g} {down:g}")
    root.set("width", f"{width}")
    root.set("height", f"{width * down / across:.0f}")
    return ElementTree.tostring(root, encoding="unicode")


def _extent(path: str) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a path of straight lines."""
    numbers = [float(part) for part in path.split() if part not in "MLz"]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
