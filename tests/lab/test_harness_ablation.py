"""The harness ablation of collections: both readings grade the same completions."""

import json

import pandas as pd
import pytest

from lib import outcomes
from lib.claims import harness_rates
from lib.envs import Outcome
from lib.lab import harness_ablation
from lib.rollouts.collection import collect
from lib.rollouts.policies import ScriptedPolicy
from lib.trajectories.schema import Message, Tool

TOOL = Tool("add", "", {"properties": {"a": {"type": "integer"}}, "required": ["a"]})
EXACT = '```tool_call\n[{"name": "add", "arguments": {"a": 1}}]\n```'
LOOSE = "```tool_call\n[{'name': 'add', 'arguments': {'a': '1'}}]\n```"


class OneCall:
    """An environment of one reply, passed by the call add(a=1)."""

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
    replies = {
        "harness": lambda _, key: (EXACT, LOOSE)[key.attempt % 2],
        "plain": lambda *_: "prose",
    }
    for name, script in replies.items():
        policy = ScriptedPolicy(script, name)
        collect(policy, OneCall(), OneCall().tasks(), 4, out / name, pair="m", arm=name)
    folders = [out / name for name in replies]
    return harness_ablation.regraded(folders, OneCall())


def test_both_readings_grade_the_same_completions(table):
    passed = table.groupby("arm")["passed"].mean().to_dict()
    assert passed == {
        "cue on, exact": 0.5,
        "cue on, lenient": 1.0,
        "cue off, exact": 0.0,
        "cue off, lenient": 0.0,
    }


def test_the_readings_survive_the_file(table, tmp_path):
    outcomes.write(table, tmp_path / "t.parquet")
    read = outcomes.read(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(harness_rates.valid_calls(read), harness_rates.valid_calls(table))
    assert json.loads(read.head(1).to_json(orient="records"))[0]["valid_call"] == "True"
