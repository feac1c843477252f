"""Pictures of the page on two arms: the difference of their coverage, and many curves at once."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from lib.plotting.style import COLOURS, GREY, LABELS, STYLES, as_text, budget_axis


def plot_coverage_difference(gap, *, ax: Axes | None = None) -> Axes:
    """Coverage of the base minus that of the post-trained arm against k, with its 95 % band.

    gap: a `metrics.Band` over budgets k = 1..K, in shares. The axis is in percentage points; above
    the zero line the base is ahead, and both sides say so.
    """
    ax = ax or plt.gca()
    k = np.arange(1, len(gap.value) + 1)
    points, low, high = (100 * np.asarray(part, float) for part in gap)
    ax.axhline(0, color=GREY, linewidth=1.0)
    ax.fill_between(k, low, high, color=GREY, alpha=0.22, linewidth=0)
    ax.plot(k, points, color="#222222")
    ends = np.r_[points, low, high]
    reach = max(1.35 * np.nanmax(np.abs(ends)), 1.0)
    ax.set_ylim(-reach, reach)
    for y, va, arm in ((0.985, "top", "base"), (0.015, "bottom", "post")):
        ax.text(
            *(0.02, y, f"{LABELS[arm]} ahead"),
            transform=ax.transAxes,
            va=va,
            fontsize=8,
            color=COLOURS[arm],
        )
    budget_axis(ax, k[-1])
    ax.set_ylabel("base minus post, points of coverage")
    return ax


def plot_small_multiples(
    curves: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    ax: Axes | None = None,
    across: int = 3,
) -> Axes:
    """Coverage of both arms in a small panel for each comparison, all on one pair of axes.

    curves: (name, base, post), base and post: [K] coverage for k = 1..K; panels run from the first
    attempt to K on a log scale, and from 0 to 1. One pair of axes is drawn many times faster than
    one for each panel.
    """
    ax = ax or plt.gca()
    lines = {"base": [], "post": []}
    frames = []
    for i, (name, *arms) in enumerate(curves):
        left, bottom = 1.25 * (i % across), -1.5 * (i // across)
        for arm, curve in zip(lines, arms, strict=True):
            curve = np.asarray(curve, float)
            x = np.log(np.arange(1, len(curve) + 1)) / max(np.log(len(curve)), 1e-9)
            lines[arm].append(np.c_[left + x, bottom + curve])
        frames += [[(left, bottom + y), (left + 1, bottom + y)] for y in (0, 1)]
        for y, curve in _apart(arms):
            ax.text(left + 1.02, bottom + y, f"{100 * curve[-1]:.0f}", va="center", fontsize=7)
        label = name if len(name) <= 24 else f"{name[:23]}…"
        ax.text(left, bottom + 1.07, as_text(label), fontsize=8, va="bottom")
    ax.add_collection(LineCollection(frames, colors="#d9dee4", linewidths=0.7))
    for arm, paths in lines.items():
        ax.add_collection(
            LineCollection(
                paths, colors=COLOURS[arm], linestyles=[STYLES[arm]], label=LABELS[arm],
                linewidths=1.6,
            )
        )  # fmt: skip
    rows = -(-len(curves) // across)
    ax.set(xlim=(-0.02, 1.25 * across), ylim=(-1.5 * (rows - 1) - 0.1, 1.5))
    ax.set_axis_off()
    return ax


def _apart(arms, least=0.2):
    """The height of each curve's last number, pushed apart where they would overlap."""
    (low, high) = sorted(arms, key=lambda curve: curve[-1])
    push = max(0.0, least - (high[-1] - low[-1])) / 2
    return [(low[-1] - push, low), (high[-1] + push, high)]
