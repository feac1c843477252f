"""Pictures of training runs, by the method that gave their tasks temperatures."""

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from lib.plotting.style import COLOURS, GREY, budget_axis, fixed_ticks, not_run

METHODS = {
    "base": ("base", COLOURS["base"], "-", "s"),
    "fixed": ("fixed T", "#2f7d32", (0, (5, 1.5)), "o"),
    "ptgs": ("PTGS", "#4b1f7a", "-", "D"),
    "yoked": ("yoked: same mean T", "#a070cf", (0, (1, 1.2)), "^"),
    "shuffled": ("shuffled: same spread", "#cdb8e8", (0, (4, 1.2, 1, 1.2)), "v"),
}
"""Method -> name, colour, line style and mark, the same in all pictures and of nothing else.

PTGS and its controls are shades of one hue. "base" is not trained, and has the colour of a base.
Tables name the method of a run in their column `sampler`.
"""


def method_legend(figure: Figure, methods: Iterable[str], *, lines: bool = True) -> None:
    """One legend of these methods for the whole figure, below it; marks if not `lines`."""
    handles = []
    for method in _methods_in(methods):
        name, colour, style, mark = METHODS[method]
        look = {"linestyle": style} if lines else {"linestyle": "", "marker": mark}
        handles.append(Line2D([], [], color=colour, label=name, markersize=6, **look))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _methods_in(column) -> list[str]:
    there = set(column)
    return [method for method in METHODS if method in there]


def _mean_and_range(ax, wide, method, **more) -> None:
    """A line along the means of the rows of a table, over a band from their lowest to highest."""
    _, colour, style, _ = METHODS[method]
    ax.fill_between(
        wide.index, wide.min(axis=1), wide.max(axis=1), color=colour, alpha=0.15, linewidth=0
    )
    ax.plot(wide.index, wide.mean(axis=1), color=colour, linestyle=style, **more)


