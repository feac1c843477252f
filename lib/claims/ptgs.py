"""The claims about posterior-tempered group sampling, put to the runs of the lab."""

import pandas as pd

from lib.claims import paper_tables
from lib.claims.claim import Claim, ClaimTable, not_tested, verdict
from lib.lab import plan, results
from lib.metrics import FEWEST_SEEDS

CLAIMED = {"Tax_S": -1, "pass@": +1}
"""What PTGS is claimed to do: lower the one, raise the other."""
THAN = {"fixed": "a fixed temperature", "yoked": "as much heat for all (yoked)"}
"""The arm that PTGS is compared with -> how a claim says it."""


def ptgs_claims(
    scores: pd.DataFrame,
    world: str,
    algorithm: str,
    K: int = plan.ATTEMPTS,
    *,
    committed: bool = False,
) -> ClaimTable:
    """Tax_S(K) and pass@K of PTGS against a fixed temperature and against the yoked control.

    scores: of one world, algorithm, rate and size, as `lab.results.scores` makes them at K. The
    seed is what was repeated: the interval is a t-interval over per-seed differences. What was not
    fixed beforehand (`lab.plan.PRIMARY`) is called exploratory.
    committed: whether they are of the lab's committed results; all others are exploratory.
    """
    found = []
    for against in ("fixed", "yoked"):
        seeds = results.shared_seeds(scores, "ptgs", against)
        first = committed and plan.is_primary(world, algorithm, plan.Run.rate, K, seeds)
        about = f"{world}, {algorithm}" + ("" if first else ", exploratory")
        for name, direction in CLAIMED.items():
            measure, shown = (name, f"{name}({K})") if name == "Tax_S" else (f"{name}{K}",) * 2
            does = "lowers" if direction < 0 else "raises"
            statement = f"PTGS {does} {shown} against {THAN[against]}: {about}"
            printed = _printed(world, algorithm, name) if against == "fixed" else "no such control"
            found.append(_claim(scores, measure, direction, against, statement, printed))
    return ClaimTable(found)


def pilot_claims(pilots: pd.DataFrame) -> ClaimTable:
    """Coverage of a frozen policy whose tasks are tempered from pilots, at the largest total.

    pilots: as `lab.pilots.compare` makes them, with columns world and policy. Against "matched"
    the claim is about aiming alone, against a fixed temperature about heat and aiming together.
    """
    table = pilots[pilots["total"] == pilots["total"].max()].rename(columns={"method": "sampler"})
    found = []
    for (world, policy), part in table.groupby(["world", "policy"], sort=False):
        total = part["total"].iloc[0]
        for against, than in (("fixed", THAN["fixed"]), ("matched", "as much heat for all")):
            statement = (
                f"PTGS by pilots raises coverage at {total} rollouts of a frozen policy ({policy}) "
                f"against {than}: {world}, exploratory"
            )
            found.append(_claim(part, "coverage", +1, against, statement, "not printed"))
    return ClaimTable(found)


def _claim(scores, measure, direction, against, statement, printed) -> Claim:
    found = results.differences(scores, measure, "ptgs", against)
    if found.empty or not found["seeds"].item():
        return not_tested(statement, printed, f"no seed of both arms, ptgs and {against}, is run")
    row = found.iloc[0]
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
    arms = wide[["ptgs", against]].dropna()
    means = arms.mean()
    as_claimed = int((direction * (arms["ptgs"] - arms[against]) > 0).sum())
    where = "lower" if direction < 0 else "higher"
    some = f"1 seed, {'' if as_claimed else 'not '}{where} in it"
    counted = some if seeds == 1 else f"{seeds} seeds, {where} in {as_claimed}"
    few = f"; fewer than {FEWEST_SEEDS} give no interval" if seeds < FEWEST_SEEDS else ""
    return f"ptgs {means['ptgs']:.3f}, {against} {means[against]:.3f}; {counted}{few}"


def _printed(world, algorithm, name) -> str:
    rows = paper_tables.table("ptgs").set_index(["environment", "algorithm", "sampler"])
    if (world, algorithm, "ptgs") not in rows.index:
        return "not printed"
    fixed, tempered = (rows.loc[(world, algorithm, arm)] for arm in ("fixed", "ptgs"))
    if name == "Tax_S":
        return f"{fixed['tax_S@128']:.3f} to {tempered['tax_S@128']:.3f} at 128, Qwen2.5-7B"
    return f"{fixed['pass@128']:.1f} to {tempered['pass@128']:.1f} % at 128, Qwen2.5-7B"
