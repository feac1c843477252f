"""What training methods come to, in words and as titles of pictures: computed from their runs.

Tables of runs hold a row a run: `sampler` (the method), `seed`, and a column a measure, among them
`pass@1`, `pass@K`, `pass^8`, `gap@K`, `Tax_S`, `crossover`. Tables of a base hold a row for each
`temperature`, with its own measures.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from lib import metrics
from lib.claims import Claim
from lib.claims.seed_differences import differences
from lib.metrics.formatting import number, with_interval


def training_table(
    bases: pd.DataFrame, runs: pd.DataFrame, K: int, temperature: float
) -> pd.DataFrame:
    """What runs gain and lose against their base at this temperature, and what a colder base does.

    A row a measure: the base, the runs (mean, lowest to highest), how many are above the base, the
    base at its coldest temperature. Empty where no base or no run was evaluated.
    """
    start, cold, rows = _warm(bases, temperature), _coldest(bases), []
    for measure in _measures(K) if start is not None and len(runs) else ():
        values = runs[measure]
        ends = f"{number(values.min())} to {number(values.max())}"
        rows.append(
            {
                "measure": measure,
                f"base, T = {temperature:g}": number(start[measure]),
                f"runs, T = {temperature:g}": f"{number(values.mean())} ({ends})",
                "runs above base": f"{(values > start[measure]).sum()} of {len(values)}",
                f"base, T = {cold['temperature']:g}": number(cold[measure]),
            }
        )
    return pd.DataFrame(rows)


def cooling_in_words(bases: pd.DataFrame, runs: pd.DataFrame, K: int, temperature: float) -> str:
    """What a colder base gives of what training gives, and what it does not: lines.

    The last compares the runs with the best that the base reaches at any of its temperatures.
    """
    start, cold = _warm(bases, temperature), _coldest(bases)
    if start is None or runs.empty:
        return "No base, or no run, was evaluated here."
    changes = [
        _change(measure, runs[measure].mean() - start[measure], cold[measure] - start[measure])
        for measure in _measures(K)
    ]
    above = [
        f"{(runs[measure] > bases[measure].max()).sum()} in {measure}" for measure in _measures(K)
    ]
    span = f"from T = {temperature:g} to {cold['temperature']:g}"
    return (
        f"Cooling the base {span} changes\n"
        + "\n".join(changes)
        + f"\nOf {_count(len(runs), 'run')}, above the base at its best temperature: "
        + f"{', '.join(above)}."
    )


def _measures(K) -> tuple[str, ...]:
    return "pass@1", "pass^8", f"pass@{K}"


def _warm(bases, temperature):
    """The row of the base at this temperature, None without one."""
    rows = bases[bases["temperature"] == temperature]
    return rows.iloc[0] if len(rows) else None


def _coldest(bases):
    return bases.loc[bases["temperature"].idxmin()] if len(bases) else None


def _change(measure, training, cooling) -> str:
    """Both changes; and the share of training's gain that cooling gives, where there is a gain."""
    share = f", of which that is {max(cooling, 0) / training:.0%}" if training > 0 else ""
    return f"- {measure} by {cooling:+.3f}; training changes it by {training:+.3f}{share}"


def against_base_title(bases: pd.DataFrame, runs: pd.DataFrame, measure: str) -> str:
    """Where runs lie against a base at all its temperatures."""
    if bases.empty or runs.empty:
        return f"{measure}: no base to compare with"
    above = int((runs[measure] > bases[measure].max()).sum())
    below = int((runs[measure] < bases[measure].min()).sum())
    for count, where in ((above, "above"), (below, "below")):
        if count == len(runs):
            every = _every(len(runs))
            return f"{measure}: {every} {where} the base at every T"
    return f"{measure}: {above} of {_count(len(runs), 'run')} above the base at its best T"


def overtaking_title(runs: pd.DataFrame) -> str:
    """How many runs their base overtakes, and where; k* = 1 is no overtaking."""
    if runs.empty:
        return "not run here"
    known = runs["crossover"].dropna()
    if known.empty:
        return "no base to compare with"
    later = known[np.isfinite(known) & (known > 1)]
    parts = []
    if len(later):
        where = f"k = {later.median():g}" + (" (median)" if len(later) > 1 else "")
        parts.append(f"base overtakes {len(later)} of {_count(len(known), 'run')}, {where}")
    if count := int((known == 1).sum()):
        parts.append(f"{count} below it from the start")
    if count := int(np.isinf(known).sum()):
        parts.append(f"{count} never overtaken")
    return "; ".join(parts)


def difference_title(runs: pd.DataFrame, measure: str, name: str, against: str = "fixed") -> str:
    """The measure's name, and PTGS minus another method with its interval over seeds."""
    compared = differences(runs, measure, "ptgs", against) if len(runs) else ()
    if not len(compared) or not compared["seeds"].item():
        return name
    row = compared.iloc[0]
    digits = 2 if abs(row["value"]) >= 1 or max(abs(row["low"]), abs(row["high"])) >= 1 else 3
    shown = with_interval(metrics.Band(row["value"], row["low"], row["high"]), digits)
    return f"{name}\nPTGS minus {against}: {shown}"


