"""Exact MDPs: two independent ways to the optimum agree, and the log ratio is the advantage."""

import numpy as np
import pytest
from scipy.special import log_softmax

from lib.envs.frozenlake import FrozenLake
from lib.envs.tabular_mdp import (
    Table,
    advantage,
    evaluate,
    from_level,
    gradient,
    log_ratio,
    maximise,
    recovered_reward,
    soft_value_iteration,
)

MOVES = [[0], [1], [2], [3]]
BETAS = [0.1, 0.3, 2.0]


def lake(slip=0.2, seed=0):
    level = FrozenLake("train", 50, size=4, holes=2).level(f"frozenlake-train-{seed:05}")
    table = from_level(level, slip, 0.95, MOVES)
    rng = np.random.default_rng(seed)
    return table, log_softmax(rng.normal(size=(len(table.ends), 4)), axis=1)


def one_choice(gamma=0.9):
    """State 0 chooses; both actions end in state 1, with rewards 1 and 0."""
    transition = np.zeros((2, 2, 2))
    transition[:, :, 1] = 1
    reward = np.zeros((2, 2, 2))
    reward[0, 0, 1] = 1
    return Table(transition, reward, gamma, np.array([False, True]))


@pytest.mark.parametrize("beta", BETAS)
def test_one_choice_has_its_closed_form(beta):
    even = np.log(np.full((2, 2), 0.5))
    found = soft_value_iteration(one_choice(), even, beta)
    assert found.V[0] == pytest.approx(beta * np.log((np.exp(1 / beta) + 1) / 2), rel=1e-12)
    assert np.exp(found.log_policy[0, 0]) == pytest.approx(1 / (1 + np.exp(-1 / beta)), rel=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_the_log_ratio_is_the_advantage(beta):
    table, reference = lake()
    found = soft_value_iteration(table, reference, beta)
    difference = log_ratio(found, reference, beta) - advantage(found)
    assert np.abs(difference[~table.ends]).max() < 1e-10
    assert np.allclose(np.exp(found.log_policy).sum(1), 1, atol=1e-10)


@pytest.mark.parametrize("beta", [0.02, 0.05, *BETAS])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_found_independently_agrees(beta, seed):
    table, reference = lake(seed=seed)
    found = maximise(table, reference, beta)
    live = ~table.ends
    assert np.abs((log_ratio(found, reference, beta) - advantage(found))[live]).max() < 1e-6
    exact = soft_value_iteration(table, reference, beta)
    assert np.abs(found.V - exact.V).max() < 1e-9
    assert np.abs(advantage(found) - advantage(exact))[live].max() < 1e-6
    assert np.abs(gradient(table, found, reference, beta)).max() < 1e-12


def test_the_gradient_is_what_the_return_changes_by():
    table, reference = lake()
    rng, live = np.random.default_rng(1), ~table.ends
    logits, way = rng.normal(size=(2, *reference.shape))

    def found(step):
        return evaluate(table, log_softmax(logits + step * way, axis=1), reference, 0.2)

    change = (found(1e-5).V - found(-1e-5).V)[live].mean() / 2e-5
    slope = gradient(table, found(0), reference, 0.2)
    assert change == pytest.approx((slope * way).sum(), rel=1e-6)


def test_the_optimum_is_better_than_others():
    table, reference = lake()
    best = soft_value_iteration(table, reference, 0.1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = log_softmax(rng.normal(size=reference.shape) * 3, axis=1)
        assert (evaluate(table, other, reference, 0.1).V <= best.V + 1e-12).all()


def test_the_solve_gives_back_the_values_of_the_optimum():
    table, reference = lake()
    best = soft_value_iteration(table, reference, 0.2)
    assert np.abs(evaluate(table, best.log_policy, reference, 0.2).V - best.V).max() < 1e-10


def test_a_reward_is_recovered_where_nothing_is_random():
    table, reference = lake(slip=0.0)
    found = soft_value_iteration(table, reference, 0.2)
    error = recovered_reward(table, found, reference, 0.2) - table.reward
    happens = (table.transition > 0) & ~table.ends[:, None, None]
    assert np.abs(error[happens]).max() < 1e-10


def test_on_ice_a_reward_is_recovered_in_expectation_only():
    table, reference = lake(slip=0.2)
    found = soft_value_iteration(table, reference, 0.2)
    error = recovered_reward(table, found, reference, 0.2) - table.reward
    live = ~table.ends
    happens = (table.transition > 0) & live[:, None, None]
    assert np.abs((table.transition * error).sum(-1)[live]).max() < 1e-10
    assert np.abs(error[happens]).max() > 0.1


def test_a_plan_of_two_moves_is_one_after_the_other():
    level = FrozenLake("train", 50, size=4, holes=2).level("frozenlake-train-00000")
    single, double = (from_level(level, 0.2, 0.9, plans) for plans in (MOVES, [[0, 3], []]))
    both = single.transition[:, 0] @ single.transition[:, 3]
    assert np.allclose(double.transition[:, 0], both)
    assert np.allclose(double.transition[:, 1], np.eye(16))


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match=r"probabilities of \(state, action\) .* sum to 0.0"):
        Table(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), 0.9, np.zeros(2, dtype=bool))
    with pytest.raises(ValueError, match="gamma is 1"):
        one_choice(gamma=1.0)
    with pytest.raises(ValueError, match="beta is 0"):
        soft_value_iteration(one_choice(), np.log(np.full((2, 2), 0.5)), 0)
