"""Which tasks a comparison lost and gained, and what to do next."""

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from lib import claims, metrics, outcomes
from lib.metrics.formatting import side
from lib.reporting.comparison_answer import one_pair

CLEAR = 0.05
"""A task counts as lost beyond chance below this probability."""
MOST_REPEATS = 128
"""More attempts at one task than this are not proposed."""
OUT_OF_REACH = 20
"""A difference that takes more than this many times the data counts as too small to settle."""


def moved_tasks(comparison: outcomes.Comparison) -> dict[str, pd.DataFrame]:
    """Tasks lost (the base solves them, the post-trained arm never does) and gained.

    A table each, the surest first: task, base and post as "c/n", and chance, the probability that
    the arm without a success has none if both arms were alike: C(n, c) / C(n + m, c), with c
    successes in n attempts of one arm and none in m of the other. Empty for histograms, which have
    no tasks by name.
    """
    columns = ["task", "base", "post", "chance"]
    base, post = comparison.base, comparison.post
    if base.names is None or post.names is None:
        return {
            kind: pd.DataFrame(columns=columns).astype({"chance": float})
            for kind in ("lost", "gained")
        }
    moved = {}
    for kind, winner, loser in (("lost", base, post), ("gained", post, base)):
        chosen = np.flatnonzero((np.asarray(winner.c) > 0) & (np.asarray(loser.c) == 0))
        chance = _none_by_chance(_part(winner, chosen), _part(loser, chosen))
        rows = sorted(
            (p, -winner.c[i] / winner.n[i], base.names[i], i)
            for p, i in zip(chance, chosen, strict=True)
        )
        moved[kind] = pd.DataFrame(
            [(name, _of(base, i), _of(post, i), float(p)) for p, _, name, i in rows],
            columns=columns,
        ).astype({"chance": float})
    return moved


def _of(cell, i) -> str:
    return f"{cell.c[i]}/{cell.n[i]}"


def _part(cell, rows) -> metrics.Counts:
    return metrics.Counts(np.asarray(cell.c)[rows], np.asarray(cell.n)[rows])


def lost_by_chance(comparison: outcomes.Comparison) -> float:
    """How many tasks would be lost on average if both arms were alike, given each task's successes.

    As many would be gained where both arms have the same attempts. NaN for histograms.
    """
    base, post = comparison.base, comparison.post
    if base.names is None or post.names is None:
        return float("nan")
    both = metrics.Counts(np.asarray(base.c) + np.asarray(post.c), base.n)
    some = np.asarray(both.c) > 0
    return float(_none_by_chance(both, post)[some].sum())


def _none_by_chance(winner, loser):
    """The chance that all successes of a task fall into the attempts of one arm: [tasks]."""
    n, m = np.asarray(winner.n), np.asarray(loser.n)
    return hypergeom.pmf(0, n + m, np.asarray(winner.c), m)


def next_steps(studies: Sequence[claims.Study], *, unequal: bool = False) -> list[str]:
    """What to do next, at most three lines: settings, tasks to look at, what would settle it.

    unequal: whether the logs record other settings for one arm than for the other.
    """
    steps = []
    if unequal:
        steps.append(
            "Sample and score both arms alike first: what the logs record of it differs, and "
            "a difference may come from that alone."
        )
    if all(study.comparison.max_k == 1 for study in studies):
        steps.append(
            "Repeat every task in both arms, 8 times or more and at a temperature above 0: in "
            "lm-evaluation-harness `repeats` with the filter take_first_k, in Inspect `epochs`, in "
            "tau2 trials, in BFCL a folder a run."
        )
    steps += _tasks_to_read(studies)
    steps += _what_settles(studies)
    return steps[:3]


def _tasks_to_read(studies) -> list[str]:
    name = attrgetter("benchmark" if one_pair(studies) else "label")
    rows = [
        {"where": name(study.comparison), **row}
        for study in studies
        for row in moved_tasks(study.comparison)["lost"].head(3).to_dict("records")
    ]
    lost = pd.DataFrame(rows, columns=["where", "task", "base", "post", "chance"])
    lost = lost.sort_values("chance", kind="stable")
    clear = lost[lost["chance"] < CLEAR]
    if lost.empty:
        return []
    rows = (lost if clear.empty else clear).head(3)
    names = ", ".join(
        f"{row.task} (base {row.base}, post-trained {row.post}"
        + (f"; {row.where})" if len(studies) > 1 else ")")
        for row in rows.itertuples()
    )
    if clear.empty:
        needed = max(_attempts_to_be_clear(*map(int, base.split("/"))) for base in rows["base"])
        if needed > MOST_REPEATS:
            return [
                f"No single task is lost beyond chance. Repeat those that may be, {names}, in both "
                "arms: the base succeeds too seldom there for its loss to show."
            ]
        return [
            f"No single task is lost beyond chance. Repeat those that may be, {names}, with the "
            f"post-trained model: without a success in {needed} attempts in all, each would be "
            "lost beyond chance."
        ]
    return [
        f"Read the post-trained model's attempts at the tasks lost most clearly: {names}. A wrong "
        "format, a refusal or a limit looks like a lost ability here."
    ]


