"""A collection resumes, grows, and merges its shards."""

import json
import threading

import pytest

from lib.rollouts.collection import table
from lib.rollouts.policies import ScriptedPolicy
from lib.trajectories.manifest import CollectionError
from lib.trajectories.store import read_collection
from tests import buttons
from tests.collecting import BUTTONS, Counting, lines, ran, run


def test_a_rerun_runs_exactly_what_is_missing(tmp_path):
    whole = run(tmp_path, n=10, tasks=["t1"])
    kept = [line for line in lines(tmp_path) if json.loads(line)["attempt"] != 2]
    next(tmp_path.glob("rollouts-*")).write_bytes(b"".join(kept))
    policy = Counting()
    assert run(tmp_path, n=10, tasks=["t1"], policy=policy).equals(whole)
    assert ran(policy) == [("t1", 2)]


def test_topping_up_keeps_what_is_there(tmp_path):
    run(tmp_path, n=2)
    before, policy = lines(tmp_path), Counting()
    run(tmp_path, n=5, policy=policy)
    assert lines(tmp_path)[: len(before)] == before
    assert ran(policy) == [(task, a) for task in BUTTONS.tasks() for a in (2, 3, 4)]


def test_more_tasks_are_more_of_the_same(tmp_path):
    run(tmp_path / "grown", tasks=["t0", "t1"])
    grown = run(tmp_path / "grown", tasks=["t0", "t1", "t2", "t3"])
    assert grown.equals(run(tmp_path / "whole"))


def test_fewer_attempts_than_there_are_run_nothing(tmp_path):
    whole, policy = run(tmp_path, n=4), Counting()
    assert run(tmp_path, n=2, policy=policy).equals(whole)
    assert not ran(policy)


def test_a_task_named_twice_is_one_task(tmp_path):
    policy = Counting()
    run(tmp_path, n=2, tasks=["t0", "t0"], policy=policy)
    assert ran(policy) == [("t0", 0), ("t0", 1)]


def test_a_torn_end_is_run_again(tmp_path):
    whole = run(tmp_path)
    file = next(tmp_path.glob("rollouts-*"))
    file.write_bytes(file.read_bytes()[:-20])
    with next(tmp_path.glob("tools-*")).open("a") as tools:
        tools.write('{"key": "torn')
    policy = Counting()
    assert run(tmp_path, policy=policy).equals(whole)
    assert len(ran(policy)) == 1


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_how_many_are_under_way_changes_nothing(tmp_path, at_once):
    assert run(tmp_path / "a").equals(run(tmp_path / "b", at_once=at_once))


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_shards_merge_to_the_table_of_one_run(tmp_path, parts):
    for part in range(parts):
        found = run(tmp_path / "parts", shard=(part, parts))
    assert found.equals(run(tmp_path / "whole"))


def test_a_shard_may_have_no_task(tmp_path):
    assert run(tmp_path, tasks=["t0"], shard=(1, 2)).empty


def test_shards_may_run_at_the_same_time(tmp_path):
    environment = buttons.Buttons(16)
    gate = threading.Barrier(4)

    def one(part):
        gate.wait()
        run(tmp_path / "parts", n=8, environment=environment, shard=(part, 4))

    threads = [threading.Thread(target=one, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(tmp_path / "parts")) == 16 * 8
    assert table(tmp_path / "parts").equals(run(tmp_path / "whole", n=8, environment=environment))


def test_other_shards_take_up_where_some_left_off(tmp_path):
    run(tmp_path / "parts", n=2, shard=(0, 2))
    policy = Counting()
    assert run(tmp_path / "parts", n=2, policy=policy).equals(run(tmp_path / "whole", n=2))
    assert {task for task, _ in ran(policy)} == {"t1", "t3"}


def replies(*scripted):
    """A policy that says one thing after another, and the last for ever."""
    left = list(scripted)
    say = lambda context, key: left.pop(0) if len(left) > 1 else left[0]  # noqa: E731
    return ScriptedPolicy(say, "replies")


def test_progress_is_quiet_where_there_is_no_terminal(tmp_path, capfd):
    run(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_the_bar_shows_how_many_attempts_are_done_and_passed(tmp_path, capfd):
    run(tmp_path, n=2)
    found = run(tmp_path, n=4, progress=True)
    said = capfd.readouterr().err
    assert f" 8/{len(found)} [" in said.split("\r")[1]
    assert f"{found['passed'].sum()}/{len(found)} passed" in said
    assert "rollout/s" in said
    assert "<" in said  # the time left


def test_bfcl_is_collected(tmp_path):
    pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    from lib.envs import open_environment

    environment = open_environment("bfcl:multi_turn_base")
    found = run(
        tmp_path, n=2, environment=environment, tasks=environment.tasks()[:4], policy=replies("No.")
    )
    assert list(found["passed"]) == [False] * 8
    rollout = next(iter(read_collection(tmp_path)))
    assert [m.role for m in rollout.messages] == ["user", "assistant"] * 2


def test_more_attempts_than_memory_holds_are_refused(tmp_path):
    with pytest.raises(CollectionError, match="expected at most 10000000 in a folder"):
        run(tmp_path, n=10**14)


@pytest.mark.parametrize("label", [{"arm": ""}, {"pair": " "}])
def test_an_empty_label_is_refused_before_anything_is_collected(tmp_path, label):
    with pytest.raises(CollectionError, match="expected a name"):
        run(tmp_path / "out", **label)
    assert not (tmp_path / "out").exists()
