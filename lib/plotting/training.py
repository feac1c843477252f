"""Pictures of the lab: the rule of PTGS, and training runs by the arm that sampled them."""

from collections.abc import Iterable, Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter
from scipy import stats

from lib.plotting.style import COLOURS, GREY, budget_axis, intervals, shades_of

METHODS = {
    "base": ("base", COLOURS["base"], "-", "s"),
    "fixed": ("fixed T", COLOURS["post"], (0, (5, 1.5)), "o"),
    "ptgs": ("PTGS", "#12806f", "-", "D"),
    "yoked": ("yoked: as much heat", "#9a5bb0", (0, (1, 1.2)), "^"),
    "shuffled": ("shuffled: as spread", "#c9a227", (0, (4, 1.2, 1, 1.2)), "v"),
}
"""Arm -> name, colour, line style and mark, the same in all pictures."""


def method_legend(figure: Figure, arms: Iterable[str], *, lines: bool = True) -> None:
    """One legend of the arms for the whole figure, below it."""
    handles = []
    for arm in (one for one in METHODS if one in set(arms)):
        name, colour, style, mark = METHODS[arm]
        look = {"linestyle": style} if lines else {"linestyle": "", "marker": mark}
        handles.append(Line2D([], [], color=colour, label=name, markersize=6, **look))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _present(column) -> list[str]:
    there = set(column)
    return [arm for arm in METHODS if arm in there]


def not_run(ax: Axes) -> Axes:
    """Say that there is nothing to draw yet."""
    ax.text(0.5, 0.5, "not run yet", transform=ax.transAxes, ha="center", color=GREY)
    return ax


# ------------------------------------------------------------------------------------- the rule


def plot_posteriors(sampler, rates: Mapping[str, float], *, ax: Axes | None = None) -> Axes:
    """The density of each task's success rate, a row a task, and the rate drawn of it as a dot.

    sampler: a `ptgs.PTGS` that has seen the tasks; rates: task -> the draw. Rows have heights of
    their own, and what rises to infinity is cut.
    """
    ax = ax or plt.gca()
    p = np.linspace(0.002, 0.998, 500)
    for y, (task, colour) in enumerate(shades_of(list(rates)).items()):
        density = stats.beta(*sampler.posterior(task)).pdf(p)
        height = 0.78 * np.minimum(density / min(density.max(), 12), 1)
        ax.fill_between(p, y - height, y, color=colour, alpha=0.35, linewidth=0)
        ax.plot(p, y - height, color=colour, linewidth=1.2)
        ax.plot(rates[task], y, "o", color=colour, markeredgecolor="white", clip_on=False, zorder=3)
    ax.axvline(sampler.pivot, color=GREY, linewidth=0.8, linestyle=":")
    ax.text(sampler.pivot + 0.02, -0.84, f"pivot {sampler.pivot:g}", fontsize=8, color=GREY)
    _rows(ax, list(rates))
    ax.set(xlim=(0, 1), xlabel="success rate of the task")
    return ax


def _rows(ax, names) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.7, -0.95)
    ax.tick_params(axis="y", length=0)


