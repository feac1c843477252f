"""Artifact 01: the committed table is whole, and says what the notebook says of it."""

from lib import ROOT, outcomes
from lib.claims import harness_rates

TABLE = outcomes.read(ROOT / "data" / "harness_ablation" / "outcomes.parquet")


def test_every_task_has_all_its_attempts_in_every_condition_of_its_pair():
    sizes = TABLE.groupby(["pair", "arm", "task"]).size()
    assert set(sizes) == {32}
    tasks = TABLE.groupby(["pair", "arm"])["task"].nunique().groupby("pair")
    assert (tasks.min() == tasks.max()).all()


def test_an_exact_reading_finds_no_more_than_a_lenient_one():
    valid = harness_rates.valid_calls(TABLE).groupby(["pair", "arm"])["passed"].sum()
    for pair, arm in valid.index:
        if arm.endswith("exact"):
            assert valid[pair, arm] <= valid[pair, arm.replace("exact", "lenient")]


def test_a_success_is_a_valid_call():
    assert (TABLE[TABLE["passed"]]["valid_call"] == "True").all()


def test_the_attempts_of_several_turns_are_all_graded():
    several = outcomes.read(ROOT / "data" / "harness_ablation" / "multi_turn.parquet")
    assert several["passed"].notna().all()
    assert set(several.groupby(["pair", "arm", "task"]).size()) == {8}
