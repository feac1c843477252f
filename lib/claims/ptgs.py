"""The claims about posterior-tempered group sampling (PTGS), put to runs and to pilots."""

from collections.abc import Collection

import pandas as pd

from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.claims.seed_differences import differences, shared_seeds
from lib.metrics import FEWEST_SEEDS

CLAIMED = {"Tax_S": -1, "pass@": +1}
"""What PTGS is claimed to do: lower the one, raise the other."""
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
            statement = f"PTGS {verb} {shown} against {AGAINST[against]}: {about}"
            printed = "no such control"
            if against == "fixed":
                printed = _printed(environment, algorithm, name)
            claims.append(_claim(scores, measure, direction, against, statement, printed))
    return ClaimTable(claims)


def pilot_claims(pilots: pd.DataFrame) -> ClaimTable:
    """Coverage of a frozen policy whose tasks get their temperature from pilot rollouts.

    pilots: columns world (the environment), policy, total (rollouts a task), seed, method ("ptgs",
    "fixed", "matched") and coverage. Only the largest total counts. Against "matched", which has
    the same mean temperature, the claim is about aiming alone; against "fixed", about a higher
    temperature and aiming together.
    """
    table = pilots[pilots["total"] == pilots["total"].max()].rename(columns={"method": "sampler"})
    claims = []
    for (environment, policy), part in table.groupby(["world", "policy"], sort=False):
        total = part["total"].iloc[0]
        for against, than in (
            ("fixed", AGAINST["fixed"]),
            ("matched", SAME_MEAN),
        ):
            statement = (
                f"PTGS by pilots raises coverage at {total} rollouts of a frozen policy ({policy}) "
                f"against {than}: {environment}, exploratory"
            )
            claims.append(_claim(part, "coverage", +1, against, statement, "not printed"))
    return ClaimTable(claims)


def _claim(scores, measure, direction, against, statement, printed) -> Claim:
    compared = differences(scores, measure, "ptgs", against)
    if compared.empty or not compared["seeds"].item():
        return not_tested(statement, printed, f"no seed was run with both ptgs and {against}")
    row = compared.iloc[0]
    low, high = sorted((direction * row["low"], direction * row["high"]))
    return Claim(
        statement=statement,
        value=row["value"],
        low=row["low"],
        high=row["high"],
        published=printed,
        verdict=verdict(low, high, 0),
        why=_why(scores, measure, direction, against, int(row["seeds"])),
        digits=3,
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
    if name == "Tax_S":
        return f"{fixed['tax_S@128']:.3f} to {tempered['tax_S@128']:.3f} at 128, Qwen2.5-7B"
    return f"{fixed['pass@128']:.1f} to {tempered['pass@128']:.1f} % at 128, Qwen2.5-7B"
