"""Many comparisons in a picture: taxes, rates before and after, kinds of tasks, agreement."""

import itertools
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from lib.plotting.style import (
    COLOURS,
    GREY,
    INK,
    LABELS,
    MARKERS,
    as_text,
    fixed_ticks,
    intervals,
    note,
    shades_of,
)

KINDS = {
    "never": ("#3d3d3d", "white"),
    "sometimes": ("#b4b4b4", "black"),
    "always": ("#f2f2f2", "black"),
}
"""Kind of a task by its observed successes -> the colours of its bar and of the number in it."""


def plot_tax(rows, *, ax: Axes | None = None) -> Axes:
    """The tax of every comparison with its 95 % interval: a row each, grouped by benchmark.

    rows: a DataFrame with pair, benchmark, value, low, high. A mark is filled where the interval
    excludes zero, hollow where it does not or where there is none. A row whose value is NaN says
    that it is undefined.
    """
    ax = ax or plt.gca()
    y, rows_at, names, headings = 0.0, [], [], []
    for benchmark, group in rows.groupby("benchmark", sort=False):
        headings.append(len(names))
        rows_at.append(y)
        names.append(as_text(benchmark))
        for row in group.itertuples():
            y += 1
            rows_at.append(y)
            names.append(as_text(row.pair))
            _tax_row(ax, row, y)
        y += 1.3
    ax.axvline(0, color=INK, linewidth=1)
    ax.set_yticks(rows_at, names)
    ax.set_ylim(y - 0.7, -0.7)
    for i, label in enumerate(ax.get_yticklabels()):  # none where another panel shows them
        if i in headings:
            label.set(fontweight="bold", color=GREY)
    ax.tick_params(axis="y", length=0)
    return ax


def _tax_row(ax, row, y) -> None:
    if np.isnan(row.value):
        ax.text(0, y, "undefined", ha="left", va="center", fontsize=8, color=GREY)
        return
    certain = row.low > 0 or row.high < 0
    ax.hlines(y, row.low, row.high, color=INK, linewidth=1.6)
    fill = INK if certain else "white"
    ax.plot(row.value, y, "o", color=fill, markeredgecolor=INK, markersize=6, zorder=3)


def plot_sizes_of_pairs(rows, *, ax: Axes | None = None) -> Axes:
    """A value of each pair against its size, 95 % intervals, a line through the sizes of a family.

    rows: a DataFrame with family, size (billions of parameters), value, low, high.
    """
    ax = ax or plt.gca()
    for mark, (family, part) in zip(
        itertools.cycle(MARKERS), rows.groupby("family", sort=False), strict=False
    ):
        part = part.sort_values("size")
        ax.vlines(part["size"], part["low"], part["high"], color=INK, linewidth=1)
        ax.plot(
            part["size"], part["value"], marker=mark, color=INK, linewidth=0.8, linestyle=":",
            markerfacecolor="white", label=as_text(family),
        )  # fmt: skip
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_xscale("log")
    sizes = sorted(set(rows["size"]))
    apart = [b for a, b in zip([0.0, *sizes], sizes, strict=False) if b > 1.12 * a]
    fixed_ticks(ax.xaxis, apart, [f"{size:g}B" for size in apart])
    ax.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)
    ax.set_xlabel("parameters")
    return ax


def plot_shift(
    rows,
    *,
    names: Sequence[str] = ("base", "post-trained"),
    colours: Sequence[str] = (COLOURS["base"], COLOURS["post"]),
    ax: Axes | None = None,
) -> Axes:
    """A rate before and after, a row each: a hollow mark, an arrow, a filled mark, a note.

    rows: a DataFrame with label, before, after (shares), their ends before_low, before_high,
    after_low, after_high (NaN for none), and note, which stands at the right of the row.
    names, colours: what before and after are called in the legend, and their colours.
    """
    ax = ax or plt.gca()
    marks = ("o", "D")
    for y, row in enumerate(rows.to_dict("records")):
        for which, colour, mark in zip(("before", "after"), colours, marks, strict=True):
            ends = row[f"{which}_low"], row[f"{which}_high"]
            ax.hlines(y, *ends, color=colour, linewidth=4, alpha=0.35)
            fill = "white" if which == "before" else colour
            ax.plot(row[which], y, mark, color=fill, markeredgecolor=colour, zorder=3)
        ax.annotate(
            "",
            (row["after"], y),
            (row["before"], y),
            arrowprops={"arrowstyle": "-|>", "color": GREY, "linewidth": 0.8, "shrinkB": 4},
        )
        side = ax.get_yaxis_transform()
        ax.text(1.02, y, row["note"], transform=side, ha="left", va="center", fontsize=7.5)
    for name, colour, mark, fill in zip(names, colours, marks, ("white", colours[1]), strict=True):
        ax.plot([], [], mark, color=fill, markeredgecolor=colour, label=as_text(name))
    ax.set_yticks(range(len(rows)), map(as_text, rows["label"]))
    ax.set_ylim(len(rows) - 0.5, -0.7)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="y", length=0)
    return ax


