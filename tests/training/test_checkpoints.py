"""A run's folder: exact resumption, damaged files, and settings that differ."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from lib.ptgs import PTGS
from lib.training import (
    FixedTemperature,
    PTGSSchedule,
    checkpoints,
)
from lib.trajectories import storage
from tests.lettered_runs import Killed, Stopping, run, without_seconds


def test_a_run_that_was_refused_at_its_first_step_can_be_begun_otherwise(
    base, tmp_path, monkeypatch
):
    monkeypatch.setattr("lib.training.loop.LARGEST_GAP", -1.0)
    with pytest.raises(RuntimeError, match="must agree"):
        run(base, tmp_path)
    monkeypatch.undo()
    _, log = run(base, tmp_path, learning_rate=2e-3)
    assert len(log) == 6


def begun(out, ends):
    """Begin a run that ends so before its first step."""
    checkpoints.agree(out, {"settings": {}})
    with checkpoints.alone(out):
        (out / "steps.jsonl").touch()
        raise ends


def test_a_run_that_another_process_removed_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="refused"):
        begun(tmp_path, RuntimeError("refused"))
    assert not any(tmp_path.iterdir())
    gone = checkpoints.alone(tmp_path)
    with pytest.raises(ValueError, match="has just removed this run, which had failed"):
        gone.__enter__()


def test_a_run_that_is_stopped_keeps_its_settings(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        begun(tmp_path, KeyboardInterrupt())
    assert (tmp_path / "run.json").exists()


@pytest.mark.parametrize(("algorithm", "warmup"), [("grpo", 0), ("ppo", 2), ("ppo", 5)])
def test_a_stopped_run_ends_as_an_undisturbed_run(base, tmp_path, algorithm, warmup):
    changes = {"algorithm": algorithm, "critic_warmup": warmup}
    whole, log = run(base, tmp_path / "whole", PTGSSchedule(PTGS()), **changes)
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        run(base, out, Stopping(PTGS()), checkpoint_every=0, **changes)
    with (out / "steps.jsonl").open("a") as file:  # a kill may come before the next checkpoint
        file.write(json.dumps({"step": 5, "success": 9}) + '\n{"step": 6, "succ')
    model, again = run(base, out, PTGSSchedule(PTGS()), **changes)
    assert without_seconds(again) == without_seconds(log)
    for mine, theirs in zip(model.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    kept = [path.name for path in out.glob("*checkpoint*")]
    assert kept == ["checkpoint-000006"]


def test_a_finished_run_is_only_read(base, tmp_path):
    model, log = run(base, tmp_path)
    again, read = run(base, tmp_path)
    assert read == log
    for mine, theirs in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_checkpoint_that_a_kill_left_is_removed(base, tmp_path):
    run(base, tmp_path)
    (tmp_path / "checkpoint-000001").mkdir()
    run(base, tmp_path)
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-000006"]


def test_two_processes_do_not_train_in_one_folder(base, tmp_path):
    run(base, tmp_path)
    with (
        checkpoints.alone(tmp_path),
        pytest.raises(ValueError, match="another process is training in this folder"),
    ):
        run(base, tmp_path)


DAMAGES = {
    "run.json": "[]",
    "steps.jsonl": "",
    "checkpoint-000006/policy.safetensors": "torn",
    "checkpoint-000006/policy.optimizer.pt": "torn",
    "checkpoint-000006/sampler.json": "{",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_of_a_run_is_named(base, tmp_path, name):
    run(base, tmp_path, PTGSSchedule(PTGS()))
    (tmp_path / name).write_text(DAMAGES[name])
    with pytest.raises(ValueError, match=rf"{name} is damaged .*choose another folder"):
        run(base, tmp_path, PTGSSchedule(PTGS()))


@pytest.mark.parametrize("damage", [lambda x: x[:1], lambda x: x * np.nan])
@pytest.mark.parametrize("part", ["weights", "moments"])
def test_a_checkpoint_of_another_model_is_named(base, tmp_path, part, damage):
    run(base, tmp_path, learning_rate=2e-3)
    weights, moments = (
        tmp_path / f"checkpoint-000006/policy.{x}" for x in ("safetensors", "optimizer.pt")
    )
    if part == "weights":
        save_file({name: damage(x).clone() for name, x in load_file(weights).items()}, weights)
    else:
        there = torch.load(moments)
        for state in there["state"].values():
            state["exp_avg"] = damage(state["exp_avg"])
        torch.save(there, moments)
    with pytest.raises(ValueError, match=r"is damaged \(.*(shape|not finite).*choose another"):
        run(base, tmp_path, learning_rate=2e-3)


LOST_MOMENTS = {
    r"it lacks exp_avg of \S+ and \d+ more": lambda state: state.clear(),
    r"it lacks exp_avg of lm_head.weight and 2 more": lambda state: state.popitem(),
    r"it lacks step of \S+\)": lambda state: state[0].pop("step"),
    r"step of \S+ has the shape \(2,\), in this run it is \(\)": lambda state: state[0].update(
        step=torch.ones(2)
    ),
    r"it has exp_avg of parameter 99, which is not of this run": lambda state: state.update(
        {99: state[0]}
    ),
}


@pytest.mark.parametrize("message", LOST_MOMENTS)
def test_an_optimizer_without_its_moments_is_named(base, tmp_path, message):
    run(base, tmp_path, learning_rate=2e-3)
    path = tmp_path / "checkpoint-000006" / "policy.optimizer.pt"
    there = torch.load(path)
    LOST_MOMENTS[message](there["state"])
    torch.save(there, path)
    with pytest.raises(ValueError, match=rf"policy.optimizer.pt is damaged \(.*{message}.*Put it"):
        run(base, tmp_path, learning_rate=2e-3)


@pytest.mark.parametrize("left", ["steps.jsonl", "checkpoint-000006"])
def test_a_log_or_checkpoint_without_its_run_is_refused(base, tmp_path, left):
    run(base, tmp_path)
    for path in tmp_path.iterdir():
        if path.name != left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(ValueError, match=rf"run.json is missing beside {left}: put it back"):
        run(base, tmp_path, clip_low=0.1)
    assert [path.name for path in tmp_path.iterdir()] == [left]


def test_of_two_runs_that_begin_together_one_writes_its_settings(tmp_path, monkeypatch):
    ours, theirs = {"settings": {"seed": 0}}, {"settings": {"seed": 1}}
    agree, write_once = checkpoints.agree, storage.write_once

    def late(path, text):
        monkeypatch.undo()
        agree(tmp_path, theirs)
        return write_once(path, text)

    monkeypatch.setattr(storage, "write_once", late)
    with pytest.raises(ValueError, match="begun with settings seed = 1, now it is 0"):
        agree(tmp_path, ours)


def test_another_setting_in_the_same_folder_is_refused(base, tmp_path):
    run(base, tmp_path)
    with pytest.raises(ValueError, match=r"begun with settings clip_low = 0.2, now it is 0.1"):
        run(base, tmp_path, clip_low=0.1)
    with pytest.raises(ValueError, match=r"begun with sampler temperature = 1.0, now it is 0.5"):
        run(base, tmp_path, FixedTemperature(0.5))
    with pytest.raises(ValueError, match=r"begun with sampler = 'fixed', now it is 'ptgs': choose"):
        run(base, tmp_path, PTGSSchedule(PTGS()))


def test_a_run_that_is_to_be_longer_is_refused_with_the_reason(base, tmp_path):
    run(base, tmp_path)
    message = (
        r"steps = 6, now it is 9: the temperatures of PTGS .* Set it back; or .* another folder"
    )
    with pytest.raises(ValueError, match=message):
        run(base, tmp_path, steps=9)


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ([1, 2], [1, 3], r"a list of 2, 2 at place 2, now it is a list of 2, 3 at place 2"),
        ([1], [1, 2], r"a list of 1, now it is a list of 2, 2 at place 2"),
        ({"x": "harness"}, {"x": "plain", "y": 1}, r"world x = 'harness', now it is 'plain'"),
        ({"x": {"z": 1, "y": 2}}, {"x": {"z": 1}}, r"world x y = 2, now it is None"),
        ({"world": 1}, {"world": 2}, r"with world = 1, now it is 2"),
        ({}, {"x": None}, r"world x = None, now it is None"),
        ([], None, r"with world = \[\], now it is None"),
    ],
)
def test_lists_and_dictionaries_are_reported_by_their_first_difference(
    tmp_path, then, now, message
):
    checkpoints.agree(tmp_path, {"world": {"world": then}})
    with pytest.raises(ValueError, match=message):
        checkpoints.agree(tmp_path, {"world": {"world": now}})


def test_a_setting_that_was_not_recorded_is_not_compared(tmp_path):
    checkpoints.agree(tmp_path, {"start": {"weights": "a"}})
    checkpoints.agree(tmp_path, {"start": {"weights": "a", "tokenizer": "b"}})
    with pytest.raises(ValueError, match="begun with start weights = 'a', now it is None"):
        checkpoints.agree(tmp_path, {"start": {"tokenizer": "b"}})
