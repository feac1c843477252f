"""Training methods compared seed by seed.

Tables hold a row a run: `seed`, `sampler` (the training method), and a column a measure.
"""

from collections.abc import Sequence

import pandas as pd

from lib import metrics


def differences(
    table: pd.DataFrame,
    measure: str,
    method: str,
    against: str,
    by: Sequence[str] = (),
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Method minus method of the same seed: columns `by`, measure, arm, against, value, low, high,
    seeds.

    The seed is what was repeated, on the same tasks, so the interval is a t-interval over seeds
    (`metrics.t_interval`). A seed that lacks either method is left out.  by: the columns that tell
    apart all but methods and seeds; raises ValueError where they do not.  level: of the interval.
    """
    rows = []
    groups = table.groupby(list(by), sort=False) if by else [((), table)]
    for key, group in groups:
        if group.duplicated(["seed", "sampler"]).any():
            raise ValueError(
                f"several runs of one method and seed in {key or 'the table'}: name in `by`, now "
                f"{list(by)}, what tells them apart"
            )
        wide = group.set_index(["seed", "sampler"])[measure].unstack("sampler")  # noqa: PD010
        if not {method, against} <= set(wide.columns):
            continue
        gains = (wide[method] - wide[against]).dropna()
        band = metrics.t_interval(gains.to_numpy(), level)
        key = key if isinstance(key, tuple) else (key,)
        rows.append(
            dict(zip(by, key, strict=True))
            | {"measure": measure, "arm": method, "against": against}
            | {"value": band.value, "low": band.low, "high": band.high, "seeds": len(gains)}
        )
    columns = ["measure", "arm", "against", "value", "low", "high", "seeds"]
    return pd.DataFrame(rows, columns=[*by, *columns])


def shared_seeds(table: pd.DataFrame, method: str, against: str) -> set[int]:
    """The seeds that both methods were run with."""
    ours, theirs = (set(table.loc[table["sampler"] == name, "seed"]) for name in (method, against))
    return ours & theirs
