"""The lab's plan and its work: what comes when, and that a kill changes nothing."""

import json
import os
import runpy
from dataclasses import replace

import pandas as pd
import torch

from lib import ROOT
from lib.lab import plan, results, runner
from lib.lab.gathering import gather
from lib.lab.plan import Plan
from lib.lab.work import Base, Pilots, Run, Scores, with_needs
from lib.training.pretraining import STAGES, Corpus
from lib.trajectories import storage

BASE = Base(environment="sokoban", size="0.06M")
RUN = Run(environment="sokoban", algorithm="grpo", method="ptgs", seed=0, size="0.06M")
YOKED = replace(RUN, method="yoked")
FROZEN = Pilots(model=BASE)
SCORED = Scores(policy=RUN, attempts_by=BASE)


def test_nothing_is_planned_twice():
    names = [work.name for work in plan.WORK]
    assert len(names) == len(set(names)) > 100


def test_everything_comes_after_what_it_needs():
    at = {work: number for number, work in enumerate(plan.WORK)}
    assert all(at[need] < number for work, number in at.items() for need in work.needs)


def test_what_is_kept_is_planned():
    assert {*plan.PRIMARY, *plan.KEPT} <= {*plan.RUNS} <= {*plan.WORK}


def test_work_of_a_choice_comes_with_its_needs():
    assert with_needs([YOKED, RUN]) == [BASE, RUN, YOKED]
    assert with_needs([FROZEN]) == [BASE, FROZEN]


# --------------------------------------------------------------------------------------- tiny lab


CORPUS = Corpus(native=0.8, levels=20, episodes=8)
TINY = Plan(
    work=[BASE, RUN, FROZEN, SCORED.earlier, SCORED],
    kept=[RUN],
    pool=8,
    tasks=4,
    attempts=4,
    splits={"test": (0.5,), "train": (0.5,)},
    base_temperatures=(0.5,),
    seeds=(0,),
    at_once=8,
    pilots=2,
    totals=(4, 8),
    scored_attempts=4,
    labels_a_task=2,
    stages={kind: replace(stage, corpus=CORPUS, steps=20) for kind, stage in STAGES.items()},
    training={"steps": 2, "groups": 2, "group_size": 4, "max_turns": 2},
)


def in_folder(folder, plan=TINY):
    return replace(plan, data=folder / "data", build=folder / "build")


def do_all(lab):
    for work in lab.work:
        assert runner.is_ready(work, lab)
        assert runner.do(work, lab, progress=False)
    gather(lab)


def tables(data):
    """The tables without what a clock says."""
    names = ("evaluations", "steps", "losses", "pilots", "scores")
    read = {name: results.read(name, data) for name in names}
    return {
        name: table.drop(columns=[column for column in table if column.startswith("seconds")])
        for name, table in read.items()
    }


def test_a_lab_killed_at_every_write_makes_the_same_tables(tmp_path, monkeypatch):
    torch.set_num_threads(1)
    whole, killed = in_folder(tmp_path / "whole"), in_folder(tmp_path / "killed")
    do_all(whole)
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
            do_all(killed)
            break
        except KeyboardInterrupt:
            continue
    else:
        raise AssertionError("it never ends")
    assert len(kills) > 15, kills
    expected, got = tables(whole.data), tables(killed.data)
    for name, table in expected.items():
        assert len(table)
        pd.testing.assert_frame_equal(got[name], table)
    for lab in (whole, killed):
        names = json.loads((lab.data / "done.json").read_text())
        assert names == sorted(work.name for work in lab.work)
        assert sorted(path.name for path in lab.data.iterdir()) == [
            "done.json", "evaluations.parquet", "losses.parquet", "models", "pilots.parquet",
            "scores.parquet", "steps.parquet",
        ]  # fmt: skip
        assert sorted(path.name for path in (lab.data / "models").iterdir()) == sorted(
            [BASE.name, RUN.name, SCORED.earlier.name]
        )


def test_a_kill_before_the_names_are_noted_is_made_good(tmp_path):
    lab = in_folder(tmp_path, replace(TINY, work=[BASE]))
    folder = lab.build / BASE.name
    folder.mkdir(parents=True)
    (folder / "done").touch()
    gather(lab)
    assert json.loads((lab.data / "done.json").read_text()) == [BASE.name]


def test_the_command_gathers_what_a_kill_left_though_nothing_is_to_do(monkeypatch):
    gathered = []
    monkeypatch.setattr(runner, "is_done", lambda work: True)
    monkeypatch.setattr(runner, "gather", lambda: gathered.append("all"))
    monkeypatch.setattr("sys.argv", ["run.py"])
    assert runpy.run_path(str(ROOT / "data" / "lab" / "run.py"))["main"]() == 0
    assert gathered == ["all"]


def test_work_that_the_tables_hold_is_not_done_again(tmp_path):
    lab = in_folder(tmp_path)
    lab.data.mkdir()
    (lab.data / "done.json").write_text(json.dumps([BASE.name, RUN.name]))
    assert runner.is_done(RUN, lab)
    assert not runner.is_done(BASE, lab)  # its model is not there, and others start from it
    assert not runner.is_ready(RUN, lab)
    assert runner.do(RUN, lab)
    assert not (lab.build / RUN.name).exists()


def test_work_under_way_elsewhere_is_left_alone(tmp_path):
    lab = in_folder(tmp_path)
    with storage.lock(lab.build / BASE.name):
        assert not runner.do(BASE, lab)
    assert not lab.kept_folder(BASE).exists()


def test_a_worker_waits_for_what_others_do_and_says_what_it_did(tmp_path, monkeypatch):
    lab, did = in_folder(tmp_path), []
    ready = iter([False, False, True, True])  # another worker makes the base, then it is there
    monkeypatch.setattr(runner, "is_ready", lambda work, lab: next(ready))
    monkeypatch.setattr(runner, "is_done", lambda work, lab: work in did)
    monkeypatch.setattr(runner, "do", lambda work, lab, progress: True)
    monkeypatch.setattr(runner.time, "sleep", lambda seconds: None)
    runner.do_all([RUN], lab, done=lambda work, seconds: did.append(work))
    assert did == [BASE, RUN]


def test_a_worker_stops_where_it_must_not_go_on(tmp_path):
    runner.do_all([RUN], in_folder(tmp_path), go_on=lambda: False)
    assert list(tmp_path.iterdir()) == []
