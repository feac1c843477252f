"""Pictures of training runs, by the method that gave their tasks temperatures."""

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from lib.plotting.style import COLOURS, GREY, budget_axis, fixed_ticks, intervals, not_run

METHODS = {
    "base": ("base", COLOURS["base"], "-", "s"),
    "fixed": ("fixed T", COLOURS["post"], (0, (5, 1.5)), "o"),
    "ptgs": ("PTGS", "#12806f", "-", "D"),
    "yoked": ("yoked: as much heat", "#9a5bb0", (0, (1, 1.2)), "^"),
    "shuffled": ("shuffled: as spread", "#c9a227", (0, (4, 1.2, 1, 1.2)), "v"),
}
"""Method -> name, colour, line style and mark, the same in all pictures; "base" is not trained.

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


def plot_seeds(scores, measure: str, *, base: float | None = None, ax: Axes | None = None) -> Axes:
    """A measure of each run, method by method; a seed's runs are joined, a bar is a method's mean.

    scores: a DataFrame with sampler, seed and `measure`, of runs that differ in nothing else.
    base: the base's own value, drawn as a line.
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
    if base is not None:
        ax.axhline(base, color=COLOURS["base"], linewidth=1.2)
    names = [method.upper() if method == "ptgs" else method for method in methods]
    ax.set_xticks(range(len(methods)), names)
    ax.set(xlim=(-0.5, len(methods) - 0.5), ylabel=measure)
    ax.margins(y=0.12)
    return ax


def _runs(ax, x, y, method, mark=None, **more) -> None:
    """A mark for each run of a method."""
    _, colour, _, usual = METHODS[method]
    ax.plot(
        x, y, linestyle="", marker=mark or usual, color=colour, markeredgecolor="white",
        markersize=7, **more,
    )  # fmt: skip


def plot_cooling(bases, runs, K: int, *, ax: Axes | None = None) -> Axes:
    """Coverage against accuracy: a base at several temperatures, joined, and every run as a point.

    bases: a DataFrame with temperature, pass@1 and pass@K, a row a temperature.  runs: one with
    sampler, pass@1 and pass@K, a row a run, all at one temperature. A run below and left of the
    base's line has nothing that a lower temperature alone would not give.
    """
    ax = ax or plt.gca()
    last = f"pass@{K}"
    if len(bases):
        path = bases.sort_values("temperature")
        _, colour, style, mark = METHODS["base"]
        ax.plot(
            path["pass@1"], path[last], color=colour, linestyle=style, marker=mark, markersize=5
        )
        for row in path.to_dict("records"):
            hottest = row["temperature"] == path["temperature"].max()
            ax.annotate(
                f"{'T = ' if hottest else ''}{row['temperature']:g}",
                (row["pass@1"], row[last]),
                xytext=(7, -3) if hottest else (-3, 6),
                textcoords="offset points",
                ha="left" if hottest else "right",
                fontsize=8,
                color=colour,
            )
    for method in _methods_in(runs["sampler"]):
        part = runs[runs["sampler"] == method]
        _runs(ax, part["pass@1"], part[last], method)
    ax.set(xlabel="accuracy: pass@1", ylabel=f"coverage: {last}")
    ax.margins(x=0.1, y=0.14)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    return ax


def plot_differences(rows, *, ax: Axes | None = None) -> Axes:
    """PTGS minus other methods, with intervals: settings as rows, the other methods as marks.

    rows: a DataFrame with cell (what a row is called), against (the other method), value, low and
    high.
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    intervals(rows, "cell", "against", ax)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.get_legend().set_title("PTGS minus", prop={"size": 8})
    return ax


def plot_sizes(scores, measure: str, *, top: float = np.inf, ax: Axes | None = None) -> Axes:
    """A measure of each run against the model's parameters; the line joins medians over seeds.

    scores: a DataFrame with size, such as "0.25M", and `measure`, of one method.  top: where an
    infinite value is drawn, as an arrow.
    """
    ax = ax or plt.gca()
    if not len(scores):
        return not_run(ax)
    table = scores.assign(parameters=[1e6 * float(size.rstrip("M")) for size in scores["size"]])
    table["drawn"] = table[measure].clip(upper=top)
    medians = table.groupby("parameters")["drawn"].median()
    ax.plot(medians.index, medians, color=METHODS["fixed"][1], linewidth=1)
    for beyond, part in table.groupby(table[measure] > top):
        _runs(ax, part["parameters"], part["drawn"], "fixed", "^" if beyond else "o")
    ax.set_xscale("log")
    ax.set_xlim(medians.index.min() / 1.6, medians.index.max() * 1.6)
    counts = list(medians.index)
    fixed_ticks(ax.xaxis, counts, [f"{count / 1e6:g} M" for count in counts])
    ax.set(xlabel="parameters; line: medians", ylabel=measure)
    return ax


def plot_pilots(pilots, *, ax: Axes | None = None) -> Axes:
    """Coverage of a frozen policy against all rollouts spent on a task, pilots among them.

    pilots: a DataFrame with method ("fixed", "matched" or "ptgs"), seed, total (rollouts a task)
    and coverage, of one policy; lines are means over seeds, bands their range.
    """
    ax = ax or plt.gca()
    if not len(pilots):
        return not_run(ax)
    names = {"fixed": "fixed T", "matched": "fixed at PTGS's mean", "ptgs": "PTGS from pilots"}
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