def plot_training(steps, measure: str, *, window: int = 20, ax: Axes | None = None) -> Axes:
    """A measure of training against steps: mean over seeds of each method, and all seeds' range.

    steps: a DataFrame with sampler, seed, step and `measure`, of one algorithm. Runs are first
    smoothed: a mean over the last `window` steps, or over half of all steps if that is less. For
    the measure "temperature" it needs temperature_mean, temperature_min and temperature_max over
    the groups of a step; the line is the mean, the band reaches from the coldest to the hottest
    group, means over seeds.
    """
    ax = ax or plt.gca()
    if not len(steps):
        return not_run(ax)
    of_groups = measure == "temperature"
    window = max(1, min(window, steps["step"].max() // 2))
    columns = [f"temperature_{end}" for end in ("mean", "min", "max")] if of_groups else [measure]
    for method in _methods_in(steps["sampler"]):
        part = steps[steps["sampler"] == method]
        smooth = [
            part.pivot(index="step", columns="seed", values=column)
            .rolling(window, min_periods=min(window, 5))
            .mean()
            for column in columns
        ]
        middle = smooth[0].mean(axis=1)
        low, high = (
            (end.mean(axis=1) for end in smooth[1:])
            if of_groups
            else (smooth[0].min(axis=1), smooth[0].max(axis=1))
        )
        _, colour, style, _ = METHODS[method]
        ax.fill_between(middle.index, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(middle.index, middle, color=colour, linestyle=style)
    ax.set(xlim=(0, steps["step"].max()), xlabel="step")
    return ax


def plot_method_coverage(curves, *, ax: Axes | None = None) -> Axes:
    """Mean pass@k against k: the base, and each method as mean and range over its seeds.

    curves: a DataFrame with sampler ("base" for the base), seed, k and coverage, of runs that
    differ in nothing else.
    """
    ax = ax or plt.gca()
    if not len(curves):
        return not_run(ax)
    for method in _methods_in(curves["sampler"]):
        part = curves[curves["sampler"] == method]
        _mean_and_range(ax, part.pivot(index="k", columns="seed", values="coverage"), method)
    budget_axis(ax, int(curves["k"].max()))
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_ylabel("coverage: pass@k")
    return ax


def plot_seeds(
    scores, measure: str, *, base: float | None = None, zero: bool = False, ax: Axes | None = None
) -> Axes:
    """A measure of each run, method by method; a seed's runs are joined, a bar is a method's mean.

    scores: a DataFrame with sampler, seed and `measure`, of runs that differ in nothing else.
    base: the base's own value, drawn as a line with its name.  zero: draw the line of zero, for a
    measure that is a difference from the base.
    """
    ax = ax or plt.gca()
    methods = _methods_in(scores["sampler"])
    if not methods:
        return not_run(ax)
    wide = scores.pivot(index="seed", columns="sampler", values=measure)[methods]
    for _, seed in wide.iterrows():
        ax.plot(range(len(methods)), seed, color=GREY, linewidth=0.6, alpha=0.6, zorder=1)
    for x, method in enumerate(methods):
        _runs(ax, [x] * len(wide), wide[method], method, zorder=3)
        colour = METHODS[method][1]
        ax.hlines(wide[method].mean(), x - 0.28, x + 0.28, color=colour, linewidth=2.2, zorder=2)
    right = len(methods) - 0.5
    for level, name, colour in ((base, "base", COLOURS["base"]), (0 if zero else None, "0", GREY)):
        if level is not None:
            ax.axhline(level, color=colour, linewidth=1.2 if name == "base" else 0.8)
            ax.annotate(
                name, (right, level), (3, 0), textcoords="offset points", color=colour, va="center",
                fontsize=8, annotation_clip=False,
            )  # fmt: skip
    names = [method.upper() if method == "ptgs" else method for method in methods]
    ax.set_xticks(range(len(methods)), names)
    ax.set(xlim=(-0.5, right), ylabel=measure)
    ax.margins(y=0.12)
    return ax


def _runs(ax, x, y, method, mark=None, *, hollow=False, **more) -> None:
    """A mark for each run of a method."""
    _, colour, _, usual = METHODS[method]
    ax.plot(
        x, y, linestyle="", marker=mark or usual, color="white" if hollow else colour,
        markeredgecolor=colour if hollow else "white", markersize=7, **more,
    )  # fmt: skip


def plot_cooling(bases, runs, measure: str, *, ax: Axes | None = None) -> Axes:
    """A measure against accuracy: a base at several temperatures, joined, and runs as points.

    bases: a DataFrame with temperature, pass@1 and `measure`, a row a temperature.  runs: one with
    sampler, pass@1 and `measure`, a row a run, all at one temperature. A run below and left of the
    base's line has nothing that a lower temperature alone would not give.
    """
    ax = ax or plt.gca()
    if len(bases):
        path = bases.sort_values("temperature")
        _, colour, style, mark = METHODS["base"]
        ax.plot(
            path["pass@1"], path[measure], color=colour, linestyle=style, marker=mark, markersize=5
        )
        for row in path.to_dict("records"):
            hottest = row["temperature"] == path["temperature"].max()
            ax.annotate(
                f"{'T = ' if hottest else ''}{row['temperature']:g}",
                (row["pass@1"], row[measure]),
                xytext=(-4, -14) if hottest and row[measure] > 0.2 else (-3, 6),
                textcoords="offset points",
                ha="left" if hottest else "right",
                fontsize=8,
                color=colour,
            )
    for method in _methods_in(runs["sampler"]):
        part = runs[runs["sampler"] == method]
        _runs(ax, part["pass@1"], part[measure], method)
    kind = "consistency" if "^" in measure else "coverage"
    ax.set(xlabel="accuracy: pass@1", ylabel=f"{kind}: {measure}", ylim=(-0.03, 1.05))
    ax.margins(x=0.1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    return ax


def plot_differences(rows, *, favours: str = "right", ax: Axes | None = None) -> Axes:
    """PTGS minus other methods, with intervals: settings as rows, the other methods as marks.

    rows: a DataFrame with cell (what a row is called), against (the other method), value, low and
    high.  favours: the side of zero that speaks for PTGS, "left" or "right".
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    cells, methods = list(dict.fromkeys(rows["cell"])), _methods_in(rows["against"])
    for j, method in enumerate(methods):
        part = rows[rows["against"] == method]
        y = [cells.index(cell) + 0.22 * (j - (len(methods) - 1) / 2) for cell in part["cell"]]
        ax.hlines(y, part["low"], part["high"], color=METHODS[method][1], linewidth=2)
        _runs(ax, part["value"], y, method, zorder=3)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(range(len(cells)), cells)
    ax.set_ylim(len(cells) - 0.5, -0.8)
    ax.tick_params(axis="y", length=0)
    where, words = (0.99, "favours PTGS →") if favours == "right" else (0.01, "← favours PTGS")
    ax.text(
        where, 0.99, words, transform=ax.transAxes, ha=favours, va="top", fontsize=8, color=GREY
    )
    return ax


def plot_rates(scores, measure: str, *, ax: Axes | None = None) -> Axes:
    """A measure of each run at several learning rates: runs as marks, means of a method joined.

    scores: a DataFrame with sampler, seed, rate and `measure`, of runs that differ in nothing else.
    """
    ax = ax or plt.gca()
    if not len(scores):
        return not_run(ax)
    rates, methods = sorted(scores["rate"].unique()), _methods_in(scores["sampler"])
    for j, method in enumerate(methods):
        part = scores[scores["sampler"] == method]
        shift = 0.06 * (j - (len(methods) - 1) / 2)
        means = part.groupby("rate")[measure].mean()
        x = [rates.index(rate) + shift for rate in part["rate"]]
        _runs(ax, x, part[measure], method, alpha=0.8)
        x = [rates.index(rate) + shift for rate in means.index]
        ax.plot(x, means, color=METHODS[method][1], linestyle=METHODS[method][2])
    ax.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    ax.set(xlim=(-0.4, len(rates) - 0.6), xlabel="learning rate", ylabel=measure)
    return ax


def plot_sizes(scores, measure: str, *, top: float = np.inf, ax: Axes | None = None) -> Axes:
    """A measure of each run against the model's parameters; the line joins medians over seeds.

    scores: a DataFrame with size, such as "0.25M", `measure` and crossover, of one method. Runs
    whose crossover is 1 are hollow: they are below their base from the first attempt on, so nothing
    overtakes them. As crossovers they stand in a strip of their own, and a size that has such runs
    is not on the line.  top: where an infinite value is drawn, as an arrow.
    """
    ax = ax or plt.gca()
    if not len(scores):
        return not_run(ax)
    table = scores.assign(parameters=[1e6 * float(size.rstrip("M")) for size in scores["size"]])
    table["drawn"], table["below"] = table[measure].clip(upper=top), table["crossover"] == 1
    crossing = measure == "crossover"
    line = table.groupby("parameters").filter(lambda part: not part["below"].any() or not crossing)
    medians = line.groupby("parameters")["drawn"].median()
    ax.plot(medians.index, medians, color=METHODS["fixed"][1], linewidth=1)
    for (beyond, below), part in table.groupby([table[measure] > top, "below"]):
        x, y = part["parameters"], part["drawn"]
        if crossing and below:
            x, y = _side_by_side(x), [0] * len(part)
        _runs(ax, x, y, "fixed", "^" if beyond else "o", hollow=below, clip_on=False)
    if crossing:
        _strip_of_no_overtaking(ax, table)
    else:
        ax.axhline(0, color=GREY, linewidth=0.8)
    counts = sorted(table["parameters"].unique())
    ax.set_xscale("log")
    ax.set_xlim(counts[0] / 1.6, counts[-1] * 1.6)
    fixed_ticks(ax.xaxis, counts, [f"{count / 1e6:g} M" for count in counts])
    ax.set(xlabel="parameters", ylabel=measure)
    return ax


def _side_by_side(x) -> list[float]:
    """Equal places on a log axis, spread a little so that marks do not cover each other."""
    seen: dict[float, int] = {}
    places = []
    for value in x:
        seen[value] = seen.get(value, -1) + 1
        places.append(value * 1.16 ** seen[value])
    return places


def _strip_of_no_overtaking(ax, table) -> None:
    ax.axhspan(-0.8, 0.8, color=GREY, alpha=0.12, linewidth=0)
    words = "below the base from the start: no overtaking"
    ax.text(0.02, 0, words, transform=ax.get_yaxis_transform(), va="center", fontsize=7, color=GREY)
    highest = table.loc[~table["below"], "drawn"].max()
    highest = 4 if np.isnan(highest) else max(highest, 4)
    ax.set_ylim(-0.8, 1.08 * highest)
    fixed_ticks(ax.yaxis, [k for k in 2 ** np.arange(1, 12) if k <= highest])


def plot_pilots(pilots, *, ax: Axes | None = None) -> Axes:
    """Coverage of a frozen policy against all rollouts spent on a task, pilots among them.

    pilots: a DataFrame with method ("fixed", "matched" or "ptgs"), seed, total (rollouts a task)
    and coverage, of one policy; lines are means over seeds, bands their range.
    """
    ax = ax or plt.gca()
    if not len(pilots):
        return not_run(ax)
    names = {"fixed": "fixed T", "matched": "same mean T for all", "ptgs": "PTGS from pilots"}
    for method, name in names.items():
        wide = pilots[pilots["method"] == method].pivot(
            index="total", columns="seed", values="coverage"
        )
        look = "yoked" if method == "matched" else method  # both have PTGS's mean temperature
        _mean_and_range(ax, wide, look, marker=METHODS[look][3], markersize=5, label=name)
    ax.set_xscale("log", base=2)
    fixed_ticks(ax.xaxis, sorted(pilots["total"].unique()))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set(xlabel="rollouts a task, pilots counted", ylabel="tasks solved at least once")
    ax.legend(loc="lower right")
    return ax
