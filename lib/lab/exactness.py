"""A trained policy beside the exact optimum of its own MDP (`lib.lab.fading_lake`)."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lib.envs import tabular_mdp
from lib.lab import fading_lake, plan

ERROR, SLOPE = 1e-10, 1e-12
"""Below which the identity holds, and an optimiser of a return up to 1 has arrived."""


def read_or_train(source: str) -> pd.DataFrame:
    """The policies that `fading_lake.run` tabulates: "lab" reads the lab's, "live" trains anew."""
    if source == "lab":
        path = plan.DATA / "lake.parquet"
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}: make lab writes it")
        return pd.read_parquet(path)
    if source != "live":
        raise ValueError(f"source is {source!r}: expected lab or live")
    with tempfile.TemporaryDirectory() as folder:
        return fading_lake.run(
            plan.DATA / "models" / plan.Lake.base.name, Path(folder), steps=(30,)
        )


def identity(
    table: tabular_mdp.Table,
    ways: Mapping[str, tabular_mdp.Soft],
    log_reference: np.ndarray,
    beta: float,
) -> pd.DataFrame:
    """How far each optimum keeps to the identity, a row a way: `error`, `slope`, `apart`, `holds`.

    error: the largest |log ratio - advantage|.  slope: the largest of the return's gradient, which
    tells an optimiser that has not arrived (`converged`, `SLOPE`) from an identity that fails.
    apart: the largest difference of V from that of the first way.
    """
    live, first = ~table.ends, next(iter(ways.values()))
    rows = {}
    for name, found in ways.items():
        ratio = tabular_mdp.log_ratio(found, log_reference, beta)
        slope = np.abs(tabular_mdp.gradient(table, found, log_reference, beta)).max()
        rows[name] = {
            "error": np.abs(ratio - tabular_mdp.advantage(found))[live].max(),
            "slope": slope,
            "apart": np.abs(found.V - first.V).max(),
            "converged": slope < SLOPE,
        }
    found = pd.DataFrame.from_dict(rows, orient="index")
    return found.assign(holds=found["error"] < ERROR)


def identity_in_words(found: pd.DataFrame) -> str:
    """What a table of `identity` says."""
    said = []
    for way, row in found.iterrows():
        if row["holds"] and row["converged"]:
            said.append(f"By {way} it holds to {_power(row['error'])}.")
        elif row["converged"]:
            said.append(f"By {way} it does not hold: an error of {row['error']:.2g}.")
        else:
            said.append(
                f"The {way} did not converge (a slope of {row['slope']:.2g} is left), so that its "
                f"error of {row['error']:.2g} says nothing of the identity."
            )
    if found["converged"].all():
        said.append(f"The values of both agree to {_power(found['apart'].max())}.")
    return " ".join(said)


def shown_identity(found: pd.DataFrame) -> pd.DataFrame:
    """A table of `identity` with the power of ten that each number is below: the rest is noise."""
    numbers = found[["error", "slope", "apart"]].map(_power)
    return numbers.assign(converged=found["converged"], holds=found["holds"])


def _power(number: float) -> str:
    """The power of ten that a number is not above, from 1e-12 on."""
    return f"{10.0 ** np.ceil(np.log10(max(number, 1e-12))):.0e}"


def points(trained: pd.DataFrame, world: fading_lake.FadingLake, step: int) -> pd.DataFrame:
    """Every state and action: `advantage` of the exact optimum, `ratio` of the policy after `step`.

    The optimum is that of the base as reference and of the beta of that step. `chance` is how often
    the base takes the action there. States that end are left out.
    """
    reference = _policy(trained, 0)
    rows = trained[trained["step"] == step]
    beta, table = float(rows["beta"].iloc[0]), world.table()
    exact = tabular_mdp.soft_value_iteration(table, reference, beta)
    states, actions = np.indices(reference.shape)
    found = pd.DataFrame(
        {
            "state": states.ravel(),
            "action": actions.ravel(),
            "advantage": tabular_mdp.advantage(exact).ravel(),
            "ratio": (beta * (_policy(trained, step) - reference)).ravel(),
            "chance": np.exp(reference).ravel(),
        }
    )
    return found[~table.ends[found["state"]]].reset_index(drop=True)


def by_state(trained: pd.DataFrame, world: fading_lake.FadingLake, step: int) -> np.ndarray:
    """Correlation of ratio and advantage over the actions of each state, NaN where it is over."""
    found = np.full(len(world.whole.ends), np.nan)
    for state, rows in points(trained, world, step).groupby("state"):
        found[state] = np.corrcoef(rows["advantage"], rows["ratio"])[0, 1]
    return found


def beside_exact(trained: pd.DataFrame, world: fading_lake.FadingLake) -> pd.DataFrame:
    """How far the trained log ratio follows the exact advantage, a row a tabulated step.

    Pearson's correlation throughout: `correlation` is over all states and actions, `weighted` by
    the base's chances. A state in which it is undefined is not counted.
    """
    rows = []
    for step in sorted(set(trained["step"]) - {0}):
        found, states = points(trained, world, step), by_state(trained, world, step)
        states = states[~np.isnan(states)]
        rows.append(
            {
                "step": step,
                "beta": trained.loc[trained["step"] == step, "beta"].iloc[0],
                "correlation": np.corrcoef(found["advantage"], found["ratio"])[0, 1],
                "weighted": weighted_correlation(
                    found["advantage"], found["ratio"], found["chance"]
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
    """Log-probs of a step, [s, a], each state's summing to one."""
    rows = trained[trained["step"] == step].sort_values(["state", "action"])
    found = rows["log_policy"].to_numpy().reshape(-1, len(fading_lake.PLANS))
    return found - np.logaddexp.reduce(found, axis=1, keepdims=True)
