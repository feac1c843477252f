"""Curves of base and post-trained models: coverage, consistency, crossover, area."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from lib.plotting.style import (
    COLOURS,
    GREY,
    LABELS,
    STYLES,
    budget_axis,
    note,
)


def plot_coverage(tax, *, ends: bool = False, ax: Axes | None = None) -> Axes:
    """Mean pass@k of both arms against k, 95 % bands, and the crossover with its interval.

    tax: a `metrics.SharpeningTax`.  ends: whether both ends of both curves show their numbers.
    """
    ax = _two_arms(tax.coverage_base, tax.coverage_post, ax)
    ax.set_ylabel("coverage: pass@k")
    _mark_crossover(tax.crossover, tax.coverage_base.value, ax)
    if ends:
        _number_ends(ax, tax.coverage_base.value, tax.coverage_post.value)
    return ax


def plot_consistency(tax, *, ax: Axes | None = None) -> Axes:
    """Mean pass^k of both arms against k with 95 % bands.  tax: a `metrics.SharpeningTax`."""
    ax = _two_arms(tax.consistency_base, tax.consistency_post, ax)
    ax.set_ylabel("consistency: pass^k")
    return ax


def _two_arms(base, post, ax) -> Axes:
    ax = ax or plt.gca()
    k = np.arange(1, len(base.value) + 1)
    for arm, band in (("base", base), ("post", post)):
        ax.fill_between(k, band.low, band.high, color=COLOURS[arm], alpha=0.18, linewidth=0)
        ax.plot(k, band.value, color=COLOURS[arm], linestyle=STYLES[arm])
    _label_ends(ax, {"base": base.value[-1], "post": post.value[-1]}, k[-1])
    budget_axis(ax, k[-1])
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    return ax


def _label_ends(ax, ends, x, apart=0.09) -> None:
    """Name both lines at their right end, pushed apart where they would overlap."""
    low, high = sorted(ends, key=ends.get)
    push = max(0.0, apart - (ends[high] - ends[low])) / 2
    y_low = float(np.clip(ends[low] - push, 0.02, 0.98 - apart))
    y_high = float(np.clip(ends[high] + push, y_low + apart, 0.98))
    for arm, y in ((low, y_low), (high, y_high)):
        ax.annotate(
            LABELS[arm],
            (x, y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[arm],
            fontsize=8,
            annotation_clip=False,
        )


def _number_ends(ax, base, post) -> None:
    """Both arms' first and last value, the higher one above its curve, the lower one below."""
    K = len(base)
    for arm, values, others in (("base", base, post), ("post", post, base)):
        for k in sorted({1, K}):
            value, other = values[k - 1], others[k - 1]
            above = value > other or (value == other and arm == "base")
            ax.plot(k, value, "o", color=COLOURS[arm], clip_on=False, zorder=4)
            ax.annotate(
                f"{value:.0%}",
                (k, value),
                xytext=(6 if k == 1 else -6, 7 if above else -7),
                textcoords="offset points",
                ha="left" if k == 1 else "right",
                va="bottom" if above else "top",
                color=COLOURS[arm],
                fontweight="bold",
                annotation_clip=False,
            )


def _mark_crossover(crossover, base, ax) -> None:
    K = len(base)
    foot = 0.04
    # The interval lies along the bottom; an arrow at the right edge stands for "not within K".
    low, high = min(crossover.low, K), min(crossover.high, K)
    if np.isfinite(crossover.low):
        ax.plot([low, high], [foot, foot], color=GREY, linewidth=2.5, solid_capstyle="butt")
        if np.isinf(crossover.high):
            ax.plot(K, foot, marker=">", color=GREY, markersize=6, clip_on=False)
    if np.isfinite(crossover.value):
        k = int(crossover.value)
        ax.plot([k, k], [foot, base[k - 1]], color=GREY, linewidth=0.8, linestyle=":")
        ax.plot(k, base[k - 1], marker="o", color="white", markeredgecolor=GREY, markersize=5)
        text, x = f"k* = {k}", k
    else:
        text, x = f"no crossover within {K}", K
    right = x > np.sqrt(K)
    ax.annotate(
        text,
        (x, foot),
        xytext=(-4 if right else 4, 5),
        textcoords="offset points",
        ha="right" if right else "left",
        fontsize=8,
        color=GREY,
    )


