"""PTGS against closed forms; its state; its hooks."""

import json
import math

import numpy as np
import pytest

from lib.ptgs import PTGS, MissingTemperature, from_pilots

HALF = {"pivot_start": 0.5, "pivot_end": 0.5}


def test_the_pivot_moves_geometrically():
    ptgs = PTGS()
    pivots = []
    for step in (0, 50, 100):
        ptgs.set_progress(step, 100)
        pivots.append(ptgs.pivot)
    assert pivots == pytest.approx([0.25, 0.25 * math.sqrt(2), 0.5])


@pytest.mark.parametrize("pivot", [0.1, 0.25, 0.5, 0.9])
def test_temperatures_reach_from_t_ref_over_tau_to_t_ref_tau(pivot):
    ptgs = PTGS(tau=1.4, t_ref=0.8, pivot_start=pivot, pivot_end=pivot)
    rates = np.linspace(0, 1, 101)
    temperatures = [ptgs.temperature_at(rate) for rate in rates]
    assert np.all(np.diff(temperatures) < 0)
    assert [temperatures[0], temperatures[-1]] == pytest.approx([0.8 * 1.4, 0.8 / 1.4])
    assert ptgs.temperature_at(pivot) == 0.8


def test_at_a_pivot_of_a_half_the_rule_is_one_exponential():
    ptgs = PTGS(tau=1.5, t_ref=2.0, **HALF)
    for rate in (0.0, 0.2, 0.5, 0.7, 1.0):
        assert ptgs.temperature_at(rate) == pytest.approx(2.0 * 1.5 ** (1 - 2 * rate))


def test_tau_1_changes_nothing():
    ptgs = PTGS(tau=1, t_ref=0.7)
    ptgs.update("a", 3, 4)
    assert {ptgs.temperature(key) for key in "aaabbb"} == {0.7}


def test_an_unseen_task_is_mostly_sampled_hot():
    ptgs = PTGS()  # Beta(1/2, 3/2) at the pivot 1/4
    temperatures = np.array([ptgs.temperature("new") for _ in range(40_000)])
    # P(rate <= 1/4) under Beta(1/2, 3/2) is (2 / pi) (asin(x) + x sqrt(1 - x^2)) at x = 1/2.
    hot = 2 / math.pi * (math.asin(0.5) + 0.5 * math.sqrt(0.75))
    assert hot == pytest.approx(0.609, abs=1e-3)
    assert (temperatures > 1).mean() == pytest.approx(hot, abs=0.01)
    assert temperatures.mean() == pytest.approx(1.15, abs=0.01)


def test_the_draws_have_the_mean_of_the_posterior():
    ptgs = PTGS(**HALF)
    ptgs.update("a", 12, 16)
    temperatures = np.array([ptgs.temperature("a") for _ in range(20_000)])
    rates = (1 - np.log(temperatures) / math.log(1.5)) / 2
    assert rates.mean() == pytest.approx((1 + 12) / (2 + 16), abs=3e-3)


def test_old_counts_are_discounted():
    ptgs = PTGS(gamma=0.5, **HALF)
    ptgs.update("a", 4, 16)
    ptgs.update("a", 10, 16)
    ptgs.update("a", 0, 0)
    assert ptgs.counts["a"] == (0.5 * (0.5 * 4 + 10), 0.5 * (0.5 * 12 + 6))
    assert ptgs.posterior("a") == (1 + 6, 1 + 6)
    assert ptgs.posterior("unseen") == (1, 1)


def test_the_posterior_has_the_moments_of_its_beta():
    """With s = gamma 4 + 10 and f = gamma 12 + 6, pivot 1/4: Beta(1/2 + s, 3/2 + f)."""
    ptgs = PTGS(gamma=0.9)
    ptgs.update("a", 4, 16)
    ptgs.update("a", 10, 16)
    a, b = 0.5 + 0.9 * 4 + 10, 1.5 + 0.9 * 12 + 6
    assert ptgs.posterior("a") == pytest.approx((a, b))
    rates = []
    for _ in range(20_000):
        heat = ptgs.temperature("a")
        hardness = math.log(heat) / math.log(1.5)
        rates.append(0.25 - hardness * (0.25 if hardness > 0 else 0.75))
    assert np.mean(rates) == pytest.approx(a / (a + b), abs=3e-3)
    assert np.var(rates) == pytest.approx(a * b / ((a + b) ** 2 * (a + b + 1)), rel=0.05)


