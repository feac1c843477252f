"""Pilot-based PTGS of a frozen policy, on a policy whose success rate is known."""

import pytest

from lib.lab import pilots
from lib.lab.evaluation import evaluate
from lib.rollouts.policies import Reply
from lib.trajectories.schema import Message, Turn
from tests.buttons import Buttons, press

ENVIRONMENT = Buttons(16)


class Toy:
    """Solves an even task at once in attempts whose number, from 0, is among `lucky`.

    Odd tasks are solved only above T = 1, and only after the pilots.
    """

    def __init__(self, lucky=()):
        self.lucky, self.asked = lucky, []

    def start(self, keys, temperatures=None):
        self.asked += zip(keys, temperatures, strict=True)
        return _Session(self, keys, temperatures)


class _Session:
    def __init__(self, policy, keys, temperatures):
        self.policy, self.keys, self.temperatures = policy, keys, temperatures

    def reply(self, rows, contexts):
        return [
            Reply(self._answer(self.keys[row], self.temperatures[row]), Turn(0)) for row in rows
        ]

    def _answer(self, key, temperature):
        number = int(key.task[1:])
        good = key.attempt in self.policy.lucky if number % 2 == 0 else temperature > 1
        return press(number) if good else Message("assistant", "")


def compare(policy, tmp_path, seed=0):
    table = pilots.compare(policy, ENVIRONMENT, ENVIRONMENT.tasks(), tmp_path, seed=seed, tau=1.5)
    return table, table.set_index(["method", "total"])["coverage"]


def test_pilots_count_and_are_spent_once(tmp_path):
    policy = Toy()
    compare(policy, tmp_path)
    keys = [key for key, _ in policy.asked]
    assert sorted({key.attempt for key in keys}) == list(range(128))
    assert len(keys) == 16 * (8 + 3 * 120)
    assert {temperature for key, temperature in policy.asked if key.attempt < 8} == {1.0}


def test_coverage_is_of_each_total_with_its_pilots(tmp_path):
    for number, (lucky, covered) in enumerate(
        {
            (0,): [0.5] * 4,
            (15,): [0.5] * 4,
            (16,): [0, 0.5, 0.5, 0.5],
            (127,): [0, 0, 0, 0.5],
        }.items()
    ):
        _, coverage = compare(Toy(lucky), tmp_path / str(number))
        assert list(coverage["fixed"]) == covered


def test_hard_tasks_get_the_temperature_that_solves_them(tmp_path):
    table, coverage = compare(Toy(lucky=range(8)), tmp_path)
    assert (coverage["fixed"] == 0.5).all()
    assert (coverage["ptgs"] > 0.9).all()
    means = table.groupby("method")["mean_temperature"].unique()
    assert means["fixed"] == [1.0]
    assert means["matched"] == means["ptgs"]


def test_seeds_have_attempts_of_their_own(tmp_path):
    policy = Toy()
    compare(policy, tmp_path, seed=2)
    assert {key.attempt for key, _ in policy.asked} == set(range(256, 384))
    assert {key.seed for key, _ in policy.asked} == {2}


def test_a_rerun_goes_on_and_comes_to_the_same(tmp_path):
    first, _ = compare(Toy(lucky=(3, 50)), tmp_path)
    (tmp_path / "ptgs-0.parquet").unlink()
    policy = Toy(lucky=(3, 50))
    again, _ = compare(policy, tmp_path)
    assert again.equals(first)
    assert len(policy.asked) == 16 * 120


class Broken(Buttons):
    """Every second attempt breaks before it can be graded."""

    def reset(self, task, attempt):
        episode = super().reset(task, attempt)
        if attempt % 2:
            episode.step = lambda reply: [][0]
        return episode


def test_a_rollout_without_an_outcome_counts_in_neither():
    same = dict.fromkeys(ENVIRONMENT.tasks(), 1.0)
    table = evaluate(Toy(range(4)), Broken(16), ["t0", "t1"], 8, seed=0, temperatures=same)
    assert table.to_dict("list") == {"task": ["t0", "t1"], "n": [4, 4], "c": [2, 0]}


def test_a_task_named_twice_is_an_error():
    with pytest.raises(ValueError, match="'t0' is named twice"):
        evaluate(Toy(), ENVIRONMENT, ["t0", "t0"], 8, seed=0)
