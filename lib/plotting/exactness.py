"""Pictures of small MDPs: levels, log ratios beside advantages, rewards recovered from one step."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.pyplot import gca

from lib.plotting.style import GREY

ARROWS = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Where up, down, left and right point, columns before rows, rows counted downwards."""


def plot_level(ends, values, *, limits=None, arrows=None, ax: Axes | None = None) -> Axes:
    """A square grid with a value a cell; G is the goal, black cells are holes.

    ends: [cells], row by row: whether an episode that ends in a cell has succeeded, None where it
        goes on.
    values: [cells], shown where it goes on.
    limits: ends of the colours, 0 and the largest value if None. Give grids that are compared the
        same ones. If the lower end is below 0, red is below 0 and blue above it.
    arrows: [cells], a move (an index into `ARROWS`), or None for no arrow.
    """
    ax = ax or gca()
    size = int(np.sqrt(len(ends)))
    ends = np.array([-1 if end is None else int(end) for end in ends])
    shown = np.ma.masked_where(ends >= 0, values).reshape(size, size)
    low, high = limits or (0, shown.max())
    image = ax.imshow(shown, cmap="RdBu" if low < 0 else "YlGnBu", vmin=low, vmax=high)
    for cell, end in enumerate(ends):
        row, column = divmod(cell, size)
        if end == 1:
            ax.text(column, row, "G", ha="center", va="center", weight="bold")
        elif end == 0:
            ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color="#222222"))
        elif arrows is not None and arrows[cell] is not None:
            across, down = ARROWS[arrows[cell]]
            ax.annotate(
                "",
                (column + 0.32 * across, row + 0.32 * down),
                (column - 0.32 * across, row - 0.32 * down),
                arrowprops={
                    "arrowstyle": "->",
                    "color": "#202020",
                    "lw": 1.4,
                    "path_effects": [withStroke(linewidth=3, foreground="white")],
                },
            )
    ax.set(xticks=[], yticks=[])
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    return ax


def plot_identity(
    advantages,
    ratios,
    *,
    weights=None,
    means: Mapping[str, tuple[float, float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Log ratios against advantages, a point a state and action, over the line where they agree.

    advantages, ratios: [points].  weights: [points], sizes of the points, for example how often
    the reference takes the action.  means: of some points, by name: their mean advantage and mean
    log ratio, marked and named.
    """
    ax = ax or gca()
    size = 14 if weights is None else 4 + 120 * np.asarray(weights) / np.max(weights)
    ax.scatter(advantages, ratios, s=size, color="#4a4a4a", alpha=0.5, lw=0)
    ends = [min(np.min(advantages), np.min(ratios)), max(np.max(advantages), np.max(ratios))]
    ax.plot(ends, ends, color=GREY, lw=0.9, zorder=0)
    ax.text(ends[0], ends[0], " equal", color=GREY, fontsize=7, va="top", ha="left")
    for name, (advantage, ratio) in (means or {}).items():
        ax.plot(advantage, ratio, "D", color="#b3005e", ms=8, markeredgecolor="white", zorder=3)
        ax.plot([advantage, advantage], [advantage, ratio], color="#b3005e", lw=1, ls=":", zorder=2)
        ax.annotate(name, (advantage, ratio), (0, 9), textcoords="offset points", ha="center",
                    fontsize=8, color="#b3005e", weight="bold")  # fmt: skip
    ax.set(xlabel="advantage, Q - V", ylabel="log ratio, beta log(pi / ref)")
    return ax


def plot_spread(
    errors, chances, *, reach: float, ax: Axes | None = None, label: str = "", colour: str = GREY
) -> Axes:
    """Errors of rewards recovered from one transition, weighted by the transitions' probabilities.

    errors, chances: [transitions].  reach: the bars go from -reach to reach. The middle bar is
    centred on 0, so that errors of rounding all fall into it. Raises ValueError for an error beyond
    the bars, which none would show.
    """
    ax = ax or gca()
    if np.max(np.abs(errors)) > reach:
        raise ValueError(
            f"an error is {np.max(np.abs(errors)):.3g}, beyond the bars: expected reach to be at "
            f"least that, got {reach:.3g}"
        )
    bins = np.linspace(-reach, reach, 46)
    weights = np.asarray(chances) / np.sum(chances)
    ax.hist(errors, bins, weights=weights, histtype="stepfilled", alpha=0.55, label=label,
            color=colour)  # fmt: skip
    ax.set(xlabel="recovered reward minus reward", ylabel="share of transitions", yscale="log")
    return ax
