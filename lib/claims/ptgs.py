"""The claims about posterior-tempered group sampling (PTGS), put to runs and to pilots."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.claims.seed_differences import differences, shared_seeds
from lib.metrics import FEWEST_SEEDS

CLAIMED = {"Tax_S": -1, "pass@": +1}
"""What PTGS is claimed to do at the largest budget: lower the one, raise the other."""
SIGNAL = {
    "mixed": "the share of mixed groups in training",
    "entropy_ref": "entropy at T_ref in training",
}
"""What PTGS is claimed to raise while training: column of the step logs -> its name."""
BRIEF = {
    "mixed": "the share of prompts with both successes and failures",
    "entropy_ref": "entropy",
    "pass@1": "pass@1",
}
"""Measure of the learning signal -> its name in brief."""
SAME_MEAN = "the same mean temperature for all tasks"
AGAINST = {"fixed": "a fixed temperature", "yoked": f"{SAME_MEAN} (yoked)"}
"""The method that PTGS is compared with -> how a claim names it."""


def ptgs_claims(
    scores: pd.DataFrame,
    environment: str,
    algorithm: str,
    K: int = 128,
    *,
    primary_seeds: Collection[int] | None = None,
) -> ClaimTable:
    """Tax_S(K) and pass@K of PTGS against a fixed temperature and against the yoked control.

    scores: a row a run of this environment and algorithm: `seed`, `sampler` ("ptgs", "fixed",
    "yoked"; others are ignored), `Tax_S` and `pass@K`. The seed is what was repeated: the interval
    is a t-interval over differences within seeds.
    primary_seeds: the seeds of the comparison that was fixed beforehand. Claims over other seeds,
    and all claims if it is None, are called exploratory.
    """
    claims = []
    for against in ("fixed", "yoked"):
        seeds = shared_seeds(scores, "ptgs", against)
        primary = primary_seeds is not None and seeds == set(primary_seeds)
        about = f"{environment}, {algorithm}" + ("" if primary else ", exploratory")
        for name, direction in CLAIMED.items():
            measure, shown = (name, f"{name}({K})") if name == "Tax_S" else (f"{name}{K}",) * 2
            verb = "lowers" if direction < 0 else "raises"
            test = f"PTGS {verb} {shown} against {AGAINST[against]}"
            printed = "no such control"
            if against == "fixed":
                printed = _printed(environment, algorithm, name)
            named = {"question": "ptgs", "case": about, "lead": against == "fixed"}
            named["brief"] = f"{shown} changes by"
            claims.append(_claim(scores, measure, direction, against, test, printed, **named))
    return ClaimTable(claims)


def signal_claims(
    steps: pd.DataFrame, scores: pd.DataFrame, environment: str, algorithm: str
) -> ClaimTable:
    """The learning signal: mixed groups, entropy at T_ref and pass@1, PTGS against a fixed T.

    A mixed group has successes and failures, and only such groups teach. Per run, the mean over all
    its steps; the interval is a t-interval over differences within seeds. None of these comparisons
    was fixed beforehand, so all are called exploratory.

    steps: step logs of the runs, with `seed`, `sampler` and the columns of `SIGNAL`.  scores: as
    for `ptgs_claims`, with `pass@1`.
    """
    about = f"{environment}, {algorithm}, exploratory"
    means = steps.groupby(["seed", "sampler"], as_index=False)[list(SIGNAL)].mean()
    parts = [(means, name, what, "shown as a figure") for name, what in SIGNAL.items()]
    parts.append((scores, "pass@1", "pass@1", _printed(environment, algorithm, "pass@1")))
    return ClaimTable(
        _claim(
            table,
            measure,
            +1,
            "fixed",
            f"PTGS raises {what}",
            printed,
            question="signal",
            case=about,
            lead=True,
            brief=f"{BRIEF[measure]} changes by",
        )
        for table, measure, what, printed in parts
    )


def headline_claims(scores: pd.DataFrame, K: int = 128) -> ClaimTable:
    """What the paper's abstract says PTGS does at best, at the same places in the data at hand.

    Each headline is the largest of the paper's four settings; here it is put to that setting, so
    nothing is picked among results. The relative cut of the tax needs a tax to cut.

    scores: a row a run, as for `ptgs_claims`, with `world`, `algorithm` and `pass@1`.
    """
    rows = paper_tables.table("ptgs").set_index(["environment", "algorithm", "sampler"])
    fixed, tempered = rows.xs("fixed", level=2), rows.xs("ptgs", level=2)
    gains = tempered - fixed
    claims = []
    for name, column, shown in (
        ("ptgs_pass_1", "pass@1", "pass@1"),
        ("ptgs_pass_128", "pass@128", f"pass@{K}"),
    ):
        environment, algorithm = gains[column].idxmax()
        here = scores[(scores["world"] == environment) & (scores["algorithm"] == algorithm)]
        printed = f"+{paper_tables.headline(name).printed}, the largest of four settings"
        test = f"PTGS raises {shown} by as much as the paper's headline"
        named = {"question": "ptgs", "case": f"{environment}, {algorithm}"}
        claims.append(
            _claim(
                here, shown, +1, "fixed", test, printed, bound=gains[column].max() / 100, **named
            )
        )
    cut = (-gains["tax_S@128"] / fixed["tax_S@128"]).idxmax()
    return ClaimTable([*claims, _cut_of_tax(scores, *cut, K)])


def _cut_of_tax(scores, environment, algorithm, K) -> Claim:
    printed = f"{paper_tables.headline('ptgs_tax').printed}, the largest of four settings"
    named = {"question": "ptgs", "case": f"{environment}, {algorithm}"}
    statement = f"PTGS cuts Tax_S({K}) by the share of the paper's headline: {named['case']}"
    here = scores[(scores["world"] == environment) & (scores["algorithm"] == algorithm)]
    means = here[here["sampler"].isin(["fixed", "ptgs"])].groupby("sampler")["Tax_S"].mean()
    if len(means) < 2:
        return not_tested(statement, printed, "no run with ptgs and with fixed", **named)
    fixed, tempered = means["fixed"], means["ptgs"]
    if fixed <= 0:
        why = f"a fixed temperature pays no tax here (Tax_S {fixed:.3f}), so there is none to cut"
        return not_tested(statement, printed, why, **named)
    return Claim(
        statement,
        1 - tempered / fixed,
        np.nan,
        np.nan,
        printed,
        "no interval",
        f"ptgs {tempered:.3f}, fixed {fixed:.3f}; a ratio of means has no interval here",
        **named,
    )


def pilot_claims(pilots: pd.DataFrame) -> ClaimTable:
    """Coverage of a frozen policy whose tasks get their temperature from pilot rollouts.

    pilots: columns world (the environment), policy, total (rollouts a task), seed, method ("ptgs",
    "fixed", "matched") and coverage. Only the largest total counts. A claim a policy, against
    "matched", which has the same mean temperature; what a fixed temperature gives stands beside
    it, as the two are one comparison where that mean is near T_ref. All are exploratory, and as
    there are several the intervals are widened (Bonferroni): at 95 % all of them hold together.
    """
    table = pilots[pilots["total"] == pilots["total"].max()].rename(columns={"method": "sampler"})
    parts = list(table.groupby(["world", "policy"], sort=False))
    level = 1 - 0.05 / max(len(parts), 1)
    claims = []
    for (environment, policy), part in parts:
        claim = _claim(
            part,
            "coverage",
            +1,
            "matched",
            f"PTGS by pilots raises coverage at {part['total'].iloc[0]} rollouts against "
            f"{SAME_MEAN}",
            "not printed",
            level=level,
            question="pilots",
            case=f"{environment}, frozen {policy}, exploratory",
            lead=True,
            brief="coverage is above that of the same mean temperature",
        )
        fixed = part.loc[part["sampler"] == "fixed", "coverage"].mean()
        beside = f"; fixed {fixed:.3f}; interval at {level:.1%}, for {len(parts)} comparisons"
        claims.append(replace(claim, why=claim.why + beside))
    return ClaimTable(claims)


def _claim(
    scores, measure, direction, against, test, printed, *, level=0.95, bound=0.0, **named
) -> Claim:
    """PTGS minus another method over seeds: whether it lies beyond the bound, as is claimed."""
    statement = f"{test}: {named['case']}"
    compared = differences(scores, measure, "ptgs", against, level=level)
    if compared.empty or not compared["seeds"].item():
        why = f"no seed was run with both ptgs and {against}"
        return not_tested(statement, printed, why, **named)
    row = compared.iloc[0]
    low, high = sorted((direction * row["low"], direction * row["high"]))
    return Claim(
        statement=statement,
        value=row["value"],
        low=row["low"],
        high=row["high"],
        published=printed,
        verdict=verdict(low, high, bound),
        why=_why(scores, measure, direction, against, int(row["seeds"])),
        digits=3,
        bound=bound,
        **named,
    )


def _why(scores, measure, direction, against, seeds) -> str:
    wide = scores.set_index(["seed", "sampler"])[measure].unstack("sampler")  # noqa: PD010
    both = wide[["ptgs", against]].dropna()
    means = both.mean()
    as_claimed = int((direction * (both["ptgs"] - both[against]) > 0).sum())
    where = "lower" if direction < 0 else "higher"
    of_one_seed = f"1 seed, {'' if as_claimed else 'not '}{where} in it"
    counted = of_one_seed if seeds == 1 else f"{seeds} seeds, {where} in {as_claimed}"
    few = f"; fewer than {FEWEST_SEEDS} give no interval" if seeds < FEWEST_SEEDS else ""
    return f"ptgs {means['ptgs']:.3f}, {against} {means[against]:.3f}; {counted}{few}"


def _printed(environment, algorithm, name) -> str:
    rows = paper_tables.table("ptgs").set_index(["environment", "algorithm", "sampler"])
    if (environment, algorithm, "ptgs") not in rows.index:
        return "not printed"
    fixed, tempered = (rows.loc[(environment, algorithm, arm)] for arm in ("fixed", "ptgs"))
    if name == "pass@1":
        return f"{fixed['pass@1']:.1f} to {tempered['pass@1']:.1f} %, Qwen2.5-7B"
    if name == "Tax_S":
        return f"{fixed['tax_S@128']:.3f} to {tempered['tax_S@128']:.3f} at 128, Qwen2.5-7B"
    return f"{fixed['pass@128']:.1f} to {tempered['pass@128']:.1f} % at 128, Qwen2.5-7B"
