"""Pictures of PTGS, the rule: what it believes of tasks, and the temperatures that follow."""

from collections.abc import Callable, Iterable, Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy import stats

from lib.plotting.style import GREY, fixed_ticks, shades_of

DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2)))
LIMITS, TICKS = (0.62, 1.6), (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
"""Of the axes of temperature."""


def plot_posteriors(
    posteriors: Mapping[str, tuple[float, float]],
    rates: Mapping[str, float],
    *,
    pivot: float,
    ax: Axes | None = None,
) -> Axes:
    """The density of each task's success rate, a row a task, and a draw of the rate as a dot.

    posteriors: task -> a and b of its beta distribution.  rates: task -> the draw.  pivot: the rate
    that gets the reference temperature. Each row has a scale of its own; a density that grows
    without bound is cut off.
    """
    ax = ax or plt.gca()
    p = np.linspace(0.002, 0.998, 500)
    for y, (task, colour) in enumerate(shades_of(list(rates)).items()):
        density = stats.beta(*posteriors[task]).pdf(p)
        height = 0.78 * np.minimum(density / min(density.max(), 12), 1)
        ax.fill_between(p, y - height, y, color=colour, alpha=0.35, linewidth=0)
        ax.plot(p, y - height, color=colour, linewidth=1.2)
        ax.plot(rates[task], y, "o", color=colour, markeredgecolor="white", clip_on=False, zorder=3)
    ax.axvline(pivot, color=GREY, linewidth=0.8, linestyle=":")
    ax.text(pivot + 0.02, -0.84, f"pivot {pivot:g}", fontsize=8, color=GREY)
    _rows(ax, list(rates))
    ax.set(xlim=(0, 1), xlabel="success rate of the task")
    return ax


def plot_temperature(
    rules: Mapping[str, Callable[[float], float]],
    rates: Iterable[float] = (),
    *,
    t_ref: float = 1.0,
    ax: Axes | None = None,
) -> Axes:
    """Temperature against the success rate that was drawn, a line for each of at most four rules.

    rules: name -> a function from rate to temperature.  rates: draws to mark on the first line, in
    the colours of `plot_posteriors`.  t_ref: the reference temperature, drawn as a line.
    """
    ax = ax or plt.gca()
    p = np.linspace(0, 1, 401)
    for style, (name, rule) in zip(DASHES, rules.items(), strict=False):
        ax.plot(p, [rule(x) for x in p], linestyle=style, color=GREY, label=name)
    first = next(iter(rules.values()))
    rates = list(rates)
    for rate, colour in zip(rates, shades_of(rates).values(), strict=True):
        ax.plot(rate, first(rate), "o", color=colour, markeredgecolor="white", zorder=3)
    ax.axhline(t_ref, color=GREY, linewidth=0.8, linestyle=":")
    _temperature_axis(ax.yaxis)
    ax.set(xlim=(0, 1), ylim=LIMITS, xlabel="success rate drawn", ylabel="temperature")
    ax.legend(loc="upper right")
    return ax


def plot_temperature_ranges(
    posteriors: Mapping[str, tuple[float, float]],
    rule: Callable[[float], float],
    *,
    t_ref: float = 1.0,
    ax: Axes | None = None,
) -> Axes:
    """Which temperatures a task may get: median, middle half (thick), and 90 % of the draws.

    posteriors: task -> a and b of the beta distribution of its success rate.  rule: a function from
    rate to temperature. It must fall as the rate grows: its quantiles are then exactly those of the
    posterior.  t_ref: the reference temperature, drawn as a line.
    """
    ax = ax or plt.gca()
    for y, (task, colour) in enumerate(shades_of(list(posteriors)).items()):
        density = stats.beta(*posteriors[task])
        low, first, middle, third, high = (
            rule(float(density.ppf(q))) for q in (0.95, 0.75, 0.5, 0.25, 0.05)
        )
        ax.hlines(y, low, high, color=colour, linewidth=1.6)
        ax.hlines(y, first, third, color=colour, linewidth=6)
        ax.plot(middle, y, "o", color="white", markeredgecolor=colour, markersize=6, zorder=3)
    ax.axvline(t_ref, color=GREY, linewidth=0.8, linestyle=":")
    _rows(ax, list(posteriors))
    _temperature_axis(ax.xaxis)
    ax.set(xlim=LIMITS, xlabel="temperature of its next group")
    return ax


def _rows(ax: Axes, names) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.7, -0.95)
    ax.tick_params(axis="y", length=0)


def _temperature_axis(axis) -> None:
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    fixed_ticks(axis, TICKS)
