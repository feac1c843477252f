"""Every picture draws on the axes that it is given, or on the current ones, and returns them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import metrics, plotting

BASE = metrics.Counts(np.array([0, 1, 3, 4, 6, 2]), np.full(6, 16))
POST = metrics.Counts(np.array([0, 0, 16, 16, 12, 0]), np.full(6, 16))
TAX = metrics.sharpening_tax(BASE, POST, 16, n_boot=50)
POINTS = pd.DataFrame(
    {"pair": ["p", "p", "_$q$"], "benchmark": ["a", "b", "_a"], "x": [1, 2, 3], "y": [3, 1, 2]}
).assign(x_sd=0.1, y_sd=0.2)
INTERVALS = pd.DataFrame({"value": [0.3, 0.6], "low": 0.2, "high": 0.7})
SHIFTS = pd.DataFrame({"label": ["_a"], "before": 0.2, "after": 0.4, "note": "up"}).assign(
    before_low=0.1, before_high=0.3, after_low=np.nan, after_high=np.nan
)
POSTERIORS, RATES = {"unseen": (0.5, 1.5), "hard": (1.5, 16.5)}, {"unseen": 0.2, "hard": 0.1}
SELECTION = metrics.selection(
    np.arange(16.0), np.tile([True, False, True, True], 4), np.repeat(range(4), 4), [1, 2, 4],
    n_boot=40,
)  # fmt: skip
SELECTIONS = {"progress advantage": SELECTION, "policy log-prob": SELECTION}


def of_runs(**columns):
    """A table with a row for each of two methods and two seeds."""
    return pd.DataFrame(
        {"sampler": method, "seed": seed, **columns}
        for method in ("fixed", "ptgs")
        for seed in (0, 1)
    )


TEMPERATURES = dict.fromkeys(["temperature_mean", "temperature_min", "temperature_max"], 1.0)
STEPS = pd.concat([of_runs(step=step, reward=0.5, **TEMPERATURES) for step in range(1, 21)])
CURVES = pd.concat([of_runs(k=k, coverage=1 - 0.5**k) for k in range(1, 9)])
SCORES = of_runs(**{"pass@1": 0.4, "pass@8": 0.8})
BASES = pd.DataFrame({"temperature": [0.5, 1.0], "pass@1": [0.3, 0.2], "pass@8": [0.5, 0.7]})
DIFFERENCES = INTERVALS.assign(cell=["a", "b"], against=["fixed", "yoked"])
SIZES = pd.DataFrame({"size": ["0.06M", "1M", "1M"], "crossover": [4, 8, np.inf]})
PILOTS = pd.DataFrame(
    {"method": method, "seed": seed, "total": total, "coverage": 0.1 * np.log2(total)}
    for method in ("fixed", "matched", "ptgs")
    for seed in (0, 1)
    for total in (16, 32)
)
WORDS = [{"words": ["[", "move", "]"], "score": [0.1, -0.2, 0.0]}]
BOARD = {"size": 3, "walls": [1], "player": 0, "box": 4, "goal": 8}

PLOTS = {
    "coverage": lambda ax: plotting.plot_coverage(TAX, ax=ax),
    "consistency": lambda ax: plotting.plot_consistency(TAX, ax=ax),
    "success rates": lambda ax: plotting.plot_success_rates(BASE, POST, ax=ax),
    "area": lambda ax: plotting.plot_area(TAX.coverage_base.value, ax=ax),
    "tax": lambda ax: plotting.plot_tax(INTERVALS.assign(pair="p", benchmark=["a", "b"]), ax=ax),
    "conditions": lambda ax: plotting.plot_conditions(
        INTERVALS.assign(condition="c", rate=["pass@1", "pass@8"]), ax=ax
    ),
    "agreement": lambda ax: plotting.plot_agreement(POINTS, ax=ax, rho=-0.5),
    "sizes of pairs": lambda ax: plotting.plot_sizes_of_pairs(
        INTERVALS.assign(family=["f", "_g"], size=[3.0, 14.0]), ax=ax
    ),
    "shift": lambda ax: plotting.plot_shift(SHIFTS, ax=ax),
    "task kinds": lambda ax: plotting.plot_task_kinds(
        pd.DataFrame(
            {"pair": "_p", "arm": ["base", "post"], "never": 0.2, "sometimes": 0.8, "always": 0.0}
        ),
        ax=ax,
    ),
    "identity": lambda ax: plotting.plot_identity([0, 1], [0, 0.5], weights=[1, 2], ax=ax),
    "spread": lambda ax: plotting.plot_spread([0, 0.1], [1, 1], reach=0.2, ax=ax),
    "posteriors": lambda ax: plotting.plot_posteriors(POSTERIORS, RATES, pivot=0.25, ax=ax),
    "temperature": lambda ax: plotting.plot_temperature(
        {"a": lambda rate: 1.5 - rate}, RATES.values(), ax=ax
    ),
    "temperature ranges": lambda ax: plotting.plot_temperature_ranges(
        POSTERIORS, lambda rate: 1.5 - rate, ax=ax
    ),
    "training": lambda ax: plotting.plot_training(STEPS, "reward", ax=ax),
    "training temperature": lambda ax: plotting.plot_training(STEPS, "temperature", ax=ax),
    "method coverage": lambda ax: plotting.plot_method_coverage(CURVES, ax=ax),
    "seeds": lambda ax: plotting.plot_seeds(SCORES, "pass@8", base=0.5, ax=ax),
    "cooling": lambda ax: plotting.plot_cooling(BASES, SCORES, "pass@8", ax=ax),
    "differences": lambda ax: plotting.plot_differences(DIFFERENCES, ax=ax),
    "rates": lambda ax: plotting.plot_rates(SCORES.assign(rate=1e-4), "pass@8", ax=ax),
    "sizes": lambda ax: plotting.plot_sizes(SIZES, "crossover", top=16, ax=ax),
    "pilots": lambda ax: plotting.plot_pilots(PILOTS, ax=ax),
    "selection": lambda ax: plotting.plot_selection(SELECTIONS, ax=ax),
    "deployable": lambda ax: plotting.plot_deployable({"base": SELECTIONS}, ax=ax),
    "aggregations": lambda ax: plotting.plot_aggregations(
        pd.DataFrame([[0.4, 0.6]], ["mean"], ["mean", "min"]), middle=0.5, ax=ax
    ),
    "auroc leads": lambda ax: plotting.plot_auroc_leads(
        INTERVALS.assign(selector=list(SELECTIONS), compared="pooled"), ax=ax
    ),
    "early": lambda ax: plotting.plot_early(
        INTERVALS.assign(selector="progress advantage", turn=[1, 2], running=[9, 4]), ax=ax
    ),
    "transcript": lambda ax: plotting.plot_transcript(WORDS, "score", reach=0.2, ax=ax),
    "board": lambda ax: plotting.plot_board(BOARD, ax=ax),
    "decisive": lambda ax: plotting.plot_decisive([1, 1, 2, np.nan], ax=ax),
    "attribution": lambda ax: plotting.plot_attribution(
        INTERVALS.rename(
            columns={"value": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
        ).assign(scorer=["a", "b"], rule="lowest"),
        ax=ax,
    ),
}
EMPTY = {
    "training": lambda: plotting.plot_training(STEPS.iloc[:0], "reward"),
    "method coverage": lambda: plotting.plot_method_coverage(CURVES.iloc[:0]),
    "seeds": lambda: plotting.plot_seeds(SCORES.iloc[:0], "pass@8"),
    "differences": lambda: plotting.plot_differences(DIFFERENCES.iloc[:0]),
    "rates": lambda: plotting.plot_rates(SCORES.iloc[:0], "pass@8"),
    "sizes": lambda: plotting.plot_sizes(SIZES.iloc[:0], "crossover"),
    "pilots": lambda: plotting.plot_pilots(PILOTS.iloc[:0]),
    "selection": lambda: plotting.plot_selection({}),
    "deployable": lambda: plotting.plot_deployable({}),
    "auroc leads": lambda: plotting.plot_auroc_leads(INTERVALS.iloc[:0]),
    "decisive": lambda: plotting.plot_decisive([np.nan]),
    "early": lambda: plotting.plot_early(INTERVALS.iloc[:0]),
    "attribution": lambda: plotting.plot_attribution(INTERVALS.iloc[:0]),
}


@pytest.mark.parametrize("name", PLOTS)
def test_plots_return_the_axes_they_draw_on(name):
    figure, ax = plt.subplots()
    assert PLOTS[name](ax) is ax
    assert len(figure.axes) == 1
    assert ax.has_data()
    figure.canvas.draw()


@pytest.mark.parametrize("name", PLOTS)
def test_plots_take_the_current_axes_by_default(name):
    ax = plt.gca()
    assert PLOTS[name](None) is ax


@pytest.mark.parametrize("name", EMPTY)
def test_what_was_not_run_says_so(name):
    assert [text.get_text() for text in EMPTY[name]().texts] == ["not run yet"]
