"""What eight attempts predict: over all comparisons, and within each environment."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib import claims, metrics, plotting
from lib.reporting import figure_titles, tables


def split_outcomes(splits: Sequence[metrics.SplitTaxes]) -> dict[str, list]:
    """What Tax_S(8) is held against: name -> a list over comparisons of arrays over splits.

    splits: of `claims.split_taxes` at the budgets 32 and 8, in this order.
    """
    return {
        "Tax_S(32)": [split.tax_val[:, 0] for split in splits],
        "gain in pass^8": [split.consistency_gap[:, 1] for split in splits],
    }


def facets(
    studies: Sequence[claims.Study], splits: Sequence[metrics.SplitTaxes], fewest: int = 8
) -> dict[str, tuple[list, list]]:
    """All studies and splits as "pooled", then those of each benchmark with `fewest` or more."""
    if not studies:
        return {}
    groups = {"pooled": (list(studies), list(splits))}
    for benchmark in dict.fromkeys(study.comparison.benchmark for study in studies):
        kept = [study.comparison.benchmark == benchmark for study in studies]
        if sum(kept) >= fewest:
            groups[benchmark] = tuple(
                [part for part, keep in zip(parts, kept, strict=True) if keep]
                for parts in (studies, splits)
            )
    return groups


def prediction_figure(
    groups: Mapping[str, tuple[list, list]], *, seed: int = 0
) -> tuple[Figure, dict[str, dict[str, float]]]:
    """A column a group, a row an outcome: the figure, and outcome -> group -> Spearman's rho.

    groups: as `facets` makes them, on the same scales, so that a narrow range looks narrow.
    """
    studies, splits = groups["pooled"]
    names = list(dict.fromkeys(study.comparison.benchmark for study in studies))
    outcomes = list(split_outcomes(splits))
    size = (3.7 * len(groups), 2.8 * len(outcomes))
    figure, axes = plt.subplots(
        len(outcomes), len(groups), figsize=size, sharex=True, sharey="row", squeeze=False
    )
    rhos: dict[str, dict[str, float]] = {outcome: {} for outcome in outcomes}
    for column, (where, (part, part_splits)) in zip(axes.T, groups.items(), strict=True):
        for ax, (outcome, values) in zip(column, split_outcomes(part_splits).items(), strict=True):
            rho = claims.agreement(part, part_splits, values, seed=seed).rho
            points = tables.agreement_points(part, part_splits, values)
            points["pair"] = points["benchmark"]
            plotting.plot_agreement(points, benchmarks=names, ax=ax)
            ax.set_title(figure_titles.agreement_title(where, len(part), rho))
            ax.set(xlabel="Tax_S(8), from 8 attempts", ylabel=outcome)
            ax.label_outer()
            rhos[outcome][where] = rho
    plotting.shared_legend(figure, list(axes.flat), len(names))
    return figure, rhos
