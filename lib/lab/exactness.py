"""A trained policy beside the exact optimum of its own MDP (`lib.lab.lake`)."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from lib import tabular
from lib.lab import lake, plan


def read_or_train(source: str) -> pd.DataFrame:
    """The policies that `lake.run` tabulates: "lab" reads the lab's table, "live" trains anew."""
    if source == "lab":
        path = plan.DATA / "lake.parquet"
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}: make lab writes it")
        return pd.read_parquet(path)
    if source != "live":
        raise ValueError(f"source is {source!r}: expected lab or live")
    with tempfile.TemporaryDirectory() as folder:
        return lake.run(plan.DATA / "models" / plan.Lake.base.name, Path(folder), steps=(30,))


def points(trained: pd.DataFrame, world: lake.FadingLake, step: int) -> pd.DataFrame:
    """Every state and action: `advantage` of the exact optimum, `ratio` of the policy after `step`.

    The optimum is that of the base as reference and of the beta of that step. `chance` is how often
    the base takes the action there. States that end are left out.
    """
    reference = _policy(trained, 0)
    rows = trained[trained["step"] == step]
    beta, table = float(rows["beta"].iloc[0]), world.table()
    exact = tabular.soft_value_iteration(table, reference, beta)
    states, actions = np.indices(reference.shape)
    found = pd.DataFrame(
        {
            "state": states.ravel(),
            "action": actions.ravel(),
            "advantage": tabular.advantage(exact).ravel(),
            "ratio": (beta * (_policy(trained, step) - reference)).ravel(),
            "chance": np.exp(reference).ravel(),
        }
    )
    return found[~table.ends[found["state"]]].reset_index(drop=True)


def by_state(trained: pd.DataFrame, world: lake.FadingLake, step: int) -> np.ndarray:
    """Correlation of ratio and advantage over the actions of each state, NaN where it is over."""
    found = np.full(len(world.whole.ends), np.nan)
    for state, rows in points(trained, world, step).groupby("state"):
        found[state] = np.corrcoef(rows["advantage"], rows["ratio"])[0, 1]
    return found


def beside_exact(trained: pd.DataFrame, world: lake.FadingLake) -> pd.DataFrame:
    """How far the trained log ratio follows the exact advantage, a row a tabulated step.

    `correlation` is over all states and actions, `weighted` by the base's chances.
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
                "states above 0.5": f"{(states > 0.5).sum()} of {len(states)}",
            }
        )
    return pd.DataFrame(rows)


def weighted_correlation(x, y, weights) -> float:
    """Pearson's correlation with weights, which need not sum to 1."""
    cov = np.cov(x, y, aweights=weights)
    return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def _policy(trained: pd.DataFrame, step: int) -> np.ndarray:
    """Log-probs of a step, [s, a], each state's summing to one."""
    rows = trained[trained["step"] == step].sort_values(["state", "action"])
    found = rows["log_policy"].to_numpy().reshape(-1, len(lake.PLANS))
    return found - np.logaddexp.reduce(found, axis=1, keepdims=True)
