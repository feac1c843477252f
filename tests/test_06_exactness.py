"""The lake of notebook 06: its table is what is played, and the policy is read off whole."""

import numpy as np
import pandas as pd
import pytest

from lib.envs import tabular_mdp
from lib.lab import exactness, fading_lake, plan
from lib.lab.evaluation import open_policy
from lib.rollouts.policies.protocol import Context
from lib.trajectories.schema import Message

WORLD = fading_lake.FadingLake()


def say(plan_number):
    call = fading_lake.move_call(fading_lake.PLANS[plan_number], WORLD.tool)
    return Message("assistant", "", (call,) if call.arguments else ())


def test_the_table_is_the_world_that_is_played():
    task, action = WORLD.tasks()[0], fading_lake.PLANS.index((3, 1))
    start = WORLD.level(task).start
    counts = np.zeros(len(WORLD.whole.seen))
    for attempt in range(4000):
        episode = WORLD.reset(task, attempt)
        episode.step(say(action))
        counts[episode.state] += 1
    chances = WORLD.table().transition[start, action]
    assert np.abs(counts / 4000 - chances).max() < 0.03
    assert (counts[chances == 0] == 0).all()


def test_an_episode_fades_with_the_discount():
    task = WORLD.tasks()[0]
    faded = 0
    for attempt in range(2000):
        episode = WORLD.reset(task, attempt)
        episode.step(say(0))
        faded += episode.done
    assert faded / 2000 == pytest.approx(1 - WORLD.gamma, abs=0.02)


def test_every_free_cell_is_a_start():
    starts = [WORLD.level(task).start for task in WORLD.tasks()]
    assert starts == [s for s, end in enumerate(WORLD.whole.ends) if end is None]


def test_a_glance_sees_the_last_observation_alone():
    said = (Message("user", "first"), Message("assistant", "[ move up ]"), Message("tool", "last"))
    assert fading_lake.Glance().prompt(Context("", (), said)).split() == ["<start>", "last", ">"]


def test_the_chances_of_a_policy_sum_to_one():
    folder = plan.DATA / "models" / plan.Lake.base.name
    policy = open_policy(folder, "frozenlake", 1.0)
    chances = np.exp(fading_lake.log_chances(policy.engine.model, policy.engine.tokenizer, WORLD))
    assert chances.shape == (25, 21)
    assert chances.sum(1) == pytest.approx(1)
    assert (chances[:, 1:].sum(1) > 0.3).all()


def test_a_policy_that_is_the_optimum_lies_on_the_line():
    rng = np.random.default_rng(0)
    table, beta = WORLD.table(), 0.2
    reference = np.log(rng.dirichlet(np.ones(21), size=25))
    best = tabular_mdp.soft_value_iteration(table, reference, beta)
    rows = [(0, np.nan, reference), (9, beta, best.log_policy)]
    made = pd.concat([fading_lake._tabulated(*row) for row in rows], ignore_index=True)
    found = exactness.points(made, WORLD, step=9)
    assert np.abs(found["advantage"] - found["ratio"]).max() < 1e-9
    assert exactness.beside_exact(made, WORLD)["correlation"].iloc[0] == pytest.approx(1)


def test_an_optimiser_that_did_not_converge_is_told_from_an_identity_that_fails():
    table = WORLD.table()
    reference = np.log(np.random.default_rng(0).dirichlet(np.ones(21), size=25))
    best = tabular_mdp.soft_value_iteration(table, reference, 0.2)
    half_way = tabular_mdp.evaluate(table, reference, reference, 0.2)
    found = exactness.identity(table, {"a": best, "b": half_way}, reference, 0.2)
    assert found["holds"].to_list() == found["converged"].to_list() == [True, False]
    said = exactness.identity_in_words(found)
    assert "By a it holds to 1e-12." in said
    assert "The b did not converge" in said
    assert "agree" not in said


def test_the_trained_correlation_is_said_in_words():
    row = {"step": 9, "correlation": 0.5, "states above 0": "3 of 4"}
    said = exactness.beside_in_words(pd.DataFrame([row]))
    assert said.endswith("at 0.50 over all states and replies, and positively in 3 of 4 states.")


def test_weights_of_one_change_nothing():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    plain = np.corrcoef(x, y)[0, 1]
    assert exactness.weighted_correlation(x, y, np.ones(50)) == pytest.approx(plain)


def test_another_source_is_refused():
    with pytest.raises(ValueError, match="source is 'web': expected lab or live"):
        exactness.read_or_train("web")
