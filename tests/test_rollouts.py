"""The collector: resumes, tops up, refuses, merges, survives; and reads completions anew."""

import errno
import itertools
import json
import os
import random
import signal
import threading
import time
from dataclasses import replace
from importlib import metadata

import pytest

from lib.envs import Outcome
from lib.rollouts.collection import (
    check,
    collect,
    table,
    tabulate,
)
from lib.rollouts.policies import PolicyError, Reply, ScriptedPolicy
from lib.rollouts.prompts.harness import render_calls
from lib.rollouts.regrading import has_valid_call, regrade
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.jsonl import RolloutWriter
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import Message, Rollout, Tool, ToolCall, Turn
from lib.trajectories.store import read_collection
from tests import buttons
from tests.bench.kills import Collection, compare

WORLD = buttons.Buttons()


def guess(context, key):
    """Press a button that depends on the key and the turn alone."""
    return buttons.press(random.Random(f"{key}{len(context.messages)}").randrange(4))


class Counting(ScriptedPolicy):
    """Guesses, and keeps the keys of the attempts it was asked for."""

    def __init__(self, script=guess, name="guess"):
        super().__init__(script, name)
        self.started = []

    def start(self, keys):
        self.started += keys
        return super().start(keys)


def run(out, n=4, policy=None, world=WORLD, **settings):
    settings = {"pair": "p", "arm": "a", "tasks": world.tasks(), **settings}
    return collect(policy or Counting(), world, n=n, out=out, **settings)


def lines(out):
    files = sorted(out.glob("rollouts-*"))
    return [line for file in files for line in file.read_bytes().splitlines(keepends=True)]


def ran(policy):
    return [(key.task, key.attempt) for key in policy.started]


# ------------------------------------------------------------------------------ what is collected


def test_every_task_gets_n_attempts(tmp_path):
    found = run(tmp_path, n=3)
    assert list(found["task"].value_counts(sort=False)) == [3] * 4
    assert (found[["benchmark", "pair", "arm"]].drop_duplicates().to_numpy() == [
        ["buttons", "p", "a"]
    ]).all()  # fmt: skip
    assert 0 < found["passed"].sum() < len(found)
    assert found.equals(table(tmp_path))


def test_a_rollout_tells_all_there_is_to_know(tmp_path):
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
    run(tmp_path, n=1, tasks=["t0"], policy=policy, world=Late())
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

    run(tmp_path, world=Watched())
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


# -------------------------------------------------------------------------------- side by side


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

    run(tmp_path, n=8, world=Watched(), policy=Waiting(), at_once=3)
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


# -------------------------------------------------------------------------------- resume and grow


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
    assert ran(policy) == [(task, a) for task in WORLD.tasks() for a in (2, 3, 4)]


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


# ------------------------------------------------------------------------------------ the manifest


class Other(buttons.Buttons):
    name = "other"


class Slippery(buttons.Buttons):
    settings = {"slip": 0.2}  # noqa: RUF012


