"""A trained policy beside the exact optimum of its own MDP (`lib.lab.fading_lake`)."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.envs import tabular_mdp
from lib.lab import fading_lake, plan

ERROR, SLOPE = 1e-10, 1e-12
"""Errors below the first mean that the identity holds; a slope below the second, that an optimiser
of a return up to 1 has converged."""


def read_or_train(source: str) -> pd.DataFrame:
    """The table of `fading_lake.run`: "lab" reads that of the lab, "live" trains here and now."""
    if source == "lab":
        path = plan.DATA / "lake.parquet"
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}: make lab writes it")
        return pd.read_parquet(path)
    if source != "live":
        raise ValueError(f"source is {source!r}: expected lab or live")
    with tempfile.TemporaryDirectory() as folder:
        return fading_lake.run(plan.LAB.kept_folder(plan.Lake.base), Path(folder), steps=(30,))


def identity(
    table: tabular_mdp.Table,
    ways: Mapping[str, tabular_mdp.Soft],
    log_reference: np.ndarray,
    beta: float,
) -> pd.DataFrame:
    """How far each optimum keeps to the identity, a row for each way to find it.

    ways: name -> the optimum that it found.  log_reference: [s, a].  Columns:
    error: the largest |log ratio - advantage|.  holds: whether it is below `ERROR`.
    slope: the largest component of the return's gradient.  converged: whether it is below `SLOPE`;
    an optimiser that has not converged says nothing of the identity.
    apart: the largest difference of V from that of the first way.
    """
    live, first = ~table.ends, next(iter(ways.values()))
    rows = {}
    for name, optimum in ways.items():
        ratio = tabular_mdp.log_ratio(optimum, log_reference, beta)
        slope = np.abs(tabular_mdp.gradient(table, optimum, log_reference, beta)).max()
        rows[name] = {
            "error": np.abs(ratio - tabular_mdp.advantage(optimum))[live].max(),
            "slope": slope,
            "apart": np.abs(optimum.V - first.V).max(),
            "converged": slope < SLOPE,
        }
    checks = pd.DataFrame.from_dict(rows, orient="index")
    return checks.assign(holds=checks["error"] < ERROR)


def identity_in_words(checks: pd.DataFrame) -> str:
    """What a table of `identity` says."""
    sentences = [way_in_words(way, row) for way, row in checks.iterrows()]
    if checks["converged"].all():
        sentences.append(f"The values of both agree to {_power(checks['apart'].max())}.")
    return " ".join(sentences)


def way_in_words(way: str, row: Mapping) -> str:
    """What one row of a table of `identity` says."""
    if row["holds"] and row["converged"]:
        return f"By {way} it holds to {_power(row['error'])}."
    if row["converged"]:
        return f"By {way} it does not hold: an error of {row['error']:.2g}."
    return (
        f"The {way} did not converge (a slope of {row['slope']:.2g} is left), so that its "
        f"error of {row['error']:.2g} says nothing of the identity."
    )


def shown_identity(checks: pd.DataFrame) -> pd.DataFrame:
    """A table of `identity` with numbers rounded up to a power of ten: the digits are noise."""
    numbers = checks[["error", "slope", "apart"]].map(_power)
    return numbers.assign(converged=checks["converged"], holds=checks["holds"])


def _power(number: float) -> str:
    """A number rounded up to a power of ten, 1e-12 at least."""
    return f"{10.0 ** np.ceil(np.log10(max(number, 1e-12))):.0e}"


class Recovered(NamedTuple):
    """Errors of rewards recovered from one transition, over all transitions that may happen.

    error, chance: [transitions], the chance being that of the next state given state and action.
    on_average: the largest |error| of a state and action in expectation over the next state.
    """

    error: np.ndarray
    chance: np.ndarray
    on_average: float


def recovered_rewards(mdp: tabular_mdp.Table, log_reference: np.ndarray, beta: float) -> Recovered:
    """The reward that log ratio and values of the optimum give for one transition, minus the true.

    r = A(s, a) + V(s) - gamma V(s'), with beta log(pi* / ref) as A.  log_reference: [s, a].
    """
    optimum = tabular_mdp.soft_value_iteration(mdp, log_reference, beta)
    error = tabular_mdp.recovered_reward(mdp, optimum, log_reference, beta) - mdp.reward
    happens = (mdp.transition > 0) & ~mdp.ends[:, None, None]
    on_average = (mdp.transition * error).sum(-1)[~mdp.ends]
    return Recovered(error[happens], mdp.transition[happens], np.abs(on_average).max())


def points(trained: pd.DataFrame, lake: fading_lake.FadingLake, step: int) -> pd.DataFrame:
    """Every state and action: `advantage` of the exact optimum, `ratio` of the policy after `step`.

    The optimum is that for the base as reference and for the beta of that step. `chance` is the
    base's probability of the action. States that end an episode are left out.
    """
    reference = _policy(trained, 0)
    rows = trained[trained["step"] == step]
    beta, table = float(rows["beta"].iloc[0]), lake.table()
    exact = tabular_mdp.soft_value_iteration(table, reference, beta)
    states, actions = np.indices(reference.shape)
    pairs = pd.DataFrame(
        {
            "state": states.ravel(),
            "action": actions.ravel(),
            "advantage": tabular_mdp.advantage(exact).ravel(),
            "ratio": (beta * (_policy(trained, step) - reference)).ravel(),
            "chance": np.exp(reference).ravel(),
        }
    )
    return pairs[~table.ends[pairs["state"]]].reset_index(drop=True)


def recovered_in_words(recovered: Mapping[float, Recovered]) -> str:
    """How far rewards recovered from one transition are off, as a title.

    recovered: chance to slip -> what `recovered_rewards` makes of it.
    """
    spread = {
        slip: np.sqrt(np.average(part.error**2, weights=part.chance))
        for slip, part in recovered.items()
    }
    off = ", ".join(f"{sd:.3f} at slip {slip:g}" for slip, sd in spread.items())
    right = all(part.on_average < ERROR for part in recovered.values())
    return f"Off by {off} (sd); {'' if right else 'not '}right on average over next states"


LEAST = 0.05
"""Advantages below this, either side of 0, are neither better nor worse than the average."""


def by_sign(pairs: pd.DataFrame) -> pd.DataFrame:
    """How much of the exact advantage the log ratio makes, for better and for worse replies.

    pairs: a table of `points`.  Rows "better" and "worse", of pairs whose advantage is further from
    0 than `LEAST`; columns replies (how many), advantage and log ratio (means), and share, the
    second mean by the first: 1 at the optimum. NaN where there are none.
    """
    rows = {}
    for name, sign in (("better", 1), ("worse", -1)):
        part = pairs[sign * pairs["advantage"] > LEAST]
        advantage, ratio = part["advantage"].mean(), part["ratio"].mean()
        rows[name] = {
            "replies": len(part),
            "advantage": advantage,
            "log ratio": ratio,
            "share": ratio / advantage,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def by_sign_in_words(signs: pd.DataFrame) -> str:
    """What a table of `by_sign` says, as a title."""
    better, worse = signs["share"]
    if np.isnan([better, worse]).any():
        return "Training moved no reply of one of the two kinds"
    under = "under-punished" if worse < better else "not under-punished"
    return f"Bad moves are {under}: {worse:.0%} of the exact advantage, good ones {better:.0%}"


def states_in_words(by_state: np.ndarray) -> str:
    """In how many states log ratio and advantage correlate positively, as a title.

    by_state: as `by_state` makes it.
    """
    known = by_state[~np.isnan(by_state)]
    positive = (known > 0).sum()
    return f"Log ratio and advantage correlate positively in {positive} of {len(known)} states"


def by_state(trained: pd.DataFrame, lake: fading_lake.FadingLake, step: int) -> np.ndarray:
    """Correlation of ratio and advantage over the actions of each state, [states].

    NaN in states that end an episode.
    """
    correlations = np.full(len(lake.whole.ends), np.nan)
    for state, rows in points(trained, lake, step).groupby("state"):
        correlations[state] = np.corrcoef(rows["advantage"], rows["ratio"])[0, 1]
    return correlations


def beside_exact(trained: pd.DataFrame, lake: fading_lake.FadingLake) -> pd.DataFrame:
    """How well the trained log ratio follows the exact advantage, a row a tabulated step.

    Pearson's correlation throughout: `correlation` over all states and actions, `weighted` with the
    base's probabilities as weights. States in which it is undefined are not counted.
    """
    rows = []
    for step in sorted(set(trained["step"]) - {0}):
        pairs, states = points(trained, lake, step), by_state(trained, lake, step)
        states = states[~np.isnan(states)]
        rows.append(
            {
                "step": step,
                "beta": trained.loc[trained["step"] == step, "beta"].iloc[0],
                "correlation": np.corrcoef(pairs["advantage"], pairs["ratio"])[0, 1],
                "weighted": weighted_correlation(
                    pairs["advantage"], pairs["ratio"], pairs["chance"]
                ),
                "by state, median": np.median(states),
                "states above 0": f"{(states > 0).sum()} of {len(states)}",
                "states above 0.5": f"{(states > 0.5).sum()} of {len(states)}",
            }
        )
    return pd.DataFrame(rows)


def beside_in_words(beside: pd.DataFrame) -> str:
    """What the last row of `beside_exact` says."""
    row = beside.iloc[-1]
    return (
        f"After {row['step']} steps log ratio and exact advantage correlate at "
        f"{row['correlation']:.2f} over all states and replies, and positively in "
        f"{row['states above 0']} states."
    )


def weighted_correlation(x, y, weights) -> float:
    """Pearson's correlation with weights, which need not sum to 1."""
    cov = np.cov(x, y, aweights=weights)
    return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def _policy(trained: pd.DataFrame, step: int) -> np.ndarray:
    """Log-probs of the policy after a step, [s, a]; the probabilities of a state sum to 1."""
    rows = trained[trained["step"] == step].sort_values(["state", "action"])
    log_policy = rows["log_policy"].to_numpy().reshape(-1, len(fading_lake.PLANS))
    return log_policy - np.logaddexp.reduce(log_policy, axis=1, keepdims=True)