def plot_success_rates(base, post, *, ax: Axes | None = None, bins: int = 8) -> Axes:
    """How many tasks succeed how often: never, in each of `bins` ranges of c/n, always.

    base, post: `metrics.Counts`. The outer bars are the tasks with exactly 0 and exactly n
    successes in n rollouts.
    """
    ax = ax or plt.gca()
    sometimes = []
    for offset, (arm, cell) in zip((-0.2, 0.2), (("base", base), ("post", post)), strict=True):
        c, n = np.asarray(cell.c), np.asarray(cell.n)
        weight = np.ones(len(c)) if cell.tasks is None else np.asarray(cell.tasks)
        inside = (c > 0) & (c < n)
        middle, _ = np.histogram(c[inside] / n[inside], bins, (0, 1), weights=weight[inside])
        share = np.r_[weight[c == 0].sum(), middle, weight[c == n].sum()] / weight.sum()
        x = np.r_[0, np.arange(bins) + 1.5, bins + 2]
        ax.bar(x + offset, share, width=0.4, color=COLOURS[arm], label=LABELS[arm])
        sometimes.append(share[1:-1].sum())
    edges = [f"{i / bins:.0%}" if i % 2 == 0 and 0 < i < bins else "" for i in range(bins + 1)]
    ax.set_xticks([0, *(np.arange(bins + 1) + 1.0), bins + 2], ["never", *edges, "always"])
    summary = "sometimes: {:.0%} of tasks (base), {:.0%} (post)".format(*sometimes)
    highest = max(bar.get_height() for bar in ax.patches)
    ax.set_ylim(0, max(1.18 * highest, ax.get_ylim()[1]))  # no bar reaches the text above
    ax.text(
        0.99, 0.98, summary, transform=ax.transAxes, ha="right", va="top", fontsize=7, color=GREY
    )
    ax.set_xlabel("successes among the rollouts of a task")
    ax.set_ylabel("share of tasks")
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return ax


def plot_area(curve: Sequence[float], *, ax: Axes | None = None, arm: str = "base") -> Axes:
    """The definition of A and S as areas under a coverage curve.

    curve: [K], pass@k for k = 1..K. The shaded area between the curve and its last value is
    A(K); the frame above pass@1 is the most that A(K) could be; S(K) is A(K) as a share of it.
    """
    ax = ax or plt.gca()
    curve = np.asarray(curve, float)
    K, top = len(curve), curve[-1]
    k = np.arange(1, K + 1)
    A = float(np.sum(top - curve))
    frame = (K - 1) * (1 - curve[0])
    ax.fill_between(k, curve, top, step="post", color=COLOURS[arm], alpha=0.3, linewidth=0)
    ax.plot(k, curve, color=COLOURS[arm], drawstyle="steps-post")
    ax.plot([1, K], [top, top], color=COLOURS[arm], linewidth=0.8, linestyle=":")
    corner, width, room = (1, curve[0]), K - 1, 1 - curve[0]
    ax.add_patch(plt.Rectangle(corner, width, room, fill=False, color=GREY, clip_on=False))
    share = f"{A / frame:.4f}" if frame > 0 else "undefined"
    note(ax, f"A = {A:.2f}, shaded   frame = {frame:.1f}   S = A / frame = {share}")
    ax.set(xlim=(1, max(K, 2)), ylim=(0, 1.0), xlabel="attempts k", ylabel="coverage: pass@k")
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xticks(np.unique(np.linspace(1, K, 5).round()))
    return ax
