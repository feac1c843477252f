"""The harness ablation: both readings of the same completions, and what they are compared with."""

import json

import numpy as np
import pandas as pd
import pytest

from lib import outcomes
from lib.claims import harness_claims, harness_rates
from lib.envs import Outcome
from lib.rollouts.collection import collect
from lib.rollouts.policies import ScriptedPolicy
from lib.trajectories.schema import Message, Tool

TOOL = Tool("add", "", {"properties": {"a": {"type": "integer"}}, "required": ["a"]})
EXACT = '```tool_call\n[{"name": "add", "arguments": {"a": 1}}]\n```'
LOOSE = "```tool_call\n[{'name': 'add', 'arguments': {'a': '1'}}]\n```"


class OneCall:
    """A world of one reply, passed by the call add(a=1)."""

    name = "one_call"

    def tasks(self):
        return tuple("abcdefghijkl")

    def reset(self, task, attempt):
        return _Episode()


class _Episode:
    system, tools, messages, seeds, outcome, done = (
        "",
        (TOOL,),
        (Message("user", "q"),),
        {},
        None,
        0,
    )

    def step(self, reply):
        self.done = True
        self.outcome = Outcome([c.arguments for c in reply.tool_calls] == [{"a": 1}])
        return ()

    def close(self):
        pass


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Cue on: odd attempts write the call loosely, even ones exactly; cue off: prose only."""
    out = tmp_path_factory.mktemp("ablation")
    said = {"harness": lambda _, key: (EXACT, LOOSE)[key.attempt % 2], "plain": lambda *_: "prose"}
    for name, script in said.items():
        policy = ScriptedPolicy(script, name)
        collect(policy, OneCall(), OneCall().tasks(), 4, out / name, pair="m", arm=name)
    return harness_rates.conditions([out / name for name in said], OneCall())


def test_both_readings_grade_the_same_completions(table):
    passed = table.groupby("arm")["passed"].mean().to_dict()
    assert passed == {
        "cue on, exact": 0.5,
        "cue on, lenient": 1.0,
        "cue off, exact": 0.0,
        "cue off, lenient": 0.0,
    }


def test_rates_and_their_lift(table):
    found = harness_rates.rates(table, 4).set_index("condition")
    assert found.loc["cue on, exact", "pass@1"].value == pytest.approx(0.5)
    assert found.loc["cue on, exact", "pass@4"].value == pytest.approx(1.0)
    assert found.loc["cue on, exact", "valid calls"].value == pytest.approx(0.5)
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
    raises, *_, unknown = harness_claims(table, "m", "other", [1])
    assert raises.verdict == "holds"
    assert raises.value == pytest.approx(1)
    assert raises.published.startswith("5.59 to 15.63 %")
    assert unknown.verdict == "not tested here"


def test_a_floor_is_no_verdict(table):
    nothing = outcomes.validate(table.assign(passed=False))
    claim = harness_claims(nothing, "m", "other", [4])[0]
    assert claim.verdict == "not tested here"
    assert "none of 96 attempts succeeded" in claim.why
    assert np.isnan(claim.value)


def test_the_readings_survive_the_file(table, tmp_path):
    outcomes.write(table, tmp_path / "t.parquet")
    read = outcomes.read(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(harness_rates.valid_calls(read), harness_rates.valid_calls(table))
    assert json.loads(read.head(1).to_json(orient="records"))[0]["valid_call"] == "True"
