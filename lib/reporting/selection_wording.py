"""Sentences and titles on the selection of attempts, computed from the data at hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import metrics
from lib.advantage import selection
from lib.advantage.scored_attempts import ScoredAttempts
from lib.metrics.formatting import with_interval

NEEDS_LABELS = "reward model"
"""The selector that is fitted to outcomes."""


def turns_in_words(settings: Sequence[ScoredAttempts]) -> str:
    """In which settings successes take fewer turns on average than failures, and in which more."""
    earlier, later = [], []
    for setting in settings:
        steps, passed = setting.scored.steps, setting.passed == 1
        apart = steps[passed].mean() - steps[~passed].mean() if 0 < passed.mean() < 1 else 0
        if apart:
            (earlier if apart < 0 else later).append(setting.label)
    text = f"Successes are shorter than failures in {_listed(earlier)}; longer in {_listed(later)}."
    if earlier or later:
        text += (
            " So the number of steps alone, minus turns, says something of the outcome; it is kept "
            "as a baseline, and attempts of equal length are compared too."
        )
    return text


def _listed(labels: Sequence[str]) -> str:
    return f"{len(labels)} ({', '.join(labels)})" if labels else "none"


def deployable_title(name: str, pair: Mapping[str, Mapping[str, metrics.Selection]]) -> str:
    """What the pick of the most attempts comes to, as a title in two lines.

    name: of the policy that scores.  pair: as `plotting.plot_deployable` takes it. The attempts of
    the base come first, beside one attempt of the post-trained policy.
    """
    made_by = "base" if "base" in pair else next(iter(pair))
    ours = pair[made_by][selection.PROGRESS]
    k, end = int(ours.ks[-1]), {m: getattr(ours, m).value[-1] for m in ("success", "coverage")}
    of = f" of the {_maker(made_by)}" if len(pair) > 1 else ""
    single, other = f"one attempt for {ours.accuracy.value[-1]:.0%}", pair.get("post-trained")
    if made_by == "base" and other:
        solved = other[selection.PROGRESS].accuracy.value[-1]
        single = f"one post-trained attempt for {solved:.0%}"
    return (
        f"{name}: of {_attempts(k)}{of} the pick is right for {end['success']:.0%}\n"
        f"of tasks, some attempt for {end['coverage']:.0%}; {single}"
    )


def _maker(made_by: str) -> str:
    return "post-trained policy" if made_by == "post-trained" else made_by


def _attempts(k: int) -> str:
    return f"{k} attempt" + "s" * (k != 1)


def cashed_in_words(name: str, pair: Mapping[str, Mapping[str, metrics.Selection]]) -> list[str]:
    """For each maker of attempts the share that progress advantage cashes in at the most attempts.

    Beside the best of the other selectors there, of those that need no labels and, if there is one,
    the one that does.
    """
    lines = []
    for made_by, selections in pair.items():
        ours = selections[selection.PROGRESS]
        k, bands = int(ours.ks[-1]), {}
        for selector, picked in selections.items():
            bands[selector] = metrics.Band(*(float(part[-1]) for part in picked.share))
        if np.isnan(bands[selection.PROGRESS].value):
            lines.append(f"{name}, attempts of the {_maker(made_by)}: no gain to cash in at {k}")
            continue
        text = (
            f"{name}, {_attempts(k)} of the {_maker(made_by)}: progress advantage cashes in "
            f"{with_interval(bands.pop(selection.PROGRESS), 2)} of the gain"
        )
        labelled = bands.pop(NEEDS_LABELS, None)
        if bands:
            best = max(bands, key=lambda other: bands[other].value)
            others = f"the best of {_counted(len(bands), 'other')} without labels"
            text += f"; {others}, {best}, {bands[best].value:.2f}"
        if labelled:
            text += f"; the {NEEDS_LABELS}, which needs labels, {labelled.value:.2f}"
        lines.append(text)
    return lines


def best_selector_title(selections: Mapping[str, Mapping[str, metrics.Selection]], k: int) -> str:
    """In how many settings each selector picks best of k, as a title.

    selections: label of a setting -> selector -> Selection, whose budgets have k. Differences
    within an interval count as any other; equal ones count for each.
    """
    wins: dict[str, int] = {}
    for by_name in selections.values():
        place = {name: list(picked.ks).index(k) for name, picked in by_name.items()}
        value = {name: picked.success.value[place[name]] for name, picked in by_name.items()}
        for name in value:
            wins[name] = wins.get(name, 0) + int(value[name] >= max(value.values()) - 1e-12)
    ours = wins.pop(selection.PROGRESS)
    ranked = sorted(wins.items(), key=lambda item: -item[1])
    others = [
        f"{name}{' (needs labels)' if name == NEEDS_LABELS else ''} in {number}"
        for name, number in ranked
        if number
    ]
    return ", ".join(
        [
            f"Best of {k}: progress advantage picks best in {ours} of "
            f"{_counted(len(selections), 'setting')}",
            *others,
        ]
    )


def leads_title(rows: pd.DataFrame, compared: str) -> str:
    """How many comparisons of AUROC with a baseline progress advantage wins and loses, as a title.

    rows: tables of `selection.auroc_leads` with the column `attempts`.  compared: one of the ways
    to compare attempts.
    """
    rows = rows[(rows["compared"] == compared) & rows["low"].notna()]
    ahead, behind = int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())
    every = rows.groupby("attempts")["low"].min()
    return (
        f"AUROC ({compared}): progress advantage is ahead in {ahead} of {len(rows)} comparisons "
        f"with a baseline, behind in {behind};\n"
        f"ahead of all {rows['selector'].nunique()} baselines in {int((every > 0).sum())} of "
        f"{_counted(len(every), 'setting')}"
    )


def leads_in_words(rows: pd.DataFrame, settings: Sequence[ScoredAttempts]) -> list[str]:
    """A line for each baseline: in how many settings the interval of the difference is off 0.

    rows: as in `leads_title`, of one way to compare.
    """
    return [
        f"against {baseline}: {sides_in_words(part, 0, settings)}"
        for baseline, part in rows.groupby("selector", sort=False)
    ]


def aggregations_title(name: str, grid: pd.DataFrame, fixed: tuple[str, str]) -> str:
    """The fixed aggregation beside the best and the worst, as a title.

    grid: gains over pass@1, as `plotting.plot_aggregations` takes it.  fixed: row and column.
    """
    values = {(row, column): grid.loc[row, column] for row in grid.index for column in grid}
    best = max(values, key=values.get)
    return (
        f"{name}: fixed ({', '.join(fixed)}) {values[fixed]:+.2f};\n"
        f"best ({', '.join(best)}) {values[best]:+.2f}, worst {min(values.values()):+.2f}"
    )


def halves_in_words(halves: pd.DataFrame) -> list[str]:
    """How often the chosen and the fixed aggregation gain over pass@1 on the other half.

    halves: as `selection_tables.halves_table` makes it.
    """
    return [
        f"{kind}: above pass@1 in {(rows['low'] > 0).sum()} of {len(rows)} halves, below it in "
        f"{(rows['high'] < 0).sum()}"
        for kind, rows in halves.groupby("kind", sort=False)
    ]


def early_in_words(rows: pd.DataFrame, settings: Sequence[ScoredAttempts]) -> list[str]:
    """A line for each turn: in how many settings progress advantage warns better than chance.

    rows: tables of `selection.early_table` with the column `attempts`, of one way to compare.
    """
    ours = rows[rows["selector"] == selection.PROGRESS]
    return [
        f"After turn {turn} progress advantage is {sides_in_words(part, 0.5, settings)}; it is "
        f"defined in {len(part)}"
        for turn, part in ours.groupby("turn")
    ]


def gains_in_words(gains: pd.DataFrame, k: int, sets: int) -> str:
    """The mean gain of the best of k in points and in percent of pass@1.

    gains: a table of `selection_tables.gains_table`.  sets: of attempts.
    """
    points, percent = gains[["points", "percent"]].mean()
    return (
        f"Best of {k} by progress advantage minus pass@1: {points:+.1f} points, {percent:+.1f}% "
        f"of pass@1, on average over {_counted(len(gains), 'setting')} of "
        f"{_counted(sets, 'set')} of attempts"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def in_settings(labels: Sequence[str], settings: Sequence[ScoredAttempts]) -> str:
    """How many of the settings these labels are of, and of how many sets of attempts."""
    sets = {setting.label: setting.attempt_set for setting in settings}
    different = _counted(len({sets[label] for label in labels}), "set")
    return f"{len(labels)} of {_counted(len(settings), 'setting')} ({different})"


def sides_in_words(rows: pd.DataFrame, bound: float, settings: Sequence[ScoredAttempts]) -> str:
    """In how many settings an interval lies above a half, and in how many below it.

    rows: attempts (labels of settings), low, high.  bound: a half, or another number.
    """
    sides = (rows.loc[side, "attempts"] for side in (rows["low"] > bound, rows["high"] < bound))
    above, below = (in_settings(labels, settings) for labels in sides)
    return f"above {'a half' if bound == 0.5 else bound} in {above}, below it in {below}"


def standings_in_words(
    standings: pd.DataFrame, k: int, settings: Sequence[ScoredAttempts]
) -> list[str]:
    """A sentence for each row of `selection.standings`, over these settings."""
    sets = {setting.attempt_set for setting in settings}
    return [
        f"Best of {k} by progress advantage against {other}: better in {row['better']} of "
        f"{len(settings)} settings ({row['better_sets']} of {len(sets)} sets), worse in "
        f"{row['worse']} ({row['worse_sets']}), not told apart in {row['neither']}"
        for other, row in standings.iterrows()
    ]


def references_in_words(
    settings: Sequence[ScoredAttempts], k: int, n_boot: int, seed: int
) -> list[str]:
    """A sentence for each reference beside the base: in how many settings it picks better."""
    leads: dict[str, dict[str, metrics.Band]] = {}
    for setting in settings:
        picked = {
            name: selection.select(setting, score, [k], n_boot, seed)
            for name, score in selection.by_reference(setting).items()
        }
        base = picked.pop("base")
        for name, ours in picked.items():
            leads.setdefault(name, {})[setting.label] = selection.lead(ours, base, k)
    lines = []
    for name, bands in leads.items():
        better = [label for label, band in bands.items() if band.low > 0]
        worse = [label for label, band in bands.items() if band.high < 0]
        lines.append(
            f"Best of {k} against {name} instead of the base: better in "
            f"{in_settings(better, settings)}, worse in {in_settings(worse, settings)}"
        )
    return lines


def preferences_in_words(means: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for each score: its mean over a success and over a failure, and which is higher.

    means: name of the score -> "success" and "failure" -> mean.
    """
    return [
        f"{name}: {mean['success']:+.2f} for the success, {mean['failure']:+.2f} for the failure, "
        f"so it prefers the {max(mean, key=mean.get)}"
        for name, mean in means.items()
    ]
