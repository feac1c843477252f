"""The claims about progress advantage, put to scored attempts and to tables of attributed steps."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import metrics
from lib.advantage.scored_attempts import ScoredAttempts
from lib.advantage.selection import BUDGET, PROGRESS, lead, select, selectors
from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.metrics.formatting import with_interval

BASELINE = "policy log-prob"
"""The selector that progress advantage is claimed to beat."""
BASELINES_CLAIMED = (
    BASELINE,
    "reference log-prob",
    "self-certainty",
    "DeepConf tail",
    "DeepConf bottom 10 %",
)
"""What the paper compares AUROC with and needs no training: all from the same pass."""
OTHER = "other models and tasks"


def advantage_claims(
    settings: Sequence[ScoredAttempts], k: int = BUDGET, *, n_boot: int = 1000, seed: int = 0
) -> ClaimTable:
    """Best of k by progress advantage against one attempt and log-prob; its AUROC against all.

    By the aggregation that was fixed beforehand (mean, mean); intervals are over tasks. Its AUROC
    is compared with that of every baseline, paired, on the same attempts.

    settings: those that the verdict is about.
    """
    if not settings:
        why = "no attempts are scored yet: make lab"
        statement = "progress advantage selects attempts"
        return ClaimTable([not_tested(statement, _printed(), why, "selection", lead=True)])
    claims = ClaimTable()
    for setting in settings:
        scores = selectors(setting, seed)
        ours, theirs = (
            select(setting, scores[name], [k], n_boot, seed) for name in (PROGRESS, BASELINE)
        )
        claims += [
            _gain(setting, ours, "accuracy", ours, k),
            _gain(setting, ours, "success", theirs, k),
            *_beats_baselines(setting, scores, n_boot, seed),
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
        question="selection",
        case=setting.label,
        lead=True,
        brief=f"it beats {against}",
    )


def _beats_baselines(setting, scores, n_boot, seed):
    """AUROC minus that of the best baseline, pooled and among attempts of equal length.

    The claim holds only where the difference to every baseline does, so the lower end is the lowest
    of their 95 % intervals. It is contradicted where one of the m baselines is ahead, which may be
    the best of m by chance: the upper end is the lowest of intervals at 2.5 % / m a side.
    """
    others = [name for name in ("minus turns", *setting.other_scorers) if name in scores]
    test = "progress advantage tells successes from failures better than every baseline"
    for compared in ("pooled", "equal length"):
        about = {"question": "discrimination", "case": setting.label}
        about |= {"lead": compared == "pooled", "brief": "its AUROC is above the best baseline's"}
        among = "" if compared == "pooled" else ", among attempts of equal length"
        statement, printed = f"{test}{among}: {setting.label}", f"shown as a figure, {OTHER}"
        replicates = {
            name: metrics.auroc_replicates(
                scores[name],
                setting.passed,
                setting.tasks,
                strata=setting.strata[compared],
                n_boot=n_boot,
                rng=seed,
            )
            for name in (PROGRESS, *BASELINES_CLAIMED, *others)
        }
        ours = replicates.pop(PROGRESS)
        if np.isnan(ours[0]):
            why = "no two attempts with different outcomes can be compared"
            yield not_tested(statement, printed, why, **about)
            continue
        apart = {name: ours - replicates[name] for name in BASELINES_CLAIMED}
        best = min(apart, key=lambda name: apart[name][0])
        low = min(metrics.percentile_interval(part[1:])[0] for part in apart.values())
        level = 1 - 0.05 / len(apart)
        high = min(metrics.percentile_interval(part[1:], level)[1] for part in apart.values())
        own = metrics.percentile_interval(ours[1:])
        beaten = sum(metrics.percentile_interval(part[1:])[0] > 0 for part in apart.values())
        beside = ", ".join(f"{name} {replicates[name][0]:.2f}" for name in others)
        yield Claim(
            statement=statement,
            value=float(apart[best][0]),
            low=low,
            high=high,
            published=printed,
            verdict=verdict(low, high, 0),
            why=f"AUROC {with_interval(metrics.Band(ours[0], *own), 2)} (0.5 is chance) against "
            f"{replicates[best][0]:.2f} by {best}, the best baseline; ahead of {beaten} of "
            f"{len(apart)} with certainty; not among them: {beside}",
            digits=3,
            **about,
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
            printed = f"shown as a figure, {OTHER}"
            claims.append(not_tested(statement, printed, why, "attribution", label, True))
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
                question="attribution",
                case=label,
                lead=True,
                brief="its accuracy minus that of the best guess",
            )
        )
    return claims
