"""What the lab measured, as tables for people; what is planned and not run yet says so."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import metrics
from lib.claims import paper_tables, seed_differences
from lib.lab import plan, results
from lib.metrics.formatting import number, with_interval

NOT_RUN = "not run yet"
WHERE = {
    f"{name} tasks, T = {temperature:g}": (split, temperature)
    for split, name in (("test", "held-out"), ("train", "training"))
    for temperature in plan.SPLITS[split]
}
"""What an evaluation is called -> split and temperature."""


def over_seeds(
    scores: pd.DataFrame,
    by: Sequence[str],
    measures: Mapping[str, int],
    runs: Iterable[plan.Run] = (),
) -> pd.DataFrame:
    """A row for each value of the columns `by`: every measure as mean and sd over seeds.

    measures: column of `scores` -> decimals.  runs: the runs wanted; those that are not in `scores`
    get a row that says so. An sd needs two seeds.
    """
    planned = Counter(tuple(run.settings()[name] for name in by) for run in runs)
    parts = dict(list(scores.groupby(list(by), sort=False)))
    rows = []
    for key in dict.fromkeys([*planned, *parts]):
        part = parts.get(key, scores.iloc[:0])
        row = dict(zip(by, key, strict=True))
        row |= {name: mean_sd(part[name], digits) for name, digits in measures.items()}
        rows.append(row | {"seeds": _seeds(part["seed"].nunique(), planned.get(key))})
    return pd.DataFrame(rows, columns=[*by, *measures, "seeds"])


def mean_sd(values, digits: int = 3) -> str:
    """Mean and standard deviation over seeds, as text; one seed has no deviation.

    Infinite values (a crossover that never comes) are counted apart.

    >>> mean_sd([0.5, 0.7], 2)
    '0.60 ± 0.14'
    """
    values = np.asarray(values, dtype=float)
    finite = values[~np.isinf(values)]
    never = f"none in {len(values) - len(finite)}" if len(finite) < len(values) else ""
    if not len(finite):
        return never or "-"
    shown = number(finite.mean(), digits)
    if len(finite) > 1:
        shown += f" ± {finite.std(ddof=1):.{digits}f}"
    return f"{shown}; {never}" if never else shown


def _seeds(count, planned) -> str:
    if not count:
        return NOT_RUN
    return str(count) if planned in (None, count) else f"{count} of {planned}"


def method_table(
    evaluations: pd.DataFrame, runs: Sequence[plan.Run], K: int = plan.ATTEMPTS
) -> pd.DataFrame:
    """Each method on held-out and on training tasks, at every temperature that was evaluated."""
    digits = {"pass@1": 3, f"pass@{K}": 3, f"gap@{K}": 3, "Tax_A": 2, "Tax_S": 3, "pass^8": 3}
    parts = []
    for where, (split, temperature) in WHERE.items():
        scores = of_runs(results.scores(evaluations, split, temperature, K), runs)
        table = over_seeds(scores, ["algorithm", "sampler"], digits, runs)
        heading = {"Tax_A": f"Tax_A({K})", "Tax_S": f"Tax_S({K})"}
        parts.append(table.rename(columns=heading).assign(evaluated=where))
    table = pd.concat(parts, ignore_index=True)
    return table[["evaluated", *(name for name in table if name != "evaluated")]]


def provenance(evaluations: pd.DataFrame, steps: pd.DataFrame, runs: Sequence[plan.Run]) -> str:
    """How many of these runs there are, and how long they trained and were evaluated."""
    done = of_runs(evaluations[evaluations["kind"] == "post"], runs)
    count = len(done[results.RUN].drop_duplicates())
    if not count:
        return f"0 of {len(runs)} runs"
    tasks = done.groupby([*results.RUN, "split", "temperature", "cue", "parser"]).size().min()
    length, attempts = of_runs(steps, runs)["step"].max(), int(done["n"].min())
    return (
        f"{count} of {len(runs)} runs of {length} steps, each evaluated on {tasks} tasks a split, "
        f"{attempts} attempts a task"
    )


def of_runs(table: pd.DataFrame, runs: Iterable[plan.Run]) -> pd.DataFrame:
    """The rows of a table with the columns of `results.RUN` that belong to these runs."""
    wanted = pd.DataFrame([run.settings() for run in runs], columns=results.RUN)
    return table.merge(wanted.drop_duplicates(), on=results.RUN)


def temperature_table(
    evaluations: pd.DataFrame, environment: str, K: int = plan.ATTEMPTS
) -> pd.DataFrame:
    """The base that runs start from, on held-out tasks at several temperatures."""
    scores = results.base_scores(evaluations, K=K, world=environment, size=plan.Run.size)
    shown = scores[["temperature", "pass@1", f"pass@{K}", "pass^8", "A", "S"]]
    return shown.round({"A": 2}).round(3).rename(columns={"A": f"A({K})", "S": f"S({K})"})


def paper_table(evaluations: pd.DataFrame, K: int = plan.ATTEMPTS) -> pd.DataFrame:
    """What the paper prints (Qwen2.5-7B) beside what the lab has: held-out tasks, T = 0.5."""
    scores = results.scores(evaluations, K=K, size=plan.Run.size, rate=plan.Run.rate)
    rows = []
    for printed in paper_tables.table("ptgs").itertuples(index=False):
        environment, algorithm, method, first, last, tax = printed
        here = results.select(scores, world=environment, algorithm=algorithm, sampler=method)
        rows.append(
            {
                "setting": f"{environment}, {algorithm}, {method}",
                "pass@1 paper": f"{first / 100:.3f}",
                "pass@1 here": mean_sd(here["pass@1"]),
                "pass@128 paper": f"{last / 100:.3f}",
                f"pass@{K} here": mean_sd(here[f"pass@{K}"]),
                "Tax_S(128) paper": f"{tax:.3f}",
                f"Tax_S({K}) here": mean_sd(here["Tax_S"]),
                "seeds": _seeds(len(here), None),
            }
        )
    return pd.DataFrame(rows)


CELL = ["world", "algorithm", "rate"]
"""Columns of runs that are compared with each other."""


def differences(
    evaluations: pd.DataFrame,
    runs: Sequence[plan.Run],
    K: int = plan.ATTEMPTS,
    *,
    committed: bool = False,
    lab: plan.Plan = plan.LAB,
) -> pd.DataFrame:
    """PTGS minus every other method, in each cell of these runs, wherever it was evaluated.

    A row a measure with the columns of `claims.seed_differences.differences`, `CELL`, `evaluated`
    and `status`: primary or exploratory. Where seeds is 0 it was not run.
    committed: whether they are the committed results of the plan `lab`; all others are exploratory.
    """
    cells = [tuple(run.settings()[name] for name in CELL) for run in runs if run.method == "ptgs"]
    rows = []
    for where, (split, temperature) in WHERE.items():
        scores = of_runs(results.scores(evaluations, split, temperature, K), runs)
        for cell in dict.fromkeys(cells):
            here = dict(zip(CELL, cell, strict=True))
            others = [run.method for run in runs if here.items() <= run.settings().items()]
            for against in dict.fromkeys(method for method in others if method != "ptgs"):
                part = results.select(scores, **here)
                seeds = seed_differences.shared_seeds(part, "ptgs", against)
                first = committed and lab.is_primary(*cell, K, seeds)
                first &= where == next(iter(WHERE)) and against in ("fixed", "yoked")
                columns = here | {"evaluated": where, "against": against}
                columns["status"] = "primary" if first else "exploratory"
                for measure in ("pass@1", f"pass@{K}", "Tax_A", "Tax_S"):
                    row = seed_differences.differences(part, measure, "ptgs", against)
                    not_run = {"value": np.nan, "low": np.nan, "high": np.nan, "seeds": 0}
                    band = row.iloc[0].to_dict() if len(row) else not_run
                    rows.append(band | columns | {"measure": measure})
    return pd.DataFrame(rows)


def difference_table(compared: pd.DataFrame) -> pd.DataFrame:
    """`differences` with a measure a column, as an estimate and its 95 % interval."""
    digits = dict.fromkeys(compared["measure"], 3) | {"Tax_A": 2}
    shown = compared.assign(
        shown=[
            with_interval(metrics.Band(row.value, row.low, row.high), digits[row.measure])
            for row in compared.itertuples()
        ],
        seeds=[_seeds(int(count), None) for count in compared["seeds"]],
    )
    index = ["status", *CELL, "evaluated", "against", "seeds"]
    table = shown.set_index([*index, "measure"])["shown"].unstack("measure", sort=False)  # noqa: PD010
    return table.reset_index().rename_axis(columns=None)


def pilot_table(pilots: pd.DataFrame) -> pd.DataFrame:
    """Coverage of a frozen policy at equal totals of rollouts, a row a policy, method and total."""
    index = ["world", "policy", "total", "method"]
    rows = [
        (*key, mean_sd(part["coverage"]), mean_sd(part["mean_temperature"], 2), len(part))
        for key, part in pilots.groupby(index, sort=False)
    ]
    shown = ["world", "policy", "rollouts a task", "method"]
    return pd.DataFrame(rows, columns=[*shown, "coverage", "mean temperature", "seeds"])
