"""The lab's plan and its work: what comes when, and that a kill changes nothing."""

import json
import os
import runpy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from lib import ROOT
from lib.lab import evaluation, pilots, plan, results, runner
from lib.lab.plan import Base, Pilots, Run, Scores
from lib.training import defaults
from lib.training.pretraining import STAGES, Corpus
from lib.trajectories import storage

BASE = Base(environment="sokoban", size="0.06M")
RUN = Run(environment="sokoban", algorithm="grpo", method="ptgs", seed=0, size="0.06M")
YOKED = replace(RUN, method="yoked")
FROZEN = Pilots(environment="sokoban", policy="base")
SCORED = Scores(policy=RUN, attempts_by=BASE)


def test_nothing_is_planned_twice():
    names = [one.name for one in plan.WORK]
    assert len(names) == len(set(names)) > 100


def test_everything_comes_after_what_it_needs():
    at = {one: number for number, one in enumerate(plan.WORK)}
    assert all(at[need] < number for one, number in at.items() for need in one.needs)


def test_what_is_kept_is_planned():
    assert {*plan.PRIMARY, *plan.KEPT} <= {*plan.RUNS} <= {*plan.WORK}


def test_work_of_a_choice_comes_with_its_needs():
    assert runner.with_needs([YOKED, RUN]) == [BASE, RUN, YOKED]
    assert runner.with_needs([FROZEN]) == [FROZEN.model, FROZEN]


# --------------------------------------------------------------------------------------- tiny lab


@pytest.fixture
def tiny(monkeypatch):
    """Makes the lab a tiny one, in a folder."""
    corpus = Corpus(native=0.8, levels=20, episodes=8)
    for kind, stage in STAGES.items():
        monkeypatch.setitem(STAGES, kind, replace(stage, corpus=corpus, steps=20))
    monkeypatch.setattr(plan, "WORK", [BASE, RUN, FROZEN, SCORED.earlier, SCORED])
    for name, value in {"TASKS": 4, "ATTEMPTS": 4, "POOL": 8, "SEEDS": (0,), "KEPT": [RUN]}.items():
        monkeypatch.setattr(plan, name, value)
    monkeypatch.setattr(plan, "SPLITS", {"test": (0.5,), "train": (0.5,)})
    monkeypatch.setattr(plan, "BASE_TEMPERATURES", (0.5,))
    monkeypatch.setattr(plan, "SCORED_ATTEMPTS", 4)
    monkeypatch.setattr(plan, "LABELS_A_TASK", 2)
    monkeypatch.setattr(Pilots, "model", BASE)
    monkeypatch.setattr(evaluation, "TASKS_AT_ONCE", 2)
    monkeypatch.setattr(pilots, "PILOTS", 2)
    monkeypatch.setattr(pilots.compare, "__kwdefaults__", {"t_ref": 1.0, "totals": (4, 8)})
    short = {"steps": 2, "groups": 2, "group_size": 4, "max_turns": 2}
    monkeypatch.setattr(runner, "defaults", lambda name, **more: defaults(name, **more, **short))

    def settle(folder):
        for room in (plan, runner):
            monkeypatch.setattr(room, "DATA", folder / "data")
            monkeypatch.setattr(room, "BUILD", folder / "build")
        return folder / "data"

    return settle


def do_all():
    for one in plan.WORK:
        assert runner.ready(one)
        assert runner.do(one, progress=False)
    runner.gather()


def tables(data):
    """The tables without what a clock says."""
    names = ("evaluations", "steps", "losses", "pilots", "scores")
    found = {name: results.read(name, data) for name in names}
    return {
        name: table.drop(columns=[column for column in table if column.startswith("seconds")])
        for name, table in found.items()
    }


