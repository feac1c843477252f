"""Artifact 02 on the published counts: accuracy, coverage and crossovers of the 12 comparisons."""

from math import comb

import numpy as np
import pandas as pd
import pytest

from lib import claims, outcomes
from lib.claims import paper_tables
from lib.metrics import coverage_curve

STUDIES = {s.comparison.label: s.tax for s in claims.study(claims.load("published"), n_boot=200)}

CROSSOVERS = {
    "gemma-4-31B": {"bfcl": 32, "webshop": 3, "acebench": 49},
    "Qwen2.5-32B": {"bfcl": 35, "webshop": 4, "acebench": 30},
    "Qwen3.5-35B-A3B": {"bfcl": 87, "webshop": 17, "acebench": 18},
    "Ministral-3-14B": {"bfcl": np.inf, "webshop": 48, "acebench": 82},
}


@pytest.mark.parametrize("pair", CROSSOVERS)
def test_crossovers(pair):
    found = {b: STUDIES[f"{pair} on {b}"].crossover.value for b in CROSSOVERS[pair]}
    assert found == CROSSOVERS[pair]


def test_curves_of_all_cells_are_what_their_histograms_imply():
    """By hand, with binomials in whole numbers, at the budgets that were printed."""
    table = paper_tables.rollout_counts()
    for _, cell in table.groupby(["benchmark", "pair", "arm"]):
        curve = coverage_curve((cell["c"], cell["n"], cell["tasks"]), 128)
        for k in (1, 2, 8, 32, 128):
            misses = [comb(128 - c, k) / comb(128, k) for c in cell["c"]]
            by_hand = 1 - np.average(misses, weights=cell["tasks"])
            assert curve[k - 1] == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize(
    ("claim", "arm"), [("webshop_base_128", "base"), ("webshop_post_128", "post")]
)
def test_coverage_the_paper_prints(claim, arm):
    printed = paper_tables.headline(claim)
    here = 100 * getattr(STUDIES["gemma-4-31B on webshop"], f"coverage_{arm}").value[-1]
    if printed.printed.startswith(">"):
        assert here > printed.value
    else:
        assert here == pytest.approx(printed.value, abs=printed.tolerance)


def test_the_published_arms_are_resampled_apart():
    assert not any(tax.paired for tax in STUDIES.values())


def test_named_tasks_are_resampled_together():
    rows = [
        {"pair": "p", "benchmark": "b", "arm": arm, "task": t, "n": 8, "c": c}
        for arm, c in (("base", 2), ("post", 5))
        for t in "xyz"
    ]
    table = outcomes.validate(pd.DataFrame(rows))
    assert claims.study(table)[0].tax.paired