def _attempts_to_be_clear(successes: int, attempts: int) -> int:
    """Attempts without a success, of the other arm, that make a task lost beyond chance.

    The chance is that of `moved_tasks`. One more than `MOST_REPEATS` where even those do not.
    """
    others = np.arange(1, MOST_REPEATS + 1)
    clear = hypergeom.pmf(0, attempts + others, successes, others) < CLEAR
    return int(others[clear][0]) if clear.any() else MOST_REPEATS + 1


def _what_settles(studies) -> list[str]:
    """The line on what would decide the undecided; of several comparisons, the nearest one."""
    open_ones = [study for study in studies if _undecided(study.tax)]
    if not open_ones:
        return []
    if len(studies) == 1:
        needs = [text for k in _undecided(studies[0].tax) if (text := _need(studies[0], k))]
        return [f"{' '.join(needs)} This supposes that the difference stays what it is."]
    nearest = min(open_ones, key=lambda study: min(map(_factor_of(study), _undecided(study.tax))))
    name = attrgetter("benchmark" if one_pair(studies) else "label")
    k = min(_undecided(nearest.tax), key=_factor_of(nearest))
    return [
        f"{len(open_ones)} of {len(studies)} are undecided at one attempt or at the largest budget."
        f" Nearest to a decision: {name(nearest.comparison)}. {_need(nearest, k)}"
    ]


def _undecided(tax) -> list[int]:
    """The budgets, of 1 and K, at which there is a difference that may be chance."""
    return [
        k
        for k in dict.fromkeys((tax.K, 1))
        if abs(tax.gap.at(k).value) > metrics.MARGIN and not side(*tax.gap.at(k)[1:])
    ]


def _factor_of(study):
    """k to how many times the tasks it takes until the interval of the gap excludes zero."""

    def factor(k) -> float:
        value, low, high = study.tax.gap.at(k)
        if np.isnan(low):
            return float("inf")
        reach = value - low if value > 0 else high - value
        return float(reach / abs(value)) ** 2

    return factor


def _need(study, k) -> str:
    """How many tasks, or attempts, would settle the difference at k."""
    comparison, factor = study.comparison, _factor_of(study)(k)
    cell = comparison.base
    tasks = int(np.size(cell.c) if cell.tasks is None else np.sum(cell.tasks))
    what = f"coverage at {k} attempts" if k > 1 else "the change at one attempt"
    if np.isinf(factor):
        return f"To settle {what}: more tasks, since {tasks} give no interval."
    points = f"{100 * abs(study.tax.gap.at(k).value):.2g}"
    if factor > OUT_OF_REACH:
        return (
            f"To settle {what}: out of reach, since {points} points would take more than "
            f"{OUT_OF_REACH} times as many tasks."
        )
    attempts = _attempts_needed(comparison) if k == 1 else None
    more = f"about {attempts} attempts at each task, or " if attempts else ""
    needed = _up(tasks * max(factor, 1.05))
    return f"To settle {what}: {more}about {needed} tasks like these (now {tasks})."


def _attempts_needed(comparison) -> int | None:
    """Attempts a task with which pass@1 is decided by the same tasks; None where they won't do it.

    The variance of the mean difference is that between tasks and, falling with the attempts, that
    within them; only the second can be bought off.
    """
    cells = comparison.base, comparison.post
    n = [np.asarray(cell.n) for cell in cells]
    if comparison.base.names is None or min(map(np.min, n)) < 2:
        return None
    rates = [np.asarray(cell.c) / np.asarray(cell.n) for cell in cells]
    within = sum(np.mean(p * (1 - p) / (m - 1)) for p, m in zip(rates, n, strict=True))
    difference = rates[0] - rates[1]
    between = max(np.var(difference, ddof=1) - within, 0.0)
    room = len(difference) * (difference.mean() / 1.96) ** 2 - between
    factor = within / room if room > 0 else float("inf")
    return _up(max(map(np.max, n)) * factor) if 1 < factor <= OUT_OF_REACH else None


def _up(number: float) -> int:
    """A number rounded up to two digits."""
    step = 10 ** max(len(str(int(number))) - 2, 0)
    return int(np.ceil(number / step) * step)