def plot_temperature(samplers: Mapping[str, object], rates=(), *, ax: Axes | None = None) -> Axes:
    """Temperature against the success rate that was drawn, a line for each sampler.

    samplers: name -> a `ptgs.PTGS`; rates: draws to mark on the first line, in the colours of
    `plot_posteriors`.
    """
    ax = ax or plt.gca()
    p = np.linspace(0, 1, 401)
    looks = zip(["-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2))], samplers, strict=False)
    for style, name in looks:
        sampler = samplers[name]
        ax.plot(p, [sampler.heat(x) for x in p], linestyle=style, color=GREY, label=name)
    first = next(iter(samplers.values()))
    for rate, colour in zip(rates, shades_of(list(rates)).values(), strict=True):
        ax.plot(rate, first.heat(rate), "o", color=colour, markeredgecolor="white", zorder=3)
    ax.axhline(first.t_ref, color=GREY, linewidth=0.8, linestyle=":")
    _heat_axis(ax.yaxis)
    ax.set(xlim=(0, 1), ylim=(0.62, 1.6), xlabel="success rate drawn", ylabel="temperature")
    ax.legend(loc="upper right")
    return ax


def plot_temperature_ranges(sampler, tasks: Iterable[str], *, ax: Axes | None = None) -> Axes:
    """Which temperatures a task may get: median, middle half (thick), and 90 % of the draws.

    Exact: temperature falls with the rate, so its quantiles are those of the posterior.
    """
    ax = ax or plt.gca()
    tasks = list(tasks)
    for y, (task, colour) in enumerate(shades_of(tasks).items()):
        density = stats.beta(*sampler.posterior(task))
        low, first, middle, third, high = (
            sampler.heat(float(density.ppf(q))) for q in (0.95, 0.75, 0.5, 0.25, 0.05)
        )
        ax.hlines(y, low, high, color=colour, linewidth=1.6)
        ax.hlines(y, first, third, color=colour, linewidth=6)
        ax.plot(middle, y, "o", color="white", markeredgecolor=colour, markersize=6, zorder=3)
    ax.axvline(sampler.t_ref, color=GREY, linewidth=0.8, linestyle=":")
    _rows(ax, tasks)
    _heat_axis(ax.xaxis)
    ax.set(xlim=(0.62, 1.6), xlabel="temperature of its next group")
    return ax


def _heat_axis(axis) -> None:
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    ticks = [0.6, 0.8, 1.0, 1.2, 1.4, 1.6]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels([f"{tick:g}" for tick in ticks])


# --------------------------------------------------------------------------------- training runs


def plot_training(steps, measure: str, *, window: int = 20, ax: Axes | None = None) -> Axes:
    """A measure of the step log against steps: mean over seeds of each arm, and all seeds' range.

    steps: rows of `lab.results.read("steps")`, of one algorithm. Runs are first smoothed, a mean
    over the last `window` steps, half of all steps at most. `measure` "temperature" shows the mean
    over the groups of a step; its band reaches from the coldest to the hottest group, means over
    seeds.
    """
    ax = ax or plt.gca()
    if not len(steps):
        return not_run(ax)
    warm = measure == "temperature"
    window = max(1, min(window, steps["step"].max() // 2))
    columns = [f"temperature_{end}" for end in ("mean", "min", "max")] if warm else [measure]
    for arm in _present(steps["sampler"]):
        part = steps[steps["sampler"] == arm]
        smooth = [
            part.pivot(index="step", columns="seed", values=column)
            .rolling(window, min_periods=min(window, 5))
            .mean()
            for column in columns
        ]
        middle = smooth[0].mean(axis=1)
        low, high = (
            (end.mean(axis=1) for end in smooth[1:])
            if warm
            else (smooth[0].min(axis=1), smooth[0].max(axis=1))
        )
        _, colour, style, _ = METHODS[arm]
        ax.fill_between(middle.index, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(middle.index, middle, color=colour, linestyle=style)
    ax.set(xlim=(0, steps["step"].max()), xlabel="step")
    return ax


def plot_method_coverage(curves, *, ax: Axes | None = None) -> Axes:
    """Mean pass@k against k: the base, and each arm as mean and range over its seeds.

    curves: as `lab.results.curves` makes them, of one world, size, algorithm and rate.
    """
    ax = ax or plt.gca()
    if not len(curves):
        return not_run(ax)
    for arm in _present(curves["sampler"]):
        part = curves[curves["sampler"] == arm]
        wide = part.pivot(index="k", columns="seed", values="coverage")
        _, colour, style, _ = METHODS[arm]
        ax.fill_between(wide.index, wide.min(axis=1), wide.max(axis=1), color=colour, alpha=0.15,
                        linewidth=0)  # fmt: skip
        ax.plot(wide.index, wide.mean(axis=1), color=colour, linestyle=style)
    budget_axis(ax, int(curves["k"].max()))
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_ylabel("coverage: pass@k")
    return ax


def plot_seeds(scores, measure: str, *, base: float | None = None, ax: Axes | None = None) -> Axes:
    """A measure of each run, arm by arm; a seed's runs are joined, a bar is the mean of an arm.

    scores: as `lab.results.scores` makes them, of one cell.  base: the base's own, as a line.
    """
    ax = ax or plt.gca()
    arms = _present(scores["sampler"])
    if not arms:
        return not_run(ax)
    wide = scores.pivot(index="seed", columns="sampler", values=measure)[arms]
    for _, seed in wide.iterrows():
        ax.plot(range(len(arms)), seed, color=GREY, linewidth=0.6, alpha=0.6, zorder=1)
    for x, arm in enumerate(arms):
        _, colour, _, mark = METHODS[arm]
        ax.plot(
            [x] * len(wide), wide[arm], linestyle="", marker=mark, color=colour,
            markeredgecolor="white", markersize=7, zorder=3,
        )  # fmt: skip
        ax.hlines(wide[arm].mean(), x - 0.28, x + 0.28, color=colour, linewidth=2.2, zorder=2)
    if base is not None:
        ax.axhline(base, color=COLOURS["base"], linewidth=1.2)
    ax.set_xticks(range(len(arms)), [arm.upper() if arm == "ptgs" else arm for arm in arms])
    ax.set(xlim=(-0.5, len(arms) - 0.5), ylabel=measure)
    ax.margins(y=0.12)
    return ax


def plot_cooling(bases, runs, K: int, *, ax: Axes | None = None) -> Axes:
    """Coverage against accuracy: the base from cold to hot, joined, and every run of each arm.

    bases: as `lab.results.base_scores` makes them, of one world and size.  runs: `scores` of one
    temperature. What lies below and left of the base's line, cooling alone would have given.
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
    for arm in _present(runs["sampler"]):
        _, colour, _, mark = METHODS[arm]
        part = runs[runs["sampler"] == arm]
        ax.plot(
            part["pass@1"], part[last], linestyle="", marker=mark, color=colour,
            markeredgecolor="white", markersize=7,
        )  # fmt: skip
    ax.set(xlabel="accuracy: pass@1", ylabel=f"coverage: {last}")
    ax.margins(x=0.1, y=0.14)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    return ax


def plot_differences(rows, *, ax: Axes | None = None) -> Axes:
    """PTGS minus other arms with 95 % t-intervals over seeds: cells as rows, other arms as marks.

    rows: a DataFrame with cell, against, value, low, high.
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

    scores: of one arm, with sizes such as "0.25M".  top: where an infinite value is drawn, as an
    arrow.
    """
    ax = ax or plt.gca()
    if not len(scores):
        return not_run(ax)
    table = scores.assign(parameters=[1e6 * float(size.rstrip("M")) for size in scores["size"]])
    table["drawn"] = table[measure].clip(upper=top)
    medians = table.groupby("parameters")["drawn"].median()
    ax.plot(medians.index, medians, color=METHODS["fixed"][1], linewidth=1)
    for beyond, part in table.groupby(table[measure] > top):
        ax.plot(
            part["parameters"], part["drawn"], linestyle="", marker="^" if beyond else "o",
            color=METHODS["fixed"][1], markeredgecolor="white", markersize=7,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlim(medians.index.min() / 1.6, medians.index.max() * 1.6)
    ax.xaxis.set_major_locator(FixedLocator(list(medians.index)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{count / 1e6:g} M" for count in medians.index])
    ax.set(xlabel="parameters; line: medians", ylabel=measure)
    return ax


def plot_pilots(pilots, *, ax: Axes | None = None) -> Axes:
    """Coverage of a frozen policy against all rollouts spent on a task, pilots among them.

    pilots: rows of `lab.results.read("pilots")` of one world and policy; mean and range of seeds.
    """
    ax = ax or plt.gca()
    if not len(pilots):
        return not_run(ax)
    looks = {"fixed": METHODS["fixed"], "matched": METHODS["yoked"], "ptgs": METHODS["ptgs"]}
    names = {"fixed": "fixed T", "matched": "fixed at PTGS's mean", "ptgs": "PTGS from pilots"}
    for method, (_, colour, style, mark) in looks.items():
        part = pilots[pilots["method"] == method]
        wide = part.pivot(index="total", columns="seed", values="coverage")
        ax.fill_between(wide.index, wide.min(axis=1), wide.max(axis=1), color=colour, alpha=0.15,
                        linewidth=0)  # fmt: skip
        ax.plot(wide.index, wide.mean(axis=1), color=colour, linestyle=style, marker=mark,
                markersize=5, label=names[method])  # fmt: skip
    ax.set_xscale("log", base=2)
    ticks = sorted(pilots["total"].unique())
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([str(tick) for tick in ticks])
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set(xlabel="rollouts a task, pilots counted", ylabel="tasks solved at least once")
    ax.legend(loc="lower right")
    return ax
