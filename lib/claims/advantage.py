"""The claims about progress advantage, put to the scored attempts of the lab."""

from collections.abc import Mapping, Sequence

import pandas as pd

from lib import metrics
from lib.advantage.selection import BUDGET, PROGRESS, Cell, lead, select, selectors
from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict

RIVAL = "policy log-prob"
OTHER = "other models and tasks"


def advantage_claims(
    cells: Sequence[Cell], k: int = BUDGET, *, n_boot: int = 1000, seed: int = 0
) -> ClaimTable:
    """Best of k by progress advantage against one attempt and against log-prob, and its AUROC.

    By the aggregation that was fixed beforehand (mean, mean); intervals are over tasks.
    """
    if not cells:
        why = "no attempts are scored yet: make lab"
        return ClaimTable([not_tested("progress advantage selects attempts", _printed(), why)])
    found = []
    for cell in cells:
        scores = selectors(cell, seed)
        picked = {name: select(cell, scores[name], [k], n_boot, seed) for name in (PROGRESS, RIVAL)}
        found += [
            _gain(cell, picked[PROGRESS], "accuracy", picked[PROGRESS], k),
            _gain(cell, picked[PROGRESS], "success", picked[RIVAL], k),
            *_discriminates(cell, scores[PROGRESS], n_boot, seed),
        ]
    return ClaimTable(found)


def _gain(cell, ours, measure, theirs, k) -> Claim:
    """Success of the best of k less what it is compared with, on the same resamples, in shares."""
    value, low, high = lead(ours, theirs, k, measure)
    against = "one attempt" if measure == "accuracy" else f"best of {k} by {RIVAL}"
    chosen, rival = float(ours.success.value[0]), float(getattr(theirs, measure).value[0])
    relative = f" ({chosen / rival - 1:+.0%} relative)" if rival > 0 else ""
    return Claim(
        statement=f"best of {k} by progress advantage beats {against}: {cell.label}",
        value=value,
        low=low,
        high=high,
        published=_printed() if measure == "accuracy" else f"shown as a figure, {OTHER}",
        verdict=verdict(low, high, 0),
        why=f"{chosen:.3f} against {rival:.3f}{relative}; pass@{k} is {ours.coverage.value[0]:.3f}",
        digits=3,
    )


def _discriminates(cell, scores, n_boot, seed):
    for compared in ("pooled", "equal length"):
        strata = cell.strata[compared]
        band = metrics.auroc_band(
            scores, cell.passed, cell.tasks, strata=strata, n_boot=n_boot, rng=seed
        )
        yield Claim(
            statement=f"progress advantage tells successes from failures, {compared}: {cell.label}",
            value=band.value,
            low=band.low,
            high=band.high,
            published=f"shown as a figure, {OTHER}",
            verdict=verdict(band.low, band.high, 0.5),
            why="AUROC, 0.5 is chance",
            bound=0.5,
        )


def _printed() -> str:
    table = paper_tables.table("progress_advantage")
    rows = table[table["quantity"].str.startswith("gain")]
    shown = [f"+{row.value:g} % ({row.setting})" for row in rows.itertuples()]
    return f"best of 8: {', '.join(shown)}, relative or in points is not recorded; {OTHER}"


def attribution_claims(results: Mapping[str, pd.DataFrame]) -> ClaimTable:
    """Progress advantage against the best plain guess: setting -> table of `attribution.compare`.

    Rule and guess are the best of each here, three rules against five guesses; the claim is about
    their difference on the same failures.
    """
    found = []
    for where, table in results.items():
        statement = f"progress advantage finds the decisive step better than any guess: {where}"
        ours = table[table["scorer"] == PROGRESS]
        if ours.empty:
            why = "needs a pair of models: data/whoandwhen/score.py with --reference, on a GPU"
            found.append(not_tested(statement, f"shown as a figure, {OTHER}", why))
            continue
        best = ours.loc[ours["accuracy"].idxmax()]
        guesses = table[table["rule"] == "no score"]
        guess = guesses.loc[guesses["accuracy"].idxmax()]
        found.append(
            Claim(
                statement=statement,
                value=best["lead"],
                low=best["lead_low"],
                high=best["lead_high"],
                published=f"shown as a figure, {OTHER}",
                verdict=verdict(best["lead_low"], best["lead_high"], 0),
                why=f"{best['accuracy']:.2f} by {best['rule']}, the best of three rules, against "
                f"{guess['accuracy']:.2f} by {guess['scorer']}; {int(best['counted'])} failures",
            )
        )
    return ClaimTable(found)