def test_the_prior_follows_the_pivot_and_counts_stay():
    ptgs = PTGS()
    ptgs.update("a", 3, 4)
    ptgs.set_progress(10, 10)
    assert ptgs.posterior("a") == (1 + 3, 1 + 1)
    assert ptgs.posterior("unseen") == (1, 1)


def play(ptgs, steps):
    """Some steps of training in which task "k" is solved by k of 4 rows; the temperatures."""
    temperatures = []
    for step in steps:
        ptgs.set_progress(step, 20)
        tasks = [str((step + i) % 5) for i in range(3)]
        temperatures.append(ptgs.assign(tasks))
        rows = [task for task in tasks for _ in range(4)]
        ptgs.observe(rows, [i < int(task) for task in tasks for i in range(4)])
    return temperatures


def test_a_saved_state_goes_on_exactly():
    whole, first, second = PTGS(seed=3), PTGS(seed=3), PTGS(seed=3)
    temperatures = play(whole, range(1, 21))
    assert play(first, range(1, 8)) == temperatures[:7]
    second.restore(json.loads(json.dumps(first.state())))
    assert play(second, range(8, 21)) == temperatures[7:]
    assert second.state() == whole.state()


def test_a_state_of_another_sampler_is_refused():
    with pytest.raises(ValueError, match=r"saved state has tau = 1.5, this PTGS 1.4"):
        PTGS(tau=1.4).restore(PTGS().state())


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("progress", 5),
        ("counts", [["a", [-1, 2]]]),
        ("counts", [["a", [float("nan"), 2]]]),
        ("counts", [["a", 3]]),
        ("counts", [[["a"], [1, 2]]]),
        ("assigned", [["a", float("inf")]]),
        ("generator", {}),
        ("settings", None),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(part, value):
    ptgs = PTGS()
    ptgs.update("a", 1, 2)
    before = ptgs.state()
    with pytest.raises(ValueError, match="the saved state "):
        ptgs.restore(PTGS().state() | {part: value})
    assert ptgs.state() == before


def test_rows_get_the_temperature_of_their_group():
    ptgs = PTGS()
    a, b = ptgs.assign(["a", "b"])
    assert a != b
    assert ptgs.per_row(["b", "a", "a"]).tolist() == [b, a, a]


def test_a_row_without_a_temperature_is_an_error():
    ptgs = PTGS()
    ptgs.assign(["a"])
    ptgs.assign(["b"])
    with pytest.raises(MissingTemperature, match=r"a row of task 'a' has no temperature.*assign"):
        ptgs.per_row(["b", "a"])


def test_a_missing_outcome_counts_neither_way():
    ptgs = PTGS()
    ptgs.observe(["a", "a", "a", "b"], [True, None, False, None])
    assert ptgs.counts == {"a": (1, 1)}


@pytest.mark.parametrize("value", ["False", 0.3, -1])
def test_an_outcome_that_is_none_is_named(value):
    with pytest.raises(ValueError, match=rf"task 'a' has the outcome {value!r}: expected True"):
        PTGS().observe(["a"], [value])


def test_nan_is_missing_and_0_and_1_are_outcomes():
    ptgs = PTGS()
    ptgs.observe(["a"] * 4, [math.nan, np.float64("nan"), 1.0, np.int64(0)])
    assert ptgs.counts == {"a": (1, 1)}


def test_ids_that_are_numbers_stay_numbers():
    ptgs, again = PTGS(), PTGS()
    ptgs.update(np.int64(7), 5, 5)
    ptgs.assign([7])
    again.restore(json.loads(json.dumps(ptgs.state())))
    assert (again.counts, again.assigned) == (ptgs.counts, ptgs.assigned)
    with pytest.raises(ValueError, match="a task's id must be a string or a whole number"):
        ptgs.assign([(7,)])


