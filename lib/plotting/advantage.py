"""Pictures of scores for steps: how well selectors choose and discriminate, single transcripts."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from lib.plotting.style import (
    COLOURS,
    GREY,
    LABELS,
    budget_axis,
    end_labels,
    intervals,
    not_run,
)

SELECTORS = {
    "progress advantage": ("#b3123f", "-", "o"),
    "policy log-prob": ("#2b2b2b", (0, (5, 1.5)), "s"),
    "reference log-prob": ("#7a4b1e", (0, (4, 1.2, 1, 1.2)), "^"),
    "self-certainty": ("#4fb0d8", (0, (1, 1.2)), "v"),
    "minus turns": ("#8fae1b", (0, (3, 1, 1, 1, 1, 1)), "P"),
    "reward model": ("#e06bb0", (0, (6, 1, 2, 1)), "D"),
}
"""Selector -> colour, line style and mark, the same in all pictures, and of nothing else."""


def plot_selection(
    selections: Mapping[str, object], *, labels: bool = True, ax: Axes | None = None
) -> Axes:
    """Success of the best of k by each selector, between pass^k and pass@k.

    selections: name of a selector, as in `SELECTORS` -> `metrics.Selection`; progress advantage has
    its band.  labels: name the lines at their right ends.
    """
    ax = ax or plt.gca()
    if not selections:
        return not_run(ax)
    first = next(iter(selections.values()))
    ks = first.ks
    ax.fill_between(ks, first.consistency.value, first.coverage.value, color=GREY, alpha=0.08, lw=0)
    named = []
    limits = (("pass@k", first.coverage), ("pass@1", first.accuracy), ("pass^k", first.consistency))
    for name, band in limits:
        ax.plot(ks, band.value, color=GREY, lw=0.9, ls=":" if name == "pass@1" else "-")
        named += [(band.value[-1], name, GREY)] * (name != "pass^k")
    marked = [place for place, k in enumerate(ks) if k in 2 ** np.arange(16) or k == ks[-1]]
    for name, selection in selections.items():
        colour, style, mark = SELECTORS[name]
        success = selection.success
        ax.plot(ks, success.value, color=colour, linestyle=style, marker=mark, ms=4, label=name,
                markevery=marked, markeredgecolor="white", mew=0.5)  # fmt: skip
        if name == "progress advantage":
            ax.fill_between(ks, success.low, success.high, color=colour, alpha=0.15, lw=0)
        named.append((success.value[-1], name, colour))
    budget_axis(ax, int(ks[-1]))
    ax.set(ylim=(-0.02, 1.02), ylabel="success of the best of k")
    if labels:
        end_labels(ax, ks[-1], named)
    return ax


def selector_legend(figure, names: Sequence[str]) -> None:
    """One legend of the selectors for the whole figure, below it."""
    handles = [
        plt.Line2D([], [], color=colour, linestyle=style, marker=mark, ms=4, label=name)
        for name, (colour, style, mark) in SELECTORS.items()
        if name in names
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6))


def plot_aggregations(
    grid,
    *,
    middle: float,
    reach: float | None = None,
    marked: tuple[str, str] | None = None,
    colour_bar: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A coloured table of a number by token aggregation and step aggregation, with its values.

    grid: a DataFrame, token aggregations as rows and step aggregations as columns.
    middle: the value without colour, that of a score worth nothing; around 0 values have a sign.
    reach: how far from it colours go, to the furthest value if None.
    marked: row and column of a cell that gets a frame.
    colour_bar: the label of a colour bar, which is drawn if it is given.
    """
    ax = ax or plt.gca()
    values = grid.to_numpy(float)
    reach = reach or max(np.nanmax(np.abs(values - middle)), 1e-6)
    norm = TwoSlopeNorm(middle, middle - reach, middle + reach)
    image = ax.imshow(values, cmap="RdBu", norm=norm, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        dark = abs(value - middle) > 0.6 * reach
        text = f"{value:.2f}" if middle else f"{value:+.2f}"
        ax.text(column, row, text, ha="center", va="center", fontsize=7,
                color="white" if dark else "black")  # fmt: skip
    if marked is not None:
        row, column = list(grid.index).index(marked[0]), list(grid.columns).index(marked[1])
        ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, lw=2, zorder=3,
                                   edgecolor="black", clip_on=False))  # fmt: skip
    if colour_bar is not None:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.9)
        bar.set_label(colour_bar)
        bar.ax.axhline(middle, color="black", lw=1)
    ax.set_xticks(range(grid.shape[1]), grid.columns, rotation=30, ha="right")
    ax.set_yticks(range(grid.shape[0]), grid.index)
    ax.set(xlabel="over the steps", ylabel="over a step's tokens")
    ax.tick_params(length=0)
    return ax


