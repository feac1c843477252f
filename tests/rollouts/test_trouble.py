"""Trouble of policies, environments and processes: missing attempts, and kills."""

import itertools
import os
import random
import signal
from dataclasses import replace

import pytest

from lib.envs import Outcome
from lib.rollouts.collection import table
from lib.rollouts.policies import PolicyError, Reply, ScriptedPolicy
from lib.trajectories.jsonl import RolloutWriter
from lib.trajectories.schema import Message, Rollout, ToolCall, Turn
from lib.trajectories.store import read_collection
from tests import buttons
from tests.bench.kills import Collection, compare
from tests.collecting import BUTTONS, Counting, guess, lines, ran, run


def replies(*scripted):
    """A policy that says one thing after another, and the last for ever."""
    left = list(scripted)
    say = lambda context, key: left.pop(0) if len(left) > 1 else left[0]  # noqa: E731
    return ScriptedPolicy(say, "replies")


def outcome_of(tmp_path, policy, environment=BUTTONS, **settings):
    run(tmp_path, n=1, tasks=["t3"], policy=policy, environment=environment, **settings)
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


def test_missing_attempts_are_played_again_if_asked(tmp_path):
    found = run(tmp_path, policy=ScriptedPolicy(unlucky, "guess"))
    assert found["passed"].isna().sum() == 8
    assert run(tmp_path).equals(found)
    policy = Counting()
    assert run(tmp_path, policy=policy, retry_missing=True).equals(run(tmp_path / "whole"))
    assert ran(policy) == [(task, a) for task in BUTTONS.tasks() for a in (1, 3)]
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


def test_an_environment_that_raises_leaves_attempts_missing(tmp_path):
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
