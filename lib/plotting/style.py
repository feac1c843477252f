"""The house style, and what pictures of any kind share."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

COLOURS = {"base": "#1d4e89", "post": "#e07b39"}
LABELS = {"base": "base", "post": "post-trained"}
STYLES = {"base": "-", "post": (0, (5, 1.5))}
GREY = "#6b6b6b"
INK = "#262626"
MARKERS = "osD^vPX"


def use_house_style() -> None:
    """Set fonts, sizes and lines for all figures of this process, alike on every machine."""
    sns.set_theme(
        style="ticks",
        rc={
            "figure.dpi": 100,
            "savefig.dpi": 150,
            "savefig.bbox": "tight",
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.titley": 1.0,  # the default place, which every drawing would search for otherwise
            "axes.labelsize": 9,
            "xtick.labelsize": 8,
            "ytick.labelsize": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.linewidth": 0.8,
            "lines.linewidth": 1.6,
            "legend.frameon": False,
            "legend.fontsize": 8,
            "svg.hashsalt": "sharpening-lab",
            "svg.fonttype": "none",
        },
    )


def as_text(name: str) -> str:
    """A name that shows as it is: no formula between dollars, and not left out of legends."""
    name = name.replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{name}" if name.startswith("_") else name


def shades_of(names: Sequence[str], palette: str = "sea") -> dict:
    """A colour a name, from dark to light, so that they differ in grey too.

    palette: "sea", or "grey" where colours mean something else beside it.
    """
    ends = {"sea": ["#16324f", "#2f8f9d", "#a9d18e"], "grey": ["#303030", "#e6e6e6"]}
    shades = sns.blend_palette(ends[palette], max(len(names), 2))
    return dict(zip(names, shades, strict=False))


def panels(
    titles: Sequence[str], *, across: int = 3, height: float = 2.7, share: bool = True
) -> tuple[Figure, list]:
    """A figure with a panel for each title, `across` in a row: (figure, axes).

    share: one scale for all panels, on either axis.
    """
    across = min(across, len(titles))
    rows = -(-len(titles) // across)
    size = (3.7 * across, height * rows)
    figure, axes = plt.subplots(
        rows, across, figsize=size, sharex=share, sharey=share, squeeze=False
    )
    for ax in axes.flat[len(titles) :]:
        ax.set_axis_off()
    for ax, title in zip(axes.flat, titles, strict=False):
        ax.set_title(as_text(title))
    return figure, list(axes.flat[: len(titles)])


def shared_legend(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend below the figure, of the first panel, in place of those of the panels."""
    for ax in axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def budget_axis(ax, K) -> None:
    """Attempts 1 to K, ticked by powers of two."""
    ax.set_xscale("log", base=2)
    ax.set_xlim(1, max(K, 2))
    ticks = [tick for tick in 2 ** np.arange(int(np.log2(K)) + 1) if tick == K or tick < 0.75 * K]
    ticks += [K] * (K not in ticks)
    fixed_ticks(ax.xaxis, ticks)
    ax.set_xlabel("attempts k")


def fixed_ticks(axis, ticks: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Tick an axis there and nowhere else; labels: the numbers themselves if None."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels(labels or [f"{tick:.12g}" for tick in ticks])


def intervals(rows, line, mark, ax) -> Axes:
    """Estimates with their intervals: a line for each value of one column, a mark for another's.

    rows: a DataFrame with the columns `line`, `mark`, value, low and high.
    """
    ax = ax or plt.gca()
    lines, marks = (list(dict.fromkeys(rows[column])) for column in (line, mark))
    shades, step = shades_of(marks), min(0.22, 0.8 / len(marks))
    for j, name in enumerate(marks):
        part = rows[rows[mark] == name]
        y = [lines.index(value) + step * (j - (len(marks) - 1) / 2) for value in part[line]]
        ax.hlines(y, part["low"], part["high"], color=shades[name], linewidth=2)
        ax.plot(
            part["value"],
            y,
            linestyle="",
            marker=MARKERS[j % len(MARKERS)],
            color=shades[name],
            markeredgecolor="white",
            markersize=6,
            clip_on=False,
            zorder=3,
            label=as_text(name),
        )
    ax.set_yticks(range(len(lines)), map(as_text, lines))
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title=None)
    return ax


def apart(places: Sequence[float], gap: float) -> np.ndarray:
    """The nearest places that keep a gap between neighbours, in the order given.

    >>> apart([0.5, 0.5, 3], 1).tolist()
    [0.0, 1.0, 3.0]
    """
    places = np.asarray(places, float)
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    blocks: list[
        list[float]
    ] = []  # of neighbours that touch: the sum of their places, their number
    for place in places[order] - steps:
        blocks.append([place, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, number = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + number]
    result = np.empty(len(places))
    result[order] = np.repeat([t / n for t, n in blocks], [n for _, n in blocks]) + steps
    return result


def within(places: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Places that are a gap apart, moved to lie between two ends and stay apart."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = np.maximum(np.minimum(places[order], high - steps[::-1]), low + steps)
    return moved


def end_labels(ax: Axes, x: float, labels: Sequence[tuple[float, str, str]], size=7.5) -> None:
    """Name lines at their right ends, beside the axes, none over another.

    x: where the lines end.  labels: of each line its y, its text and its colour.
    """
    low, high = ax.get_ylim()
    box = ax.get_position()
    inches = box.height * ax.figure.get_size_inches()[1]
    gap = 1.35 * size / 72 / inches * (high - low)
    places = within(apart([y for y, _, _ in labels], gap), gap, low, high)
    for (y, text, colour), place in zip(labels, places, strict=True):
        shift = (place - y) / (high - low) * inches * 72
        ax.annotate(as_text(text), (x, y), (5, shift), textcoords="offset points", color=colour,
                    fontsize=size, va="center", annotation_clip=False)  # fmt: skip


def not_run(ax: Axes) -> Axes:
    """Say that there is nothing to draw yet."""
    ax.text(0.5, 0.5, "not run yet", transform=ax.transAxes, ha="center", color=GREY)
    return ax


def note(ax, text) -> None:
    """Write a line of numbers above the axes, where it covers nothing."""
    ax.text(1, 1.02, text, transform=ax.transAxes, ha="right", va="bottom", fontsize=8, color=GREY)
