"""Pictures of scores for steps: how well selectors choose and discriminate, single transcripts."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from lib.plotting.style import COLOURS, GREY, LABELS, budget_axis, intervals, not_run

SELECTORS = {
    "progress advantage": ("#c8502d", "-"),
    "policy log-prob": ("#1d4e89", (0, (5, 1.5))),
    "reference log-prob": ("#7aa6c2", (0, (4, 1.2, 1, 1.2))),
    "self-certainty": ("#9a5bb0", (0, (1, 1.2))),
    "minus turns": ("#12806f", (0, (3, 1, 1, 1, 1, 1))),
    "reward model": ("#c9a227", (0, (6, 1, 2, 1))),
}
"""Selector -> colour and line style, the same in all pictures."""


def plot_selection(selections: Mapping[str, object], *, ax: Axes | None = None) -> Axes:
    """Success of the best of k by each selector, with bands, between pass^k and pass@k.

    selections: name of a selector, as in `SELECTORS` -> `metrics.Selection`.
    """
    ax = ax or plt.gca()
    if not selections:
        return not_run(ax)
    first = next(iter(selections.values()))
    ks = first.ks
    ax.fill_between(ks, first.consistency.value, first.coverage.value, color=GREY, alpha=0.08, lw=0)
    for band, name in ((first.coverage, "pass@k"), (first.consistency, "pass^k")):
        ax.plot(ks, band.value, color=GREY, lw=1.1)
        ax.annotate(name, (ks[-1], band.value[-1]), (3, 0), textcoords="offset points",
                    fontsize=7, color=GREY, va="center")  # fmt: skip
    ax.plot(ks, first.accuracy.value, color=GREY, lw=0.9, ls=":")
    for name, selection in selections.items():
        colour, style = SELECTORS[name]
        success = selection.success
        ax.plot(ks, success.value, color=colour, linestyle=style, label=name)
        if name in ("progress advantage", "reward model"):
            ax.fill_between(ks, success.low, success.high, color=colour, alpha=0.15, lw=0)
    budget_axis(ax, int(ks[-1]))
    ax.set(ylim=(-0.02, 1.02), ylabel="success of the best of k")
    return ax


def selector_legend(figure, names: Sequence[str]) -> None:
    """One legend of the selectors for the whole figure, below it."""
    handles = [
        plt.Line2D([], [], color=SELECTORS[name][0], linestyle=SELECTORS[name][1], label=name)
        for name in names
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6))


def plot_aggregations(grid, *, middle: float, ax: Axes | None = None) -> Axes:
    """A coloured table of a number by token aggregation and step aggregation, with its values.

    grid: a DataFrame, token aggregations as rows and step aggregations as columns.  middle: the
    value without colour, that of a score worth nothing.
    """
    ax = ax or plt.gca()
    values = grid.to_numpy(float)
    reach = max(np.nanmax(np.abs(values - middle)), 1e-6)
    norm = TwoSlopeNorm(middle, middle - reach, middle + reach)
    ax.imshow(values, cmap="RdBu", norm=norm, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        dark = abs(value - middle) > 0.6 * reach
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7,
                color="white" if dark else "black")  # fmt: skip
    ax.set_xticks(range(grid.shape[1]), grid.columns, rotation=30, ha="right")
    ax.set_yticks(range(grid.shape[0]), grid.index)
    ax.set(xlabel="over the steps", ylabel="over a step's tokens")
    ax.tick_params(length=0)
    return ax


def plot_auroc(rows, *, ax: Axes | None = None) -> Axes:
    """AUROC with 95 % intervals: selectors as rows, ways to compare attempts as marks.

    rows: a DataFrame with selector, compared (the way to compare), value, low, high.
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    intervals(rows, "selector", "compared", ax)
    ax.axvline(0.5, color=GREY, linewidth=0.8)
    ax.set(xlabel="AUROC", xlim=(0, 1))
    return ax