def plot_auroc_leads(rows, *, ax: Axes | None = None) -> Axes:
    """AUROC of progress advantage minus that of each baseline, with 95 % intervals.

    rows: a DataFrame with selector (the baseline), compared (the way to compare attempts, as
    marks), value, low, high.
    """
    ax = ax or plt.gca()
    rows = rows[rows["value"].notna()]
    if not len(rows):
        return not_run(ax)
    intervals(rows, "selector", "compared", ax)
    ax.axvline(0, color=GREY, linewidth=0.9, zorder=0)
    left, right = (
        "\N{LEFTWARDS ARROW} baseline better",
        "progress advantage better \N{RIGHTWARDS ARROW}",
    )
    ax.set(xlim=(-1, 1), xticks=[-1, -0.5, 0, 0.5, 1])
    ax.set_xlabel(f"{left}      {right}\ndifference in AUROC", fontsize=8)
    return ax


def plot_early(rows, *, ax: Axes | None = None) -> Axes:
    """AUROC after each turn among episodes still running, a line a step score, with bands.

    rows: a DataFrame with selector, turn, running, value, low, high, of one way to compare.
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    for name, part in rows.groupby("selector", sort=False):
        colour, style, mark = SELECTORS[name]
        ax.plot(part["turn"], part["value"], color=colour, linestyle=style, marker=mark, ms=4)
        ax.fill_between(part["turn"], part["low"], part["high"], color=colour, alpha=0.12, lw=0)
    turns = rows.drop_duplicates("turn")
    ax.set_xticks(
        turns["turn"], [f"{t}\n{n}" for t, n in zip(turns["turn"], turns["running"], strict=True)]
    )
    ax.axhline(0.5, color=GREY, linewidth=0.8)
    ax.set(ylim=(0, 1), xlabel="after turn / episodes still running", ylabel="AUROC")
    return ax


def plot_transcript(
    steps: Sequence[Mapping],
    column: str,
    *,
    reach: float,
    beside: Sequence[str] = (),
    boards: Sequence[Mapping] = (),
    ax: Axes | None = None,
) -> Axes:
    """The words of each step over the colour of their score; at the right the mean of the step.

    steps: a mapping a step, with its "words" and, in `column` and in those of `beside`, a score for
    each of them. Words are left out where there is no room for them.
    reach: the score of the deepest colour; colours go from -reach to reach.
    beside: columns whose means stand at the right too.
    boards: what each step saw, as `plot_board` takes it; drawn at the left.
    """
    ax = ax or plt.gca()
    norm = TwoSlopeNorm(0, -reach, reach)
    colours = plt.get_cmap("RdBu")
    steps = steps[:MOST_STEPS]
    widest = max(len(step["words"]) for step in steps)
    room = min(1.0, 9 / widest)  # of a token, where a word is as wide as 1
    end, means = widest * room + 0.3, (column, *beside)
    for row, step in enumerate(steps):
        cells = [
            (word if room == 1 else "", value, place * room, room)
            for place, (word, value) in enumerate(zip(step["words"], step[column], strict=True))
        ]
        cells.append((f"{np.mean(step[column]):+.2f}", np.mean(step[column]), end, 1))
        for word, value, place, width in cells:
            ax.add_patch(plt.Rectangle((place, row), width, 0.86, color=colours(norm(value)), lw=0))
            ax.text(place + width / 2, row + 0.43, word, ha="center", va="center", fontsize=7,
                    color="white" if abs(value) > 0.65 * reach else "black")  # fmt: skip
        for place, name in enumerate(beside, 1):
            ax.text(end + 1.5 * place + 0.5, row + 0.43, f"{np.mean(step[name]):+.2f}",
                    ha="center", va="center", fontsize=7)  # fmt: skip
    for place, name in enumerate(means):
        ax.text(end + 1.5 * place + 0.5, -0.12, name.replace(" ", "\n") + "\n(mean)", ha="center",
                va="bottom", fontsize=7, color=GREY)  # fmt: skip
    left = -1.3 if len(boards) else 0
    width, height = end + 1.5 * len(means) - 0.4 - left, len(steps) + 0.1
    ax.set(xlim=(left, left + width), ylim=(len(steps), -0.1), xticks=[])
    for row, board in enumerate(boards[: len(steps)]):
        box = [0, (len(steps) - row - 0.86) / height, 1.1 / width, 0.86 / height]
        plot_board(board, ax=ax.inset_axes(box))
    ax.set_yticks(np.arange(len(steps)) + 0.43, [f"step {i + 1}" for i in range(len(steps))])
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


MOST_STEPS = 12
"""Steps of an attempt that its transcript shows."""


def plot_board(board: Mapping, *, ax: Axes | None = None) -> Axes:
    """A square room: walls black, the box a square, the goal a cross, the player a disc.

    board: "size", cells a side, and the cells of "player", "box", "goal" and "walls" (a sequence),
    numbered row by row from the top left.
    """
    ax = ax or plt.gca()
    size = board["size"]
    for cell in board["walls"]:
        row, column = divmod(cell, size)
        ax.add_patch(plt.Rectangle((column, row), 1, 1, color="#222222", lw=0))
    marks = {"goal": ("x", "#12806f"), "box": ("s", "#a0703c"), "player": ("o", "#2b2b2b")}
    for thing, (mark, colour) in marks.items():
        row, column = divmod(board[thing], size)
        ax.plot(
            column + 0.5, row + 0.5, mark, color=colour, ms=5.5 if thing == "box" else 4.5, mew=1.5
        )
    ax.set(xlim=(0, size), ylim=(size, 0), xticks=[], yticks=[], aspect="equal")
    for side in ax.spines.values():
        side.set(visible=True, color=GREY, linewidth=0.7)
    return ax


def plot_deployable(pair: Mapping[str, Mapping], *, ax: Axes | None = None) -> Axes:
    """Best of k by progress advantage on the attempts of either model, below its pass@k.

    pair: "base" and "post-trained", or another name of what made the attempts -> selector ->
    `metrics.Selection`. The shaded part is what stays on the table.
    """
    ax = ax or plt.gca()
    if not pair:
        return not_run(ax)
    arms = {name: arm for arm, name in LABELS.items()}
    colours = {name: COLOURS[arms[name]] if name in arms else OTHER_MAKER for name in pair}
    named = []
    for name, selections in pair.items():
        ours, colour = selections["progress advantage"], colours[name]
        ks, success, coverage = ours.ks, ours.success, ours.coverage
        mark = "o" if arms.get(name) == "base" else "s"
        every = [place for place, k in enumerate(ks) if k in 2 ** np.arange(16) or k == ks[-1]]
        ax.plot(ks, success.value, color=colour, lw=2.2, marker=mark, ms=5, markevery=every,
                label=f"{name}: best of k")  # fmt: skip
        ax.fill_between(ks, success.low, success.high, color=colour, alpha=0.18, lw=0)
        ax.plot(ks, coverage.value, color=colour, lw=1.2, ls=(0, (5, 1.5)), label=f"{name}: pass@k")
        ax.plot(ks, ours.accuracy.value, color=colour, lw=0.9, ls=":", label=f"{name}: pass@1")
        lines = (("pass@", coverage), ("best of ", success))
        named += [(band.value[-1], f"{name}: {what}{ks[-1]}, {band.value[-1]:.0%}", colour)
                  for what, band in lines]  # fmt: skip
        named.append(
            (ours.accuracy.value[-1], f"{name}: one attempt, {ours.accuracy.value[-1]:.0%}", colour)
        )
    budget_axis(ax, int(ks[-1]))
    ax.set(ylim=(-0.02, 1.02), ylabel="share of tasks solved")
    end_labels(ax, ks[-1], named)
    return ax


OTHER_MAKER = "#4a4a4a"
"""The colour of attempts that neither a base nor what was post-trained from it made."""
