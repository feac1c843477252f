"""Temperature schedules: fixed, and the controls that replay a PTGS run."""

import json

import numpy as np
import pytest

from lib.ptgs import PTGS
from lib.training import (
    FixedTemperature,
    PTGSSchedule,
    ShuffledSchedule,
    YokedSchedule,
)
from tests.lettered_runs import (
    run,
)


def write_log(path, temperatures):
    lines = [
        {"step": n, "groups": [{"task": "a", "temperature": h}]} for n, h in enumerate(temperatures)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("value", ["1", None, 0, -1, np.nan, np.inf, [1.0]])
def test_a_bad_temperature_is_named(value):
    with pytest.raises(ValueError, match=r"temperature is .*: it must be a finite number above 0"):
        FixedTemperature(value)


@pytest.mark.parametrize("schedule", [YokedSchedule, ShuffledSchedule])
def test_a_log_that_is_a_folder_or_not_there_is_named(tmp_path, schedule):
    with pytest.raises(
        FileNotFoundError, match=r"it is a folder, give the file in it.*steps.jsonl"
    ):
        schedule(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nothing: there is no such file; .*steps.jsonl"):
        schedule(tmp_path / "nothing")


@pytest.mark.parametrize("schedule", [YokedSchedule, ShuffledSchedule])
def test_what_a_control_replays_is_a_setting(tmp_path, schedule):
    one, same, other = (
        schedule(write_log(tmp_path / name, temperatures)).settings
        for name, temperatures in (("a", [1.0, 0.5]), ("b", [1.0, 0.5]), ("c", [1.0, 0.6]))
    )
    assert one == same != other


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{torn", r"log:1 is no line of a step log: not JSON"),
        ("[]", r"log:1 is no line of a step log: it has no whole step number"),
        ('{"step": 1}', r"log:1: each group of a step needs a task and a temperature"),
        ('{"step": 1, "groups": [{"task": "a", "temperature": NaN}]}', r"log:1: each group"),
        ('{"step": 1, "groups": [{"task": "a", "temperature": "1"}]}', r"log:1: each group"),
        ('{"step": 1, "groups": []}\n{"step": 1}', r"log:2 repeats step 1"),
    ],
)
def test_a_bad_line_of_a_log_is_named(tmp_path, line, message):
    (tmp_path / "log").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        YokedSchedule(tmp_path / "log")


def test_the_controls_replay_the_temperatures_of_the_run_of_the_same_seed(base, tmp_path):
    _, log = run(base, tmp_path / "ptgs", PTGSSchedule(PTGS()))
    path = tmp_path / "ptgs" / "steps.jsonl"
    _, yoked = run(base, tmp_path / "yoked", YokedSchedule(path))
    _, shuffled = run(base, tmp_path / "shuffled", ShuffledSchedule(path))

    def temperatures(line):
        return [group["temperature"] for group in line["groups"]]

    for theirs, spread, mixed in zip(log, yoked, shuffled, strict=True):
        assert temperatures(spread) == [pytest.approx(np.mean(temperatures(theirs)))] * 3
        assert sorted(temperatures(mixed)) == sorted(temperatures(theirs))
    assert any(temperatures(a) != temperatures(b) for a, b in zip(log, shuffled, strict=True))


def test_a_control_refuses_a_run_with_other_tasks(base, tmp_path):
    run(base, tmp_path, PTGSSchedule(PTGS()))
    yoked = YokedSchedule(tmp_path / "steps.jsonl")
    with pytest.raises(ValueError, match=r"has 6 steps, this run 7: .* finished PTGS run"):
        yoked.check([["a1"]] * 7)
    with pytest.raises(ValueError, match=r"same seed, pool and groups"):
        yoked.assign(1, 6, ["a1", "a2", "a3"])
    with pytest.raises(ValueError, match=r"has no step 7: .* finished PTGS run"):
        yoked.assign(7, 7, ["a1", "a2", "a3"])
    with pytest.raises(ValueError, match=r"same seed, pool and groups"):
        run(base, tmp_path / "yoked", yoked, seed=1)
    assert not (tmp_path / "yoked").exists()  # so that the right log can still be given
