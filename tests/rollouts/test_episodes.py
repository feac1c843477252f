"""What is collected, in batches and side by side."""

import itertools
import json
import threading
import time
from dataclasses import replace

import pytest

from lib.rollouts.collection import table
from lib.rollouts.policies import PolicyError, Reply, ScriptedPolicy
from lib.trajectories.schema import Message, Tool, ToolCall, Turn
from lib.trajectories.store import read_collection
from tests import buttons
from tests.collecting import Counting, guess, lines, run


def test_every_task_gets_n_attempts(tmp_path):
    found = run(tmp_path, n=3)
    assert list(found["task"].value_counts(sort=False)) == [3] * 4
    assert (found[["benchmark", "pair", "arm"]].drop_duplicates().to_numpy() == [
        ["buttons", "p", "a"]
    ]).all()  # fmt: skip
    assert 0 < found["passed"].sum() < len(found)
    assert found.equals(table(tmp_path))


def test_a_rollout_holds_messages_turns_seeds_and_info(tmp_path):
    run(tmp_path, n=1, tasks=["t2"], seed=7)
    (rollout,) = read_collection(tmp_path)
    assert rollout.key == ("buttons", "p", "a", "t2", 0)
    assert rollout.seeds == {"policy": 7, "world": 2}
    assert rollout.tools == (buttons.PRESS,)
    assert [turn.message for turn in rollout.turns] == [1, 3, 5][: len(rollout.turns)]
    assert rollout.info == {"tries": len(rollout.turns)}


def test_tools_are_stored_once(tmp_path):
    run(tmp_path)
    (file,) = tmp_path.glob("tools-*")
    assert file.read_text().count('"press"') == 1
    assert all(buttons.PRESS.description.encode() not in line for line in lines(tmp_path))


def test_tools_that_come_later_are_offered(tmp_path):
    late = Tool("late", "Comes later.")

    class Late(buttons.Buttons):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            episode.messages = (replace(episode.messages[0], tools=(late,)),)
            return episode

    offered = []
    policy = Counting(lambda context, key: offered.append(context.tools) or "", "offered")
    run(tmp_path, n=1, tasks=["t0"], policy=policy, environment=Late())
    assert offered[0] == (buttons.PRESS, late)


def test_ties_are_counted(tmp_path):
    tied = Reply(buttons.press(0), Turn(0), ties=2)
    run(tmp_path, n=1, tasks=["t0"], policy=ScriptedPolicy(lambda context, key: tied, "tied"))
    assert next(iter(read_collection(tmp_path))).info == {"tries": 1, "ties": 2}


def test_episodes_are_closed(tmp_path):
    made = []

    class Watched(buttons.Buttons):
        def reset(self, task, attempt):
            made.append(super().reset(task, attempt))
            return made[-1]

    run(tmp_path, environment=Watched())
    assert all(episode.closed for episode in made)


def test_text_that_no_tokenizer_takes_is_made_printable(tmp_path):
    seen = []

    def script(context, key):
        seen.append(context.messages[-1].content)
        return "half a pair: \ud800"

    run(tmp_path, n=1, tasks=["t0"], policy=ScriptedPolicy(script, "surrogate"))
    messages = next(iter(read_collection(tmp_path))).messages
    assert messages[1].content == "half a pair: ?"


def test_calls_are_made_printable_too(tmp_path):
    bad = ToolCall("press\ud800", {"\ud800": ["\udfff", 3]}, id="\ud800")
    policy = ScriptedPolicy(lambda context, key: Message("assistant", "", (bad,)), "surrogate")
    run(tmp_path, n=1, tasks=["t0"], policy=policy)
    messages = next(iter(read_collection(tmp_path))).messages
    assert messages[1].tool_calls == (ToolCall("press?", {"?": ["?", 3]}, id="?"),)


class Waiting(Counting):
    """Takes one request beside another, as a server does."""

    concurrency = 4


def test_attempts_side_by_side_give_the_same_table(tmp_path):
    assert run(tmp_path / "a", policy=Waiting(), at_once=3).equals(run(tmp_path / "b"))


def test_a_finished_attempt_is_in_the_file_while_others_wait(tmp_path):
    finished = threading.Event()

    def script(context, key):
        if key.attempt == 0:  # the first one waits until all others are in the file
            assert finished.wait(20)
        elif key.attempt == 7:
            while len(lines(tmp_path)) < 6:
                time.sleep(0.01)
            finished.set()
        return buttons.press(0)

    run(tmp_path, n=8, tasks=["t0"], policy=Waiting(script), at_once=2)
    assert [json.loads(line)["attempt"] for line in lines(tmp_path)][:6] == [1, 2, 3, 4, 5, 6]


def test_no_more_attempts_are_under_way_than_asked_for(tmp_path):
    open_now, most = set(), []

    class Watched(buttons.Buttons):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            open_now.add(episode)
            most.append(len(open_now))
            episode.close = lambda: open_now.discard(episode)
            return episode

    run(tmp_path, n=8, environment=Watched(), policy=Waiting(), at_once=3)
    assert (max(most), open_now) == (3, set())


def test_trouble_of_the_policy_side_by_side_stops_the_run_and_keeps_the_rest(tmp_path):
    counter = itertools.count()

    def script(context, key):
        if next(counter) == 20:
            raise PolicyError("no server answers at http://127.0.0.1:1/v1")
        return guess(context, key)

    with pytest.raises(PolicyError, match="no server"):
        run(tmp_path, policy=Waiting(script), at_once=2)
    assert 0 < len(lines(tmp_path)) < 16
    assert run(tmp_path).equals(run(tmp_path / "whole"))
