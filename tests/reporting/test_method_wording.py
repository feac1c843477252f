"""What methods come to, in words: computed from their runs, and no more than these say."""

import numpy as np
import pandas as pd
import pytest

from lib.claims import pilot_claims
from lib.lab import results, tables
from lib.reporting import method_wording as wording
from tests import lab_runs

TABLE = lab_runs.evaluations()
SCORES = results.scores(TABLE, K=8)
BASES = pd.DataFrame(
    {"temperature": [0.3, 0.5, 1.0], "pass@1": [0.5, 0.4, 0.2], "pass@8": [0.8, 0.8, 0.9]}
).assign(**{"pass^8": [0.2, 0.1, 0.0]})
RUNS = pd.DataFrame({"sampler": "ptgs", "seed": [0, 1], "pass@1": [0.45, 0.55]}).assign(
    **{"pass^8": [0.4, 0.5], "pass@8": 0.7, "crossover": [2.0, 4.0]}
)
NOTHING = "No base, or no run, was evaluated here."


def test_cooling_is_set_beside_training():
    lines = wording.cooling_in_words(BASES, RUNS, 8, 0.5).splitlines()
    assert lines == [
        "Cooling the base from T = 0.5 to 0.3 changes",
        "- pass@1 by +0.100; training changes it by +0.100, of which that is 100%",
        "- pass^8 by +0.100; training changes it by +0.350, of which that is 29%",
        "- pass@8 by +0.000; training changes it by -0.100",
        "Of 2 runs, above the base at its best temperature: 1 in pass@1, 2 in pass^8, 0 in pass@8.",
    ]


@pytest.mark.parametrize(("bases", "runs"), [(BASES[:0], RUNS), (BASES, RUNS[:0])])
def test_without_a_base_or_a_run_there_is_nothing_to_say(bases, runs):
    assert wording.cooling_in_words(bases, runs, 8, 0.5) == NOTHING
    assert wording.training_table(bases, runs, 8, 0.5).empty
    assert wording.against_base_title(bases, runs, "pass@8").endswith("no base to compare with")


def test_training_is_shown_beside_its_base():
    row = wording.training_table(BASES, RUNS, 8, 0.5).iloc[0]
    assert row.tolist() == ["pass@1", "0.400", "0.500 (0.450 to 0.550)", "2 of 2", "0.500"]


@pytest.mark.parametrize(
    ("measure", "title"),
    [
        ("pass@8", "pass@8: all 2 runs below the base at every T"),
        ("pass^8", "pass^8: all 2 runs above the base at every T"),
        ("pass@1", "pass@1: 1 of 2 runs above the base at its best T"),
    ],
)
def test_runs_are_set_against_the_base_at_all_its_temperatures(measure, title):
    assert wording.against_base_title(BASES, RUNS, measure) == title


@pytest.mark.parametrize(
    ("crossovers", "title"),
    [
        ([2, 4], "base overtakes 2 of 2 runs, k = 3 (median)"),
        ([1, 4], "base overtakes 1 of 2 runs, k = 4; 1 below it from the start"),
        ([1, np.inf], "1 below it from the start; 1 never overtaken"),
        ([np.nan], "no base to compare with"),
        ([], "not run here"),
    ],
)
def test_a_run_below_its_base_from_the_start_is_not_overtaken(crossovers, title):
    assert wording.overtaking_title(pd.DataFrame({"crossover": crossovers})) == title


def test_titles_of_measures_have_the_difference_and_its_interval():
    title = wording.difference_title(SCORES, "pass@1", "accuracy")
    assert title == "accuracy\nPTGS minus fixed: 0.250 [0.250, 0.250]"
    alone = SCORES[SCORES["sampler"] == "ptgs"]
    assert wording.difference_title(alone, "pass@1", "accuracy") == "accuracy"
    assert wording.difference_title(alone[:0], "pass@1", "accuracy") == "accuracy"


def test_intervals_off_zero_are_counted_in_titles():
    rows = pd.DataFrame({"low": [0.1, -0.1, 0.2], "high": [0.2, 0.1, 0.2]})
    assert wording.off_zero_title(rows, "x") == "x: 1 of 2 intervals off zero"
    assert wording.off_zero_title(rows[2:], "x") == "x: no interval"


def test_intervals_off_zero_are_counted_and_named():
    rows = tables.differences(TABLE, lab_runs.runs(), 8)
    wide = rows.assign(low=rows["value"] - 0.1, high=rows["value"] + 0.1)
    text = wording.off_zero(wide[wide["against"] == "fixed"])
    assert "- pass@8 sokoban grpo lr 0.0003, held-out tasks, T = 0.5, minus fixed: 0.500" in text
    assert "no interval" in wording.off_zero(rows)  # all seeds differ alike
    assert "fewer than 3 seeds" in wording.off_zero(rows[:0])
    none = wording.off_zero(rows.assign(low=-1.0, high=1.0))
    assert none == f"0 of {len(rows)} intervals lie off zero; by chance 1 in 20 would."


def test_rates_are_set_against_methods():
    slow = SCORES.assign(rate=1e-4, **{"pass@1": SCORES["pass@1"] - 0.1})
    both = pd.concat([SCORES, slow])
    text = wording.rates_in_words(both, "pass@1")
    assert "at 0.0001 minus at 0.0003, -0.100 to -0.100 over fixed, ptgs, yoked;" in text
    assert "0.250 at most (means of 3 seeds): neither decides alone." in text
    title = wording.rates_title(both, "pass@1")
    assert title == "pass@1: 0.100 between learning rates,\n0.250 at most between methods"


def test_one_rate_decides_nothing():
    assert "No method is run at two" in wording.rates_in_words(SCORES, "pass@1")
    assert wording.rates_title(SCORES, "pass@1") == "pass@1: one learning rate"


def sizes(crossovers):
    """The words on runs with these crossovers, a list a size."""
    rows = [{"size": size, "crossover": k} for size, ks in crossovers.items() for k in ks]
    own = pd.DataFrame({"size": list(crossovers), "pass@1": 0.2, "pass@8": 0.9})
    return wording.sizes_in_words(own, pd.DataFrame(rows), 8).splitlines()


def test_runs_below_their_base_from_the_start_have_no_part_in_the_order_of_sizes():
    small, large, verdict = sizes({"0.06M": [3, 8], "1M": [1, 5]})
    assert small.endswith("2 of 2 runs ahead at one attempt, overtaken at k = 3, 8.")
    assert large.endswith("overtaken at k = 5; 1 below the base from the start.")
    assert verdict.startswith("Medians of k* 5.5, 5.0, without 1 run below the base")
    assert verdict.endswith("they fall with size.")


def test_sizes_out_of_order_are_called_so():
    assert sizes({"0.06M": [2], "1M": [3]})[-1].endswith("do not fall steadily with size.")
    assert sizes({"0.06M": [2], "1M": [1]})[-1].startswith("Too few sizes")
    assert wording.sizes_in_words(BASES, RUNS[:0], 8) == "not run here"


def test_pilots_are_titled_by_their_claim():
    rows = [
        {"world": "w", "policy": "base", "seed": seed, "method": method, "total": 16}
        | {"coverage": 0.5 + 0.1 * (method == "ptgs") + 0.01 * seed * (method == "ptgs")}
        for seed in range(3)
        for method in ("fixed", "matched", "ptgs")
    ]
    title = wording.pilots_title(pilot_claims(pd.DataFrame(rows))[0])
    assert title.startswith("w, frozen base: holds\nPTGS minus same mean T: 0.110 [")