def test_numpy_counts_are_saved_as_json():
    ptgs = PTGS()
    ptgs.update("a", np.float32(1), np.float32(2))
    assert json.loads(json.dumps(ptgs.state()))["counts"] == [["a", [1.0, 1.0]]]


@pytest.mark.parametrize("key", [True, 1.0, [1]])
def test_a_row_is_of_a_task_by_an_id_of_the_same_kind(key):
    ptgs = PTGS()
    ptgs.assign([1, "1"])
    with pytest.raises(ValueError, match="a task's id must be a string or a whole number"):
        ptgs.per_row([key])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"tau is 0.5: it must be .* at least 1"):
        PTGS(tau=0.5)
    with pytest.raises(ValueError, match=r"seed is inf: it must be a whole number"):
        PTGS(seed=float("inf"))
    with pytest.raises(ValueError, match=r"tau is '1': it must be a finite number"):
        PTGS(tau="1")
    with pytest.raises(ValueError, match="success rate is nan: expected a number from 0 to 1"):
        PTGS().temperature_at(float("nan"))
    with pytest.raises(ValueError, match="None successes of 4 rollouts"):
        PTGS().update("a", None, 4)
    with pytest.raises(ValueError, match="2 tasks and 1 outcomes"):
        PTGS().observe(["a", "b"], [True])
    with pytest.raises(ValueError, match="step 1 of inf"):
        PTGS().set_progress(1, float("inf"))
    with pytest.raises(ValueError, match="5 successes of 4 rollouts"):
        PTGS().update("a", 5, 4)
    with pytest.raises(ValueError, match="step 3 of 2"):
        PTGS().set_progress(3, 2)
    with pytest.raises(ValueError, match="'a' has two groups in one step"):
        PTGS().assign(["a", "b", "a"])


def test_pilots_temper_a_frozen_policy():
    pilots = {"easy": (400, 400), "hard": (0, 400), "middle": (200, 400)}
    temperatures = from_pilots(pilots, tau=1.5, t_ref=0.5)
    assert temperatures["easy"] == pytest.approx(0.5 / 1.5, rel=0.02)
    assert temperatures["hard"] == pytest.approx(0.5 * 1.5, rel=0.02)
    assert temperatures["middle"] == pytest.approx(0.5, rel=0.1)
    assert temperatures == from_pilots(pilots, tau=1.5, t_ref=0.5)


def test_tasks_without_pilots_are_drawn_from_the_prior():
    assert from_pilots({}) == {}
    temperatures = from_pilots(dict.fromkeys(range(4000), (0, 0)))
    rates = [(1 - math.log(heat, 1.5)) / 2 for heat in temperatures.values()]  # uniform, Beta(1, 1)
    assert list(temperatures) == list(range(4000))
    assert [np.mean(rates), np.var(rates)] == pytest.approx([1 / 2, 1 / 12], abs=0.02)


@pytest.mark.parametrize(
    ("pilots", "message"),
    [
        ({"a": (math.nan, 8)}, r"task 'a': nan successes of 8 rollouts: expected two whole"),
        ({"a": (1, None)}, r"task 'a': 1 successes of None rollouts"),
        ({"a": (0.5, 8)}, r"task 'a': 0.5 successes of 8 rollouts: expected two whole numbers"),
        ({"a": (9, 8)}, r"task 'a': 9 successes of 8 rollouts"),
        ({"a": (-1, 8)}, r"task 'a': -1 successes of 8 rollouts"),
        ({"a": None}, r"task 'a' has the pilots None: expected \(successes, rollouts\)"),
        ({"a": (1, 0, 1)}, r"task 'a' has the pilots \(1, 0, 1\): expected \(successes"),
        ({("a", 1): (1, 8)}, r"task \('a', 1\) is a tuple: a task's id must be a string or"),
        ([("a", (1, 8))], r"the pilots are a list: expected a dictionary"),
    ],
)
def test_pilots_that_are_none_are_named(pilots, message):
    with pytest.raises(ValueError, match=message):
        from_pilots(pilots)