def plot_task_kinds(rows, *, ax: Axes | None = None) -> Axes:
    """Which share of tasks succeeded never, sometimes and always: a bar an arm, two bars a pair.

    rows: a DataFrame with pair, arm ("base" or "post"), never, sometimes, always: shares that sum
    to 1, from dark to light. Shares of 7 % and more are printed.
    """
    ax = ax or plt.gca()
    y, heights, names = 0.0, [], []
    for pair, part in rows.groupby("pair", sort=False):
        ax.text(0, y, as_text(pair), transform=ax.get_yaxis_transform(), va="center", fontsize=8)
        for row in part.to_dict("records"):
            y += 1
            heights.append(y)
            names.append(row["arm"])
            left = 0.0
            for kind, (fill, ink) in KINDS.items():
                bar = {"color": fill, "edgecolor": INK, "linewidth": 0.6, "height": 0.86}
                ax.barh(y, row[kind], left=left, label=kind if len(heights) == 1 else None, **bar)
                if row[kind] >= 0.07:
                    middle = left + row[kind] / 2
                    share = f"{row[kind]:.0%}"
                    ax.text(middle, y, share, ha="center", va="center", color=ink, fontsize=7)
                left += row[kind]
        y += 1.1
    ax.set_yticks(heights, [LABELS[name] for name in names])
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        label.set_color(COLOURS[name])
    ax.set(xlim=(0, 1), ylim=(y - 0.45, -0.6), xlabel="share of tasks")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="y", length=0)
    return ax


def plot_conditions(rows, *, ax: Axes | None = None) -> Axes:
    """Rates under several conditions with 95 % intervals: conditions as rows, rates as marks.

    rows: a DataFrame with condition, rate (what it is called), value, low, high.
    """
    ax = intervals(rows, "condition", "rate", ax)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlim(left=0)
    return ax


def plot_agreement(
    points,
    *,
    benchmarks: Sequence[str] | None = None,
    rho: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Two quantities over comparisons: shades by benchmark, marks by pair, rank correlation.

    points: a DataFrame with pair, benchmark, x, y, and their spreads x_sd, y_sd. More than seven
    pairs all get the same mark; where a pair is called as its benchmark, one entry of the legend
    shows both.  benchmarks: those of all panels, so that each looks the same in all; None takes
    those of the points.  rho: the Spearman correlation to print, None prints none.
    """
    ax = ax or plt.gca()
    there, pairs = (list(dict.fromkeys(points[name])) for name in ("benchmark", "pair"))
    shades = shades_of(benchmarks or there, "grey")
    marked = list(shades) if set(pairs) <= set(shades) else pairs
    marks = dict(zip(marked, MARKERS, strict=False)) if len(marked) <= len(MARKERS) else {}
    spread = {"xerr": points["x_sd"], "yerr": points["y_sd"]}
    ax.errorbar(
        points["x"], points["y"], **spread, fmt="none", ecolor=GREY, alpha=0.35, elinewidth=0.7
    )
    look = {"edgecolor": INK, "s": 50, "zorder": 3}
    for row in points.itertuples():
        mark, shade = marks.get(row.pair, "o"), shades[row.benchmark]
        ax.scatter(row.x, row.y, marker=mark, color=shade, linewidth=0.7, **look)
    for benchmark in there:
        if benchmark in pairs and benchmark in marks:
            mark, shade = marks[benchmark], shades[benchmark]
            ax.scatter([], [], marker=mark, color=shade, label=as_text(benchmark), **look)
        else:
            shade = {"color": shades[benchmark], "edgecolor": INK}
            ax.fill_between([], [], **shade, label=as_text(benchmark))
    for pair in pairs:
        if pair in marks and pair not in there:
            mark = marks[pair]
            ax.scatter([], [], marker=mark, color="white", label=as_text(pair), **look)
    ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    ax.axvline(0, color=GREY, linewidth=0.6, zorder=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if rho is not None:
        note(ax, f"Spearman ρ = {rho:.2f}")
    return ax