def off_zero_title(rows: pd.DataFrame, name: str) -> str:
    """How many intervals of differences exclude zero; those without width do not count."""
    known = rows[rows["low"] < rows["high"]]
    if known.empty:
        return f"{name}: no interval"
    off = ((known["low"] > 0) | (known["high"] < 0)).sum()
    return f"{name}: {off} of {_count(len(known), 'interval')} off zero"


def off_zero(rows: pd.DataFrame) -> str:
    """How many intervals of differences lie off zero, and which, in words.

    Intervals without width do not count: the same difference in each of a few seeds says nothing
    of how seeds vary.  rows: with measure, world, algorithm, rate, evaluated, against and the
    interval.
    """
    known = rows[rows["low"] < rows["high"]]
    if known.empty:
        return f"no interval: fewer than {metrics.FEWEST_SEEDS} seeds of two methods"
    off = known[(known["low"] > 0) | (known["high"] < 0)]
    summary = f"{len(off)} of {len(known)} intervals lie off zero; by chance 1 in 20 would"
    named = [
        f"{row.measure} {row.world} {row.algorithm} lr {row.rate:g}, {row.evaluated}, minus "
        f"{row.against}: {with_interval(metrics.Band(row.value, row.low, row.high), 3)}"
        for row in off.itertuples()
    ]
    return "\n".join([summary + (":" if named else "."), *(f"- {line}" for line in named)])


def rates_in_words(runs: pd.DataFrame, measure: str) -> str:
    """Whether two learning rates differ by more than methods do, over the seeds run at both."""
    spread = _rates_and_methods(runs, measure)
    if spread is None:
        return "No method is run at two learning rates with the same seeds."
    (low, high), methods, seeds, apart, widest = spread
    return (
        f"{measure}: at {low:g} minus at {high:g}, {apart.min():+.3f} to {apart.max():+.3f} over "
        f"{', '.join(methods)};\nbetween these at one rate, {widest:.3f} at most (means of "
        f"{seeds:.3g} seeds): "
        + ("the rate decides more." if apart.abs().min() > widest else "neither decides alone.")
    )


def rates_title(runs: pd.DataFrame, measure: str) -> str:
    """What the learning rate changes, and what methods do, as a title."""
    spread = _rates_and_methods(runs, measure)
    if spread is None:
        return f"{measure}: one learning rate"
    _, _, _, apart, widest = spread
    return (
        f"{measure}: {abs(apart.mean()):.3f} between learning rates,\n"
        f"{widest:.3f} at most between methods"
    )


def _rates_and_methods(runs, measure):
    """Both rates, the methods, seeds a method, low minus high a method, widest gap of methods."""
    wide = runs.pivot_table(index=["sampler", "seed"], columns="rate", values=measure).dropna()
    if wide.empty or len(wide.columns) != 2:
        return None
    low, high = wide.columns
    means = wide.groupby("sampler").mean()
    apart = means[low] - means[high]
    widest = (means.max() - means.min()).max()
    return (low, high), list(means.index), len(wide) / len(means), apart, widest


def sizes_in_words(bases: pd.DataFrame, runs: pd.DataFrame, K: int) -> str:
    """A line a size: its base, where the base overtakes its runs, and how many it never lets ahead.

    bases, runs: with `size`, of one environment and one temperature; sizes in the order of `runs`.
    A last line says whether larger models are overtaken earlier; runs below their base from the
    first attempt on are overtaken by nothing and have no part in it.
    """
    if runs.empty:
        return "not run here"
    lines, medians, left = [], [], 0
    for size, part in runs.groupby("size", sort=False):
        base = bases[bases["size"] == size].mean(numeric_only=True)
        later = part.loc[part["crossover"] > 1, "crossover"]
        below = int((part["crossover"] == 1).sum())
        left += below
        shown = ", ".join("never" if np.isinf(k) else f"{k:g}" for k in sorted(later))
        line = (
            f"{size}: base pass@1 {base['pass@1']:.3f}, pass@{K} {base[f'pass@{K}']:.3f}; "
            f"{len(later)} of {_count(len(part), 'run')} ahead at one attempt"
        )
        line += f", overtaken at k = {shown}" if shown else ""
        lines.append(line + (f"; {below} below the base from the start" if below else "") + ".")
        medians += [later.median()] if len(later) else []
    return "\n".join([*lines, _ordered(medians, left)])


def _ordered(medians: Sequence[float], left: int) -> str:
    without = f", without {_count(left, 'run')} below the base from the start" if left else ""
    if len(medians) < 2:
        return f"Too few sizes with an overtaking to compare{without}."
    falls = all(later < earlier for earlier, later in pairwise(medians))
    shown = ", ".join(number(k, 1) if np.isfinite(k) else "never" for k in medians)
    verdict = "fall with size" if falls else "do not fall steadily with size"
    return f"Medians of k* {shown}{without}: they {verdict}."


def pilots_title(claim: Claim) -> str:
    """A frozen policy, and what PTGS by pilots does there against the same mean temperature.

    claim: one of `lib.claims.pilot_claims`.
    """
    policy = claim.case.removesuffix(", exploratory")
    shown = with_interval(metrics.Band(claim.value, claim.low, claim.high), claim.digits)
    return f"{policy}: {claim.verdict}\nPTGS minus same mean T: {shown}"


def _every(count) -> str:
    return "the run is" if count == 1 else f"all {count} runs"


def _count(count, noun) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
