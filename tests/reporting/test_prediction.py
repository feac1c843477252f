"""What predicts the tax, over all comparisons and within an environment."""

import matplotlib.pyplot as plt
import numpy as np

from lib import claims, metrics, outcomes
from lib.reporting import prediction

CELL = {"dropped": None, "missing": {"base": 0, "post": 0}}


def studies(benchmarks):
    rng = np.random.default_rng(0)
    made = []
    for i, benchmark in enumerate(benchmarks):
        base, post = (
            metrics.Counts(rng.binomial(48, rng.beta(1, 1 + i, 12)), np.full(12, 48)) for _ in "ab"
        )
        comparison = outcomes.Comparison(benchmark, f"p{i}", base, post, **CELL)
        made.append(claims.Study(comparison, None))
    return made


def test_a_group_of_its_own_takes_enough_comparisons():
    made = studies(["a", "b", "a", "a"])
    splits = [object()] * 4
    groups = prediction.facets(made, splits, fewest=3)
    assert {name: len(part) for name, (part, _) in groups.items()} == {"pooled": 4, "a": 3}
    assert prediction.facets([], []) == {}


def test_the_figure_has_a_panel_for_each_group_and_outcome_and_titles_with_rho():
    made = studies(["a", "b", "a", "a"])
    splits = claims.split_taxes(made, [32, 8], n_splits=5)
    figure, rhos = prediction.prediction_figure(prediction.facets(made, splits, fewest=3))
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes]
    plt.close(figure)
    assert len(titles) == 4
    assert titles[1] == f"a, 3 comparisons: ρ = {rhos['Tax_S(32)']['a']:.2f}"
