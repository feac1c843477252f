"""Rates and lifts of the conditions of a harness ablation, and the claims about them."""

import itertools

import numpy as np
import pandas as pd
import pytest

from lib import outcomes
from lib.claims import Contrast, harness_claims, harness_rates, untested_harness_claims

SUCCESSES = {
    "cue on, exact": (0, 2),
    "cue on, lenient": (0, 1, 2, 3),
    "cue off, exact": (),
    "cue off, lenient": (),
}
"""Condition -> the attempts, of 4, that make a valid call and pass."""

BASE = Contrast("m", "base", "cue off, exact", "cue on, lenient")
UNKNOWN = Contrast("other", "post-trained", "chat template, lenient", "cue on, lenient")


@pytest.fixture
def table():
    """Twelve tasks, four attempts at each in every condition."""
    rows = [
        {"benchmark": "b", "pair": "m", "arm": arm, "task": task, "attempt": attempt}
        | {"passed": attempt in passing, "valid_call": str(attempt in passing)}
        for (arm, passing), task, attempt in itertools.product(
            SUCCESSES.items(), "abcdefghijkl", range(4)
        )
    ]
    return outcomes.validate(pd.DataFrame(rows))


def test_rates_and_their_lift(table):
    rates = harness_rates.rates(table, 4).set_index("condition")
    assert rates.loc["cue on, exact", "pass@1"].value == pytest.approx(0.5)
    assert rates.loc["cue on, exact", "pass@4"].value == pytest.approx(1.0)
    assert rates.loc["cue on, exact", "valid calls"].value == pytest.approx(0.5)
    band = harness_rates.lift(table, "m", "cue off, exact", "cue on, lenient", 1)
    assert band == pytest.approx((1, 1, 1))


def test_unfinished_tasks_are_left_out_of_all_conditions_of_a_pair(table):
    torn = table.drop(table[(table["task"] == "a") & (table["arm"] == "cue on, exact")].index[:1])
    kept = harness_rates.whole_tasks(torn, 4)
    assert "a" not in set(kept["task"])
    assert len(kept) == len(table) * 11 // 12


def test_no_success_in_n_tasks_leaves_room_for_a_few():
    """The bound is the share at which n failures in a row still have a chance of 5 %."""
    for n in (1, 14, 40):
        assert (1 - harness_rates.largest_unseen(n)) ** n == pytest.approx(0.05)


def test_claims_of_the_harness(table):
    raises, unknown = harness_claims(table, [BASE, UNKNOWN], [1])
    assert raises.verdict == "holds"
    assert raises.value == pytest.approx(1)
    assert raises.published.startswith("5.59 to 15.63 %")
    assert unknown.verdict == "not tested here"


def test_a_floor_is_no_verdict(table):
    nothing = outcomes.validate(table.assign(passed=False))
    claim = harness_claims(nothing, [BASE], [4])[0]
    assert claim.verdict == "not tested here"
    assert "none of 96 attempts succeeded" in claim.why
    assert np.isnan(claim.value)


def test_claims_name_their_environment(table):
    claim = harness_claims(table, [BASE], [1], place="in the lab, ", there="desk")[0]
    assert claim.statement == "in the lab, the harness raises pass@1 of a base model: desk: m"
    assert claim.case == "desk: m"


def test_printed_benchmarks_without_runs_are_not_tested():
    made = {claim.statement: claim for claim in untested_harness_claims()}
    aces = made["the harness raises pass@32 of a base model: acebench"]
    assert aces.verdict == "not tested here"
    assert aces.published == "89.25 to 87.69 %, 8 models: it does not help there"
    assert not any("bfcl" in statement for statement in made)
