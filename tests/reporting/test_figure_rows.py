"""Rows for pictures hold the numbers of the studies that they are made of."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lib import claims, outcomes
from lib.reporting import figure_rows

STUDIES = claims.study(claims.load("published"), n_boot=40)


def test_kinds_of_tasks_are_shares():
    kinds = figure_rows.task_kinds(STUDIES)
    assert len(kinds) == 2 * len(STUDIES)
    assert kinds[["never", "sometimes", "always"]].sum(axis=1).to_numpy() == pytest.approx(1)


def test_taxes_are_grouped_by_benchmark():
    rows = figure_rows.taxes(STUDIES, "tax_S", 128)
    assert rows["benchmark"].ne(rows["benchmark"].shift()).sum() == 3
    assert rows.set_index(["pair", "benchmark"]).loc[
        ("gemma-4-31B", "webshop"), "value"
    ] == pytest.approx(0.0364, abs=5e-5)


def test_sizes_are_read_off_the_names_of_the_papers_pairs_alone():
    rows = figure_rows.sizes_of_pairs(STUDIES, "tax_S", 128)
    assert dict(zip(rows["pair"], rows["size"], strict=True)) == {
        "gemma-4-31B": 31,
        "Qwen2.5-32B": 32,
        "Qwen3.5-35B-A3B": 35,
        "Ministral-3-14B": 14,
    }
    mine = replace(STUDIES[0].comparison, pair="mine-7B")
    assert figure_rows.sizes_of_pairs([claims.Study(mine, STUDIES[0].tax)], "tax_S", 128).empty


def test_consistency_is_that_of_both_arms():
    row = figure_rows.consistency_shifts(STUDIES, 8).iloc[0]
    tax = STUDIES[0].tax
    assert row["before"] == tax.consistency_base.at(8).value
    assert row["after"] == tax.consistency_post.at(8).value
    assert row["low"] <= row["after"] - row["before"] <= row["high"]


def test_a_harness_shift_is_the_difference_of_its_ends_and_needs_both_conditions():
    rows = [
        {"pair": pair, "benchmark": "b", "arm": arm, "task": f"t{i}", "n": 16, "c": c + i}
        for pair, arm, c in (("a", "native", 0), ("a", "both", 4), ("z", "native", 1))
        for i in range(12)
    ]
    shifts = figure_rows.harness_shifts(
        outcomes.validate(pd.DataFrame(rows)), "native", "both", 1, n_boot=40
    )
    assert list(shifts["label"]) == ["a"]
    assert shifts.loc[0, "after"] - shifts.loc[0, "before"] == pytest.approx(0.25)
    assert shifts.loc[0, "note"].startswith("+0.25")
    assert np.isfinite(shifts.loc[0, "low"])


def test_the_headlines_on_ptgs_are_those_of_the_printed_table():
    rows = figure_rows.ptgs_headlines()
    assert list(rows["paper"]) == list(rows["from its printed table"])
    assert list(rows["where"]) == ["sokoban, ppo", "sokoban, grpo", "sokoban, grpo"]