def test_a_lab_killed_at_every_write_makes_the_same_tables(tiny, tmp_path, monkeypatch):
    torch.set_num_threads(1)
    whole = tiny(tmp_path / "whole")
    do_all()
    killed = tiny(tmp_path / "killed")
    rename, kills = os.replace, []

    def dies_once(source, target):
        """The first time that a file of some name is to be there: just before it is, or after."""
        if target.name in kills:
            return rename(source, target)
        kills.append(target.name)
        if len(kills) % 2:
            rename(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", dies_once)
    for _ in range(200):
        try:
            do_all()
            break
        except KeyboardInterrupt:
            continue
    else:
        raise AssertionError("it never ends")
    assert len(kills) > 15, kills
    expected, got = tables(whole), tables(killed)
    for name, table in expected.items():
        assert len(table)
        pd.testing.assert_frame_equal(got[name], table)
    for data in (whole, killed):
        assert json.loads((data / "done.json").read_text()) == sorted(one.name for one in plan.WORK)
        assert sorted(path.name for path in data.iterdir()) == [
            "done.json", "evaluations.parquet", "losses.parquet", "models", "pilots.parquet",
            "scores.parquet", "steps.parquet",
        ]  # fmt: skip
        assert sorted(path.name for path in (data / "models").iterdir()) == sorted(
            [BASE.name, RUN.name, SCORED.earlier.name]
        )


def test_a_kill_before_the_names_are_noted_is_made_good(tiny, tmp_path, monkeypatch):
    tiny(tmp_path)
    monkeypatch.setattr(plan, "WORK", [BASE])
    folder = runner.BUILD / BASE.name
    folder.mkdir(parents=True)
    (folder / "done").touch()
    runner.gather()
    assert json.loads((runner.DATA / "done.json").read_text()) == [BASE.name]


def test_the_command_gathers_what_a_kill_left_though_nothing_is_to_do(monkeypatch):
    gathered = []
    monkeypatch.setattr(runner, "is_done", lambda one: True)
    monkeypatch.setattr(runner, "gather", lambda: gathered.append("all"))
    monkeypatch.setattr("sys.argv", ["run.py"])
    assert runpy.run_path(str(ROOT / "data" / "lab" / "run.py"))["main"]() == 0
    assert gathered == ["all"]


def test_work_that_the_tables_hold_is_not_done_again(tiny, tmp_path):
    data = tiny(tmp_path)
    data.mkdir()
    (data / "done.json").write_text(json.dumps([BASE.name, RUN.name]))
    assert runner.is_done(RUN)
    assert not runner.is_done(BASE)  # its model is not there, and others start from it
    assert not runner.ready(RUN)
    assert runner.do(RUN)
    assert not (runner.BUILD / RUN.name).exists()


def test_work_under_way_elsewhere_is_left_alone(tiny, tmp_path):
    tiny(tmp_path)
    with storage.lock(runner.BUILD / BASE.name):
        assert not runner.do(BASE)
    assert not runner.base_folder(BASE).exists()


def test_a_lot_of_tasks_is_measured_once(tmp_path):
    measured = []

    def measure(lot):
        measured.append(lot)
        if lot == ["t8"] and len(measured) < 3:
            raise KeyboardInterrupt
        return pd.DataFrame({"task": lot})

    tasks = [f"t{number}" for number in range(9)]
    with pytest.raises(KeyboardInterrupt):
        evaluation.in_batches(tmp_path / "table.parquet", tasks, measure)
    for _ in range(2):
        found = evaluation.in_batches(tmp_path / "table.parquet", tasks, measure)
        assert list(found["task"]) == tasks
    assert measured == [tasks[:8], ["t8"], ["t8"]]
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_attempts_that_begin_alike_are_written_in_few_bytes_and_come_back(tmp_path):
    row = np.random.default_rng(0).normal(size=200).astype(np.float32)
    table = pd.DataFrame({"task": "t", "policy": [row[: 50 + i % 100] for i in range(400)]})
    evaluation.write_table(table, tmp_path / "table.parquet")
    back = pd.read_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(back, table, check_dtype=False)
    assert back["policy"][0].dtype == np.float32
    raw = sum(one.nbytes for one in table["policy"])
    assert (tmp_path / "table.parquet").stat().st_size < raw / 40
