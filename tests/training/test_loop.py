"""The loop: learning, the step log, the task pool, rewards, and runs that diverge."""

from dataclasses import replace

import numpy as np
import pytest

from lib.ptgs import PTGS
from lib.training import (
    Diverged,
    PTGSSchedule,
    defaults,
    read_log,
)
from lib.training.loop import choose_tasks, has_reward
from lib.trajectories.schema import Message, Rollout, Turn
from tests import lettered
from tests.lettered_runs import Killed, Stopping, run


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_a_policy_learns(base, tmp_path, algorithm):
    changes = {"steps": 24, "groups": 6, "group_size": 8, "minibatch": 32, "learning_rate": 2e-3}
    changes["critic_warmup"] = 2
    _, log = run(base, tmp_path, algorithm=algorithm, **changes)
    success = [line["success"] for line in log]
    assert np.mean(success[-6:]) > np.mean(success[:6]) + 0.1
    assert max(line["engine_gap"] for line in log) < 1e-4
    assert log[0]["kl_start"] == pytest.approx(0, abs=1e-6)
    assert log[-1]["kl_start"] > 0.01


def test_the_step_log_has_the_temperatures(base, tmp_path):
    _, log = run(base, tmp_path, PTGSSchedule(PTGS()))
    assert log == read_log(tmp_path / "steps.jsonl")
    for line in log:
        temperatures = [group["temperature"] for group in line["groups"]]
        assert line["temperature"]["mean"] == pytest.approx(np.mean(temperatures))
        assert (line["temperature"]["min"], line["temperature"]["max"]) == (
            min(temperatures),
            max(temperatures),
        )
        assert all(1 / 1.5 <= value <= 1.5 for value in temperatures)
        counts = [group["successes"] for group in line["groups"]]
        assert line["success"] == sum(counts) / 12
        assert line["mixed"] == pytest.approx(np.mean([0 < count < 4 for count in counts]))


def test_every_group_is_observed_before_the_filter(base, tmp_path):
    ptgs = PTGS(gamma=0.5)
    _, log = run(base, tmp_path, PTGSSchedule(ptgs), learning_rate=1e-9)
    assert any(line["kept"] < 1 for line in log)
    expected = {}
    for line in log:
        for group in line["groups"]:
            s, f = expected.get(group["task"], (0, 0))
            won = group["successes"]
            expected[group["task"]] = (0.5 * s + won, 0.5 * f + 4 - won)
    assert ptgs.counts == expected


def test_a_round_meets_every_task_once_and_no_step_meets_one_twice():
    tasks = [f"t{i}" for i in range(20)]
    steps = [choose_tasks(tasks, 5, step, seed=1) for step in range(1, 9)]
    for one in (steps[:4], steps[4:]):
        assert sorted(task for step in one for task in step) == sorted(tasks)
    assert steps[:4] != steps[4:]
    assert steps != [choose_tasks(tasks, 5, step, seed=2) for step in range(1, 9)]


def test_attempts_that_could_not_be_graded_count_neither_way(base, tmp_path):
    class Broken(lettered.Letters):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            if attempt % 4 == 0:
                episode.step = lambda reply: 1 / 0
            return episode

    ptgs = PTGS(gamma=1)
    _, log = run(base, tmp_path, PTGSSchedule(ptgs), environment=Broken())
    assert {line["ungraded"] for line in log} == {3}
    assert {group["rollouts"] for line in log for group in line["groups"]} == {3}
    assert sum(map(sum, ptgs.counts.values())) == 6 * 9


def test_the_shaped_return_can_be_the_reward(base, tmp_path):
    _, log = run(base, tmp_path, reward="return")
    assert any(line["reward"] < line["success"] for line in log)
    actual = [group["successes"] for line in log for group in line["groups"]]
    assert all(type(count) is int for count in actual)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({}, "has no return: its environment gives none"),
        ({"return": np.nan}, "has the return nan: expected a finite number; mend its environment"),
        ({"return": "1"}, "has the return '1': expected a finite number; mend its environment"),
    ],
)
def test_an_environment_without_returns_is_named(base, tmp_path, info, message):
    class Bare(lettered.Letters):
        def reset(self, task, attempt):
            episode = super().reset(task, attempt)
            step = episode.step

            def bare(reply):
                message = step(reply)
                episode.outcome = episode.outcome and replace(episode.outcome, info=info)
                return message

            episode.step = bare
            return episode

    with pytest.raises(ValueError, match=message):
        run(base, tmp_path, environment=Bare(), reward="return")


@pytest.mark.parametrize(("decay", "step"), [(0.0, 2), (1e29, 1)])
def test_weights_that_grew_without_bounds_are_a_divergence(base, tmp_path, decay, step):
    with pytest.raises(Diverged, match=rf"step {step}: .* the training has diverged"):
        run(base, tmp_path, learning_rate=1e10, weight_decay=decay, minibatch=64)


def test_log_probs_that_disagree_are_a_bug_at_first_and_a_divergence_later(
    base, tmp_path, monkeypatch
):
    monkeypatch.setattr("lib.training.loop.LARGEST_GAP", -1.0)
    with pytest.raises(
        RuntimeError, match=r"step 1: a log-prob of the update differs by .* must agree"
    ):
        run(base, tmp_path / "first")
    monkeypatch.undo()
    with pytest.raises(Killed):
        run(base, tmp_path / "later", Stopping(PTGS()), checkpoint_every=0)
    monkeypatch.setattr("lib.training.loop.LARGEST_GAP", -1.0)
    with pytest.raises(Diverged, match=r"step 5: a log-prob of the update differs .* has diverged"):
        run(base, tmp_path / "later", PTGSSchedule(PTGS()))


@pytest.mark.parametrize("finish", ["context", "stop"])
def test_an_attempt_that_was_cut_has_no_return_unless_its_environment_gave_one(finish):
    turns = [Turn(1, prompt_ids=[1], action_ids=[2], logprobs=[-1.0], finish=finish)]
    messages = [Message("user", "?"), Message("assistant", "!")]
    cut = Rollout("b", "p", "a", "t", 1, False, messages=messages, turns=turns)
    turned = {"reward": "return", "max_turns": 1 if finish == "stop" else 9}
    assert not has_reward(cut, defaults("grpo", **turned))
    assert has_reward(replace(cut, info={"return": 0.5}), defaults("grpo", **turned))
    assert has_reward(cut, defaults("grpo", **turned | {"reward": "passed"}))


def test_attempts_that_were_cut_have_failed_and_teach_no_return(base, tmp_path):
    _, log = run(base, tmp_path, PTGSSchedule(PTGS(gamma=1)), max_turns=1, reward="return", steps=2)
    for line in log:
        solved = sum(group["successes"] for group in line["groups"])
        assert line["ungraded"] == 12 - solved > 0
        assert line["success"] == solved / 12  # the schedule counts them
        assert {group["rollouts"] for group in line["groups"]} == {4}


def test_a_task_that_is_no_string_is_named(base, tmp_path):
    class Numbered(lettered.Letters):
        def tasks(self):
            return [1, 2, 3]

        def reset(self, task, attempt):
            return super().reset("a1", attempt)

    with pytest.raises(ValueError, match=r"task must be a string, got [123]"):
        run(base, tmp_path, environment=Numbered())


def test_a_pool_that_is_too_small_is_refused(base, tmp_path):
    with pytest.raises(ValueError, match="19 groups a step from a pool of 18 tasks"):
        run(base, tmp_path, groups=19)
