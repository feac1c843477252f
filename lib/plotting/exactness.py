"""Pictures of small MDPs: levels, log ratios beside advantages, rewards recovered from one step."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.pyplot import gca

from lib.plotting.style import COLOURS, GREY

ARROWS = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Where up, down, left and right point, columns before rows, rows counted downwards."""


def plot_level(level, values, *, limits=None, arrows=None, ax: Axes | None = None) -> Axes:
    """A grid level with a value a cell, [cells]; G is the goal, black cells are holes.

    limits: ends of the colours, 0 and the largest value if None; give levels that are compared the
        same ones. From below 0 on, red is below and blue above it.
    arrows: a move a cell, [cells], drawn where it is not None.
    """
    ax = ax or gca()
    size = int(np.sqrt(len(level.ends)))
    ends = np.array([-1 if end is None else int(end) for end in level.ends])
    shown = np.ma.masked_where(ends >= 0, values).reshape(size, size)
    low, high = limits or (0, shown.max())
    image = ax.imshow(shown, cmap="RdBu" if low < 0 else "YlGnBu", vmin=low, vmax=high)
    for cell, end in enumerate(ends):
        row, column = divmod(cell, size)
        if end == 1:
            ax.text(column, row, "G", ha="center", va="center", weight="bold")
        elif end == 0:
            ax.add_patch(_square(column, row))
        elif arrows is not None and arrows[cell] is not None:
            across, down = ARROWS[arrows[cell]]
            ax.annotate(
                "",
                (column + 0.32 * across, row + 0.32 * down),
                (column - 0.32 * across, row - 0.32 * down),
                arrowprops={"arrowstyle": "->", "color": COLOURS["post"], "lw": 1.6},
            )
    ax.set(xticks=[], yticks=[])
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    return ax


def _square(column, row):
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, color="#222222")


def plot_identity(advantages, ratios, *, weights=None, ax: Axes | None = None) -> Axes:
    """Log ratios against advantages, a point a state and action, over the line where they agree.

    weights: sizes of the points, [points], for example how often the reference takes the action.
    """
    ax = ax or gca()
    size = 14 if weights is None else 4 + 120 * np.asarray(weights) / np.max(weights)
    ax.scatter(advantages, ratios, s=size, color=COLOURS["base"], alpha=0.55, lw=0)
    ends = [min(np.min(advantages), np.min(ratios)), max(np.max(advantages), np.max(ratios))]
    ax.plot(ends, ends, color=GREY, lw=0.9, zorder=0)
    ax.set(xlabel="advantage, Q - V", ylabel="log ratio, beta log(pi / ref)")
    return ax


def plot_spread(
    errors, chances, *, reach: float, ax: Axes | None = None, label: str = "", arm="base"
) -> Axes:
    """Errors of rewards recovered from one transition, weighted by the transitions' chances.

    reach: of the bars, from -reach to reach. The middle one is around 0, so that rounding decides
    no side. Raises ValueError for an error beyond them, which no bar would show.
    """
    ax = ax or gca()
    if np.max(np.abs(errors)) > reach:
        raise ValueError(
            f"an error is {np.max(np.abs(errors)):.3g}, beyond the reach of {reach:.3g}"
        )
    bins = np.linspace(-reach, reach, 46)
    weights = np.asarray(chances) / np.sum(chances)
    ax.hist(errors, bins, weights=weights, histtype="stepfilled", alpha=0.55, label=label,
            color=COLOURS[arm])  # fmt: skip
    ax.set(xlabel="recovered reward minus reward", ylabel="share of transitions", yscale="log")
    return ax
