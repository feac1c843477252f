"""Tables for people on the selection of attempts and on failure attribution."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import metrics
from lib.advantage import aggregation_choice, selection
from lib.advantage.scored_attempts import ScoredAttempts
from lib.metrics.formatting import with_interval


def settings_table(settings: Sequence[ScoredAttempts]) -> pd.DataFrame:
    """A row for each setting: its tasks and attempts, pass@1, and the turns of both outcomes."""
    rows = []
    for setting in settings:
        row = {
            "attempts of": setting.label,
            "tasks": len(np.unique(setting.tasks)),
            "attempts": len(setting.table),
            "left out": setting.left_out,
            "pass@1": f"{setting.passed.mean():.3f}",
            "turns, passed": f"{setting.scored.steps[setting.passed == 1].mean():.2f}",
            "turns, failed": f"{setting.scored.steps[setting.passed == 0].mean():.2f}",
        }
        if "labels" in setting.table:
            row["labels of the reward model"] = int(setting.table["labels"].iloc[0])
        rows.append(row)
    return pd.DataFrame(rows)


def success_table(picks: pd.DataFrame, k: int) -> pd.DataFrame:
    """Success of the best of k: selectors as rows, settings as columns; last pass@1 and pass@k.

    picks: tables of `selection.pick_table`, with the column `attempts`, the label of the setting.
    """
    picks = picks[picks["k"] == k]
    table = _wide(picks, "success", ["selector", "attempts"], 3)
    limits = picks[picks["selector"] == selection.PROGRESS].set_index("attempts")
    for name, measure in (("pass@1", "accuracy"), ("oracle: pass@k", "coverage")):
        table.loc[name] = limits[measure].map(with_interval)
    return table


def share_table(picks: pd.DataFrame, selectors: Sequence[str]) -> pd.DataFrame:
    """Share of the gain cashed in: settings and budgets as rows, selectors as columns.

    picks: as in `success_table`.
    """
    picks = picks[picks["selector"].isin(selectors)]
    return _wide(picks, "share", ["attempts", "k", "selector"], 2)


def _wide(picks: pd.DataFrame, measure: str, axes: Sequence[str], digits: int) -> pd.DataFrame:
    """A measure as text, the last of `axes` as columns."""
    text = picks[measure].map(lambda band: with_interval(band, digits))
    series = picks.assign(text=text).set_index(list(axes))["text"]
    return series.unstack(axes[-1], sort=False).rename_axis(columns=None)  # noqa: PD010


def gains_table(picks: pd.DataFrame, k: int, settings: Sequence[ScoredAttempts]) -> pd.DataFrame:
    """Best of k by progress advantage minus pass@1, in points and in percent of pass@1.

    picks: as in `success_table`. A row for each of these settings.
    """
    ours = picks[(picks["k"] == k) & (picks["selector"] == selection.PROGRESS)]
    ours = ours.set_index("attempts").loc[[setting.label for setting in settings]]
    table = ours[["success", "accuracy"]].map(lambda band: band.value)
    points = table["success"] - table["accuracy"]
    return table.assign(points=100 * points, percent=100 * points / table["accuracy"]).rename(
        columns={"accuracy": "pass@1"}
    )


def auroc_table(rows: pd.DataFrame, compared: str) -> pd.DataFrame:
    """AUROC as text: selectors as rows, settings as columns.

    rows: tables of `selection.auroc_table` with the column `attempts`.  compared: one of the ways
    to compare attempts.
    """
    rows = rows[rows["compared"] == compared].assign(
        band=lambda part: [
            metrics.Band(*ends) for ends in part[["value", "low", "high"]].to_numpy()
        ]
    )
    return _wide(rows, "band", ["selector", "attempts"], 2)


def spearman_table(settings: Sequence[ScoredAttempts], n_boot: int, seed: int) -> pd.DataFrame:
    """Rank correlation of progress advantage with success: settings as rows, strata as columns."""
    rows = []
    for setting in settings:
        score = selection.selectors(setting, seed)[selection.PROGRESS]
        row = {"Spearman with success": setting.label}
        for compared, strata in setting.strata.items():
            band = metrics.spearman_band(
                score, setting.passed, setting.tasks, strata=strata, n_boot=n_boot, rng=seed
            )
            row[compared] = with_interval(band, 2)
        rows.append(row)
    return pd.DataFrame(rows)


def halves_table(
    settings: Sequence[ScoredAttempts], k: int, n_boot: int, seed: int
) -> pd.DataFrame:
    """`chosen_on_half` of every setting, its gain as text beside its ends `low` and `high`."""
    table = pd.concat(
        aggregation_choice.chosen_on_half(setting, k, n_boot, seed).assign(attempts=setting.label)
        for setting in settings
    )
    bands = table[["gain", "low", "high"]].to_numpy()
    table["gain over pass@1"] = [with_interval(metrics.Band(*band)) for band in bands]
    names = {"there": "on its own half", "success": "on the other half"}
    first = ["attempts", "kind", "aggregation", "there", "success", "pass@1", "gain over pass@1"]
    return table[[*first, "low", "high"]].rename(columns=names)


def reference_table(
    settings: Sequence[ScoredAttempts], k: int, n_boot: int, seed: int
) -> pd.DataFrame:
    """Best of k and AUROC against each reference: settings as columns."""
    columns = {}
    for setting in settings:
        column = columns[setting.label] = {}
        scores = selection.by_reference(setting)
        for name, score in scores.items():
            picked = selection.select(setting, score, [k], n_boot, seed)
            success = metrics.Band(*(float(part[0]) for part in picked.success))
            column[f"best of {k}", name] = with_interval(success, 2)
        for compared, strata in setting.strata.items():
            for name, score in scores.items():
                band = metrics.auroc_band(
                    score, setting.passed, setting.tasks, strata=strata, n_boot=n_boot, rng=seed
                )
                column[f"AUROC, {compared}", name] = with_interval(band, 2)
    return pd.DataFrame(columns)


def attribution_table(tables: Mapping[str, pd.DataFrame], what: str) -> pd.DataFrame:
    """Accuracy, distance and the most similar guess as text, a row for each scorer and rule.

    tables: label -> table of `attribution.compare`.  what: the column that gets the labels.
    """
    shown = []
    for label, rows in tables.items():
        table = rows[["scorer", "rule"]].copy()
        for measure in ("accuracy", "distance"):
            bands = rows[[measure, f"{measure}_low", f"{measure}_high"]].to_numpy()
            table[measure] = [with_interval(metrics.Band(*band), 2) for band in bands]
        if "like" in rows:
            alike = rows["alike"].map("{:.0%}".format)
            table["most like"] = (rows["like"] + ", " + alike).where(rows["like"].notna(), "")
        counts = {"failures": rows["counted"], "unpredicted": rows["unpredicted"]}
        shown.append(table.assign(**counts, **{what: label}))
    return pd.concat(shown, ignore_index=True)


def lower_table(results: Mapping[str, Mapping[str, metrics.Band]]) -> pd.DataFrame:
    """The bands of `attribution.lower_at_decisive` as text: settings as rows, scores as columns."""
    return pd.DataFrame(
        {"attempts of": label} | {name: with_interval(band, 2) for name, band in bands.items()}
        for label, bands in results.items()
    )