CHANGES = {
    "seed": {"seed": 1},
    "pair": {"pair": "q"},
    "arm": {"arm": "b"},
    "max_turns": {"max_turns": 3},
    "policy.script": {"policy": ScriptedPolicy(guess, "other")},
    "benchmark": {"world": type("Other", (buttons.Buttons,), {"name": "other"})()},
    "environment.slip": {
        "world": type("Slippery", (buttons.Buttons,), {"settings": {"slip": 1}})()
    },
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_setting_is_refused_by_name(tmp_path, name):
    run(tmp_path)
    before = lines(tmp_path)
    with pytest.raises(CollectionError, match=f"was collected with {name} = .*, now it is"):
        run(tmp_path, n=9, **CHANGES[name])
    assert lines(tmp_path) == before


def test_a_nested_setting_is_named_by_its_path(tmp_path):
    def policy(temperature):
        made = Counting()
        made.settings |= {"sampling": {"temperature": temperature, "stop": ["a"]}}
        return made

    run(tmp_path, policy=policy(0.7))
    with pytest.raises(CollectionError, match=r"policy.sampling.temperature = 0.7, now it is 1.0"):
        run(tmp_path, policy=policy(1.0))


def test_a_manifest_that_is_no_json(tmp_path):
    run(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CollectionError, match=r"manifest.json: not JSON.*another folder"):
        run(tmp_path)


def test_a_file_system_without_hard_links_keeps_the_first_manifest(tmp_path, monkeypatch):
    def link(source, target):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    run(tmp_path)
    with pytest.raises(CollectionError, match="was collected with seed = 0, now it is 1"):
        run(tmp_path, seed=1)


def test_another_version_of_a_package_only_warns(tmp_path):
    run(tmp_path)
    file = tmp_path / "manifest.json"
    there = json.loads(file.read_text())
    assert there["versions"]["torch"] == metadata.version("torch")
    there["versions"]["torch"] = "1.0"
    file.write_text(json.dumps(there))
    with pytest.warns(UserWarning, match=r"was begun with torch 1.0, now 2"):
        run(tmp_path)


def test_settings_are_checked_before_there_is_a_policy(tmp_path):
    settings = {"pair": "p", "arm": "a", "policy": {"policy": "scripted"}}
    check(WORLD, ["t0"], 1, tmp_path / "new", **settings)
    assert not (tmp_path / "new").exists()
    run(tmp_path)
    check(WORLD, ["t0"], 1, tmp_path, **settings)
    with pytest.raises(
        CollectionError, match=r"with policy.policy = 'scripted', now it is 'local'"
    ):
        check(WORLD, ["t0"], 1, tmp_path, **settings | {"policy": {"policy": "local"}})
    with pytest.raises(CollectionError, match="no task 't9'"):
        check(WORLD, ["t9"], 1, tmp_path, **settings)


@pytest.mark.parametrize(
    "settings", [{"n": 0}, {"at_once": 0}, {"shard": (2, 2)}, {"shard": (-1, 2)}]
)
def test_bad_numbers(tmp_path, settings):
    with pytest.raises(CollectionError, match="expected n and at_once of at least 1"):
        run(tmp_path, **settings)


def test_unknown_tasks_and_none(tmp_path):
    with pytest.raises(CollectionError, match=r"buttons has no task 't9'; its first task is 't0'"):
        run(tmp_path, tasks=["t0", "t9"])
    with pytest.raises(CollectionError, match="no task to collect"):
        run(tmp_path, tasks=[])


def test_an_empty_folder_has_no_table(tmp_path):
    with pytest.raises(CollectionError, match="no rollouts yet"):
        table(tmp_path)


def test_a_file_has_one_writer(tmp_path):
    seen = []

    def script(context, key):
        if not seen:
            seen.append(key)
            with pytest.raises(ValueError, match="is being written by another process"):
                run(tmp_path)
        return guess(context, key)

    run(tmp_path, policy=ScriptedPolicy(script, "guess"))
    assert seen


# ----------------------------------------------------------------------------------------- shards


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_shards_merge_to_the_table_of_one_run(tmp_path, parts):
    for part in range(parts):
        found = run(tmp_path / "parts", shard=(part, parts))
    assert found.equals(run(tmp_path / "whole"))


def test_a_shard_may_have_no_task(tmp_path):
    assert run(tmp_path, tasks=["t0"], shard=(1, 2)).empty


def test_shards_may_run_at_the_same_time(tmp_path):
    world = buttons.Buttons(16)
    gate = threading.Barrier(4)

    def one(part):
        gate.wait()
        run(tmp_path / "parts", n=8, world=world, shard=(part, 4))

    threads = [threading.Thread(target=one, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(tmp_path / "parts")) == 16 * 8
    assert table(tmp_path / "parts").equals(run(tmp_path / "whole", n=8, world=world))


def test_other_shards_take_up_where_some_left_off(tmp_path):
    run(tmp_path / "parts", n=2, shard=(0, 2))
    policy = Counting()
    assert run(tmp_path / "parts", n=2, policy=policy).equals(run(tmp_path / "whole", n=2))
    assert {task for task, _ in ran(policy)} == {"t1", "t3"}


# ---------------------------------------------------------------------------------------- trouble


def replies(*scripted):
    """A policy that says one thing after another, and the last for ever."""
    left = list(scripted)
    say = lambda context, key: left.pop(0) if len(left) > 1 else left[0]  # noqa: E731
    return ScriptedPolicy(say, "replies")


def outcome_of(tmp_path, policy, world=WORLD, **settings):
    run(tmp_path, n=1, tasks=["t3"], policy=policy, world=world, **settings)
    (rollout,) = read_collection(tmp_path)
    return rollout.passed, rollout.reason


def test_trouble_is_missing_and_never_a_failure(tmp_path):
    trouble = Reply(Message("assistant", ""), Turn(0), trouble="timeout: no reply within 5 s")
    assert outcome_of(tmp_path, replies(buttons.press(0), trouble)) == (None, trouble.trouble)
    (row,) = table(tmp_path).itertuples()
    assert row.reason == trouble.trouble


def unlucky(context, key):
    """Every second attempt meets trouble."""
    trouble = "server error 503: busy" if key.attempt % 2 else ""
    return Reply(guess(context, key), Turn(0), trouble)


def test_missing_attempts_run_anew_where_that_is_asked_for(tmp_path):
    found = run(tmp_path, policy=ScriptedPolicy(unlucky, "guess"))
    assert found["passed"].isna().sum() == 8
    assert run(tmp_path).equals(found)
    policy = Counting()
    assert run(tmp_path, policy=policy, retry_missing=True).equals(run(tmp_path / "whole"))
    assert ran(policy) == [(task, a) for task in WORLD.tasks() for a in (1, 3)]
    assert len(lines(tmp_path)) == 16 + 8


def test_a_missing_attempt_may_stay_missing(tmp_path):
    for _ in range(2):
        policy = ScriptedPolicy(unlucky, "guess")
        found = run(tmp_path, policy=policy, retry_missing=True)
    assert (len(found), found["passed"].isna().sum()) == (16, 8)


def test_of_the_lines_of_an_attempt_one_counts(tmp_path):
    """A graded one before a missing one, then the later one, files in the order of their names."""
    fields = [(False, "first"), (None, "trouble"), (True, "last"), (None, "more trouble")]
    base = Rollout("buttons", "p", "a", "t0", 0, True)
    for number, (passed, reason) in enumerate(fields):
        with RolloutWriter(tmp_path / f"rollouts-{number % 2:03}-of-002.jsonl") as file:
            file.write(replace(base, passed=passed, reason=reason))
    (one,) = read_collection(tmp_path)
    assert one.reason == "last"
    assert list(table(tmp_path)["passed"]) == [True]


def test_a_full_context_is_a_failure_with_a_reason(tmp_path):
    full = Reply(Message("assistant", ""), Turn(0, finish="context"))
    passed, reason = outcome_of(tmp_path, replies(full))
    assert passed is False
    assert reason.startswith("context: ")


def test_too_many_replies_are_a_failure(tmp_path):
    found = outcome_of(tmp_path, replies(buttons.press(0)), max_turns=2)
    assert found == (False, "no end after 2 replies")


def test_a_rollout_that_no_file_can_hold_is_missing(tmp_path):
    endless = Message("assistant", "", (ToolCall("press", {"n": float("inf")}),))
    passed, reason = outcome_of(tmp_path, replies(endless))
    assert passed is None
    assert "cannot be written as JSON: Out of range float values" in reason


def test_a_world_that_breaks_is_missing(tmp_path):
    class Broken(buttons.Buttons):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            episode.step = lambda reply: [][0]
            return episode

    passed, reason = outcome_of(tmp_path, replies("hm"), Broken())
    assert passed is None
    assert reason == "the environment raised IndexError: list index out of range"


def test_a_grader_that_cannot_decide_is_missing(tmp_path):
    class Undecided(buttons.Buttons):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            episode.step = lambda reply: setattr(episode, "outcome", Outcome(None, "?")) or ()
            return episode

    assert outcome_of(tmp_path, replies("hm"), Undecided()) == (None, "?")


def test_a_policy_that_cannot_go_on_stops_the_run_and_keeps_the_rest(tmp_path):
    counter = itertools.count()

    def script(context, key):
        if next(counter) == 20:
            raise PolicyError("no server answers at http://127.0.0.1:1/v1")
        return guess(context, key)

    with pytest.raises(PolicyError, match="no server"):
        run(tmp_path, policy=ScriptedPolicy(script, "guess"), at_once=2)
    assert 0 < len(lines(tmp_path)) < 16
    assert run(tmp_path).equals(run(tmp_path / "whole"))


def test_an_interrupt_leaves_a_valid_file(tmp_path):
    counter = itertools.count()

    def script(context, key):
        if next(counter) == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return guess(context, key)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, policy=ScriptedPolicy(script, "guess"), at_once=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert all(line.endswith(b"}\n") for line in lines(tmp_path))
    assert 0 < len(lines(tmp_path)) < 16
    assert run(tmp_path).equals(run(tmp_path / "whole"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scripted", "side by side"])
def test_three_kills_change_nothing(tmp_path, kind):
    _, differ, _ = compare(kind, 3, random.Random(0), tmp_path)
    assert differ == 0


@pytest.mark.slow
def test_a_killed_shard_beside_a_running_one_is_no_trouble(tmp_path):
    Collection("scripted", tmp_path).disturb(0.05)
    file = tmp_path / "rollouts-001-of-002.jsonl"
    file.write_bytes(b'{"schema": 1, "bench')  # as a line looks while it is being written
    Collection("scripted", tmp_path).finish()
    assert len(table(tmp_path)) == 6 * 20


# --------------------------------------------------------------------------------------- progress


def test_progress_is_quiet_where_there_is_no_terminal(tmp_path, capfd):
    run(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_the_bar_tells_what_is_done_and_how_well_it_went(tmp_path, capfd):
    run(tmp_path, n=2)
    found = run(tmp_path, n=4, progress=True)
    said = capfd.readouterr().err
    assert f" 8/{len(found)} [" in said.split("\r")[1]
    assert f"{found['passed'].sum()}/{len(found)} passed" in said
    assert "rollout/s" in said
    assert "<" in said  # the time left


# ------------------------------------------------------------------------------------- a benchmark


def test_bfcl_is_collected(tmp_path):
    pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    from lib.envs import open_environment

    world = open_environment("bfcl:multi_turn_base")
    found = run(tmp_path, n=2, world=world, tasks=world.tasks()[:4], policy=replies("No."))
    assert list(found["passed"]) == [False] * 8
    rollout = next(iter(read_collection(tmp_path)))
    assert [m.role for m in rollout.messages] == ["user", "assistant"] * 2


# -------------------------------------------------------------------------------------- regrading


class OneTry(buttons.Buttons):
    """A single turn: one try."""

    def reset(self, task, attempt):
        episode = super().reset(task, attempt)
        episode.tries = 2
        return episode


GOOD = render_calls([ToolCall("press", {"n": 3})])
TEXTS = {
    "robust, paper and exact": GOOD,
    "robust and paper": GOOD.replace("3}", "3,}"),
    "robust": GOOD.replace('"n": 3', "n: 3"),
    "none": "I press 3.",
}


def written(text, **changes):
    messages = (Message("user", "?"), Message("assistant", text))
    fields = {"messages": messages, "turns": (Turn(1, finish="stop"),), **changes}
    return Rollout("buttons", "p", "a", "t3", 0, False, **fields)


@pytest.mark.parametrize("parser", ["robust", "paper", "exact"])
@pytest.mark.parametrize("readers", TEXTS)
def test_the_same_text_is_graded_by_each_parser(parser, readers):
    (graded,) = regrade([written(TEXTS[readers])], OneTry(), parser)
    assert graded.passed is (parser in readers)
    assert has_valid_call(graded) is (parser in readers)
    assert graded.messages[1].content == TEXTS[readers]


def test_regrading_by_the_same_parser_changes_nothing(tmp_path):
    texts = itertools.cycle(TEXTS.values())

    def script(context, key):
        text = next(texts)
        return Message("assistant", text, parse_tool_calls(text, context.tools).calls)

    run(tmp_path, n=8, policy=ScriptedPolicy(script, "texts"), world=OneTry())
    collected = sorted(read_collection(tmp_path), key=lambda rollout: rollout.key)
    again = list(regrade(collected, OneTry(), "robust"))
    assert tabulate(again).equals(table(tmp_path))
    assert again == collected


def test_an_attempt_without_a_completion_stays_as_it_is():
    missing = Rollout("buttons", "p", "a", "t3", 0, None, "timeout", (Message("user", "?"),))
    full = written("", turns=(Turn(1, finish="context"),))
    assert list(regrade([missing, full], OneTry(), "exact")) == [missing, full]


def test_only_single_turns_are_regraded():
    with pytest.raises(ValueError, match=r"several turns.*Collect it again"):
        list(regrade([written("")], buttons.Buttons(), "exact"))
    with pytest.raises(ValueError, match="is not an attempt at buttons"):
        list(regrade([replace(written(""), benchmark="other")], OneTry(), "exact"))


PICKY = Tool("f", "", {"properties": {"a": {}, "b": {}}, "required": ["a"]})


@pytest.mark.parametrize(
    ("call", "valid"),
    [
        (ToolCall("f", {"a": 1}), True),
        (ToolCall("f", {"a": 1, "b": 2, "c": 3}), True),
        (ToolCall("f", {"b": 2}), False),
        (ToolCall("g", {"a": 1}), False),
    ],
)
def test_what_a_valid_call_is(call, valid):
    messages = (Message("user", "?"), Message("assistant", "", (ToolCall("f"), call)))
    rollout = Rollout("b", "p", "a", "t", 0, False, messages=messages, tools=(PICKY,))
    assert has_valid_call(rollout) is valid
