"""The claims about progress advantage, put to scored attempts and to tables of attributed steps."""

from collections.abc import Mapping, Sequence

import pandas as pd

from lib import metrics
from lib.advantage.scored_attempts import ScoredAttempts
from lib.advantage.selection import BUDGET, PROGRESS, lead, select, selectors
from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict

BASELINE = "policy log-prob"
"""The selector that progress advantage is claimed to beat."""
OTHER = "other models and tasks"


def advantage_claims(
    settings: Sequence[ScoredAttempts], k: int = BUDGET, *, n_boot: int = 1000, seed: int = 0
) -> ClaimTable:
    """Best of k by progress advantage against one attempt and against log-prob, and its AUROC.

    By the aggregation that was fixed beforehand (mean, mean); intervals are over tasks.

    settings: those that the verdict is about.
    """
    if not settings:
        why = "no attempts are scored yet: make lab"
        return ClaimTable([not_tested("progress advantage selects attempts", _printed(), why)])
    claims = ClaimTable()
    for setting in settings:
        scores = selectors(setting, seed)
        ours, theirs = (
            select(setting, scores[name], [k], n_boot, seed) for name in (PROGRESS, BASELINE)
        )
        claims += [
            _gain(setting, ours, "accuracy", ours, k),
            _gain(setting, ours, "success", theirs, k),
            *_discriminates(setting, scores[PROGRESS], n_boot, seed),
        ]
    return claims


def _gain(setting, ours, measure, theirs, k) -> Claim:
    """Success of the best of k less what it is compared with, on the same resamples, in shares."""
    value, low, high = lead(ours, theirs, k, measure)
    against = "one attempt" if measure == "accuracy" else f"best of {k} by {BASELINE}"
    chosen, other = float(ours.success.value[0]), float(getattr(theirs, measure).value[0])
    relative = f" ({chosen / other - 1:+.0%} relative)" if other > 0 else ""
    return Claim(
        statement=f"best of {k} by progress advantage beats {against}: {setting.label}",
        value=value,
        low=low,
        high=high,
        published=_printed() if measure == "accuracy" else f"shown as a figure, {OTHER}",
        verdict=verdict(low, high, 0),
        why=f"{chosen:.3f} against {other:.3f}{relative}; pass@{k} is {ours.coverage.value[0]:.3f}",
        digits=3,
    )


def _discriminates(setting, scores, n_boot, seed):
    for compared in ("pooled", "equal length"):
        band = metrics.auroc_band(
            scores,
            setting.passed,
            setting.tasks,
            strata=setting.strata[compared],
            n_boot=n_boot,
            rng=seed,
        )
        statement = f"progress advantage tells successes from failures, {compared}"
        yield Claim(
            statement=f"{statement}: {setting.label}",
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
    """Progress advantage against the best plain guess at the decisive step.

    results: label of a setting -> table as `lib.advantage.attribution.compare` makes it.

    Rule and guess are the best of each here, three rules against five guesses; the claim is about
    their difference on the same failures.
    """
    claims = ClaimTable()
    for label, table in results.items():
        statement = f"progress advantage finds the decisive step better than any guess: {label}"
        ours = table[table["scorer"] == PROGRESS]
        if ours.empty:
            why = "needs a pair of models: data/whoandwhen/score.py with --reference, on a GPU"
            claims.append(not_tested(statement, f"shown as a figure, {OTHER}", why))
            continue
        best = ours.loc[ours["accuracy"].idxmax()]
        guesses = table[table["rule"] == "no score"]
        guess = guesses.loc[guesses["accuracy"].idxmax()]
        claims.append(
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
    return claims
