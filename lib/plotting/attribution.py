"""Pictures of failure attribution: which step lost an attempt, and who names it."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lib.plotting.style import GREY, apart, intervals, not_run, within

GUESS = "no score"
"""The rule of rows that are guesses."""


def plot_decisive(
    steps: Sequence[float], *, last: int | None = None, ax: Axes | None = None
) -> Axes:
    """The share of failures that each step decided, with its number above each bar.

    steps: the decisive step of each attempt, counted from 0; NaN for none.  last: the number of
    steps shown, up to the last decisive one if None.
    """
    ax = ax or plt.gca()
    steps = np.asarray(steps, float)
    steps = steps[~np.isnan(steps)].astype(int)
    if not len(steps):
        return not_run(ax)
    shares = np.bincount(steps, minlength=last or 0) / len(steps)
    bars = ax.bar(np.arange(len(shares)) + 1, shares, color="#9a9a9a")
    bars[int(shares.argmax())].set_color("#3d3d3d")
    ax.bar_label(bars, [f"{share:.0%}" for share in shares], fontsize=8, padding=1)
    ax.margins(y=0.12)
    ax.set(xlabel="decisive step", ylabel="share of failures", xticks=np.arange(len(shares)) + 1)
    return ax


def plot_attribution(rows, *, measure: str = "accuracy", ax: Axes | None = None) -> Axes:
    """A measure of attribution with 95 % intervals: scorers as rows, guesses as lines across.

    rows: a DataFrame with scorer, rule (`GUESS` for guesses), `measure`, and its ends in columns of
    the same name with `_low` and `_high`.  measure: "accuracy", a share of failures, or "distance",
    in steps. The best guess has a thicker line.
    """
    ax = ax or plt.gca()
    if not len(rows):
        return not_run(ax)
    ends = {measure: "value", f"{measure}_low": "low", f"{measure}_high": "high"}
    rows = rows.drop(columns=["value", "low", "high"], errors="ignore").rename(columns=ends)
    scores = rows[(rows["rule"] != GUESS) & rows["value"].notna()]
    guesses = rows[(rows["rule"] == GUESS) & rows["value"].notna()]
    if len(scores):
        intervals(scores, "scorer", "rule", ax)
    else:
        ax.text(0.5, 0.75, "no score names a step", transform=ax.transAxes, ha="center", color=GREY,
                backgroundcolor="white")  # fmt: skip
        ax.set(yticks=[], ylim=(1.5, -0.5))
    if measure == "accuracy":
        ax.set(xlabel="share of decisive steps named", xlim=(0, _top(rows)))
    else:
        ax.set(xlabel="steps off, mean", xlim=(0, None))
    if len(guesses):
        _guess_lines(ax, guesses, "max" if measure == "accuracy" else "min")
    return ax


def _top(rows) -> float:
    """The end of an axis of shares, in tenths."""
    return min(1.0, np.ceil(10 * np.nanmax(rows[["value", "high"]].to_numpy(float)) + 0.5) / 10)


def _guess_lines(ax: Axes, guesses, best: str) -> None:
    """A dotted line at each guess, its name below it, none over another; the best one thicker."""
    width, height = ax.get_window_extent().size / ax.figure.dpi  # in inches, nearly
    bottom, top = ax.get_ylim()
    room = (bottom - top) * NAMES / max(height - NAMES, 0.5)
    low, high = ax.get_xlim()
    ax.set_ylim(bottom + room, top)
    gap = 0.15 / width * (high - low)
    places = within(apart(guesses["value"].tolist(), gap), gap, low + gap / 2, high)
    best = getattr(guesses["value"], best)()
    for name, value, place in zip(guesses["scorer"], guesses["value"], places, strict=True):
        colour, thick = ("black", 1.8) if value == best else (GREY, 0.8)
        ax.plot([value, value, place], [top, bottom, bottom + 0.12 * room], color=colour, lw=thick,
                ls=(0, (2, 2)), zorder=0, label="_")  # fmt: skip
        ax.text(place, bottom + 0.16 * room, name, rotation=90, ha="center", va="top", fontsize=7,
                color=colour)  # fmt: skip


NAMES = 0.95
"""Room for the names of guesses below the scores, in inches."""