def plot_early(rows, *, ax: Axes | None = None) -> Axes:
    """AUROC after each turn among episodes still running, a line a step score, with bands.

    rows: a DataFrame with selector, turn, running, value, low, high, of one way to compare.
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    for name, part in rows.groupby("selector", sort=False):
        colour, style = SELECTORS[name]
        ax.plot(part["turn"], part["value"], color=colour, linestyle=style, marker="o", ms=3)
        ax.fill_between(part["turn"], part["low"], part["high"], color=colour, alpha=0.12, lw=0)
    turns = rows.drop_duplicates("turn")
    ax.set_xticks(
        turns["turn"], [f"{t}\n{n}" for t, n in zip(turns["turn"], turns["running"], strict=True)]
    )
    ax.axhline(0.5, color=GREY, linewidth=0.8)
    ax.set(ylim=(0, 1), xlabel="after turn / episodes still running", ylabel="AUROC")
    return ax


def plot_transcript(
    steps: Sequence[Mapping], column: str, *, reach: float, ax: Axes | None = None
) -> Axes:
    """The words of each step over the colour of their score; at the right the mean of the step.

    steps: a mapping a step, with its "words" and, in `column`, a score for each of them.  reach:
    the score of the deepest colour; colours go from -reach to reach.
    """
    ax = ax or plt.gca()
    norm = TwoSlopeNorm(0, -reach, reach)
    colours = plt.get_cmap("RdBu")
    widest = max(len(step["words"]) for step in steps)
    for row, step in enumerate(steps):
        cells = [*zip(step["words"], step[column], range(widest), strict=False)]
        cells.append((f"{np.mean(step[column]):+.2f}", np.mean(step[column]), widest + 0.4))
        for word, value, place in cells:
            ax.add_patch(plt.Rectangle((place, row), 1, 0.86, color=colours(norm(value)), lw=0))
            ax.text(place + 0.5, row + 0.43, word, ha="center", va="center", fontsize=7,
                    color="white" if abs(value) > 0.65 * reach else "black")  # fmt: skip
    ax.set(xlim=(0, widest + 1.5), ylim=(len(steps), -0.1), xticks=[])
    ax.set_yticks(np.arange(len(steps)) + 0.43, [f"step {i + 1}" for i in range(len(steps))])
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def plot_attribution(rows, *, measure: str = "accuracy", ax: Axes | None = None) -> Axes:
    """A measure of attribution with 95 % intervals: scorers as rows, prediction rules as marks.

    rows: a DataFrame with scorer, rule, `measure`, and its ends in columns of the same name with
    `_low` and `_high`.  measure: "accuracy", a share of failures, or "distance", in steps.
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    ends = {measure: "value", f"{measure}_low": "low", f"{measure}_high": "high"}
    intervals(rows.drop(columns=["value", "low", "high"], errors="ignore").rename(columns=ends),
              "scorer", "rule", ax)  # fmt: skip
    ax.set_xlabel("share of decisive steps named" if measure == "accuracy" else "steps off, mean")
    return ax


def plot_deployable(pair: Mapping[str, Mapping], *, ax: Axes | None = None) -> Axes:
    """Best of k by progress advantage on the attempts of either model, beside pass@k and pass^k.

    pair: "base" and "post-trained", the model that made the attempts -> selector ->
    `metrics.Selection`. What is not there is not drawn.
    """
    ax = ax or plt.gca()
    if not pair:
        return not_run(ax)
    for arm, name in LABELS.items():
        if name not in pair:
            continue
        ours = pair[name]["progress advantage"]
        ks, colour, success = ours.ks, COLOURS[arm], ours.success
        ax.plot(ks, success.value, color=colour, lw=2, label=f"{name}: best of k")
        ax.fill_between(ks, success.low, success.high, color=colour, alpha=0.15, lw=0)
        for what, band, look in (
            ("pass@k", ours.coverage, {"lw": 1.1, "ls": (0, (5, 1.5))}),
            ("pass@1", ours.accuracy, {"lw": 0.9, "ls": ":"}),
            ("pass^k", ours.consistency, {"lw": 1.1, "ls": (0, (4, 1.2, 1, 1.2))}),
        ):
            ax.plot(ks, band.value, color=colour, label=f"{name}: {what}", **look)
    budget_axis(ax, int(ks[-1]))
    ax.set(ylim=(-0.02, 1.02), ylabel="success")
    return ax
