"""Artifact 06: the table of the lake is the MDP that is played, and holds the whole policy."""

import numpy as np
import pandas as pd
import pytest

from lib.envs import tabular_mdp
from lib.lab import exactness, fading_lake, plan
from lib.lab.evaluation import open_policy
from lib.rollouts.policies.protocol import Context
from lib.trajectories.schema import Message

LAKE = fading_lake.FadingLake()


def reply(plan_number):
    call = fading_lake.move_call(fading_lake.PLANS[plan_number], LAKE.tool)
    return Message("assistant", "", (call,) if call.arguments else ())


def test_the_table_is_the_environment_that_is_played():
    task, action = LAKE.tasks()[0], fading_lake.PLANS.index((3, 1))
    start = LAKE.level(task).start
    counts = np.zeros(len(LAKE.whole.seen))
    for attempt in range(4000):
        episode = LAKE.reset(task, attempt)
        episode.step(reply(action))
        counts[episode.state] += 1
    chances = LAKE.table().transition[start, action]
    assert np.abs(counts / 4000 - chances).max() < 0.03
    assert (counts[chances == 0] == 0).all()


def test_an_episode_fades_with_the_discount():
    task = LAKE.tasks()[0]
    faded = 0
    for attempt in range(2000):
        episode = LAKE.reset(task, attempt)
        episode.step(reply(0))
        faded += episode.done
    assert faded / 2000 == pytest.approx(1 - LAKE.gamma, abs=0.02)


def test_every_free_cell_is_a_start():
    starts = [LAKE.level(task).start for task in LAKE.tasks()]
    assert starts == [s for s, end in enumerate(LAKE.whole.ends) if end is None]


def test_a_glance_sees_the_last_observation_alone():
    messages = (
        Message("user", "first"),
        Message("assistant", "[ move up ]"),
        Message("tool", "last"),
    )
    assert fading_lake.Glance().prompt(Context("", (), messages)).split() == [
        "<start>",
        "last",
        ">",
    ]


def test_the_chances_of_a_policy_sum_to_one():
    folder = plan.LAB.kept_folder(plan.Lake.base)
    policy = open_policy(folder, "frozenlake", 1.0)
    chances = np.exp(fading_lake.log_policy(policy.engine.model, policy.engine.tokenizer, LAKE))
    assert chances.shape == (25, 21)
    assert chances.sum(1) == pytest.approx(1)
    assert (chances[:, 1:].sum(1) > 0.3).all()


def test_a_policy_that_is_the_optimum_lies_on_the_line():
    rng = np.random.default_rng(0)
    table, beta = LAKE.table(), 0.2
    reference = np.log(rng.dirichlet(np.ones(21), size=25))
    best = tabular_mdp.soft_value_iteration(table, reference, beta)
    rows = [(0, np.nan, reference), (9, beta, best.log_policy)]
    made = pd.concat([fading_lake.tabulate(*row) for row in rows], ignore_index=True)
    found = exactness.points(made, LAKE, step=9)
    assert np.abs(found["advantage"] - found["ratio"]).max() < 1e-9
    assert exactness.beside_exact(made, LAKE)["correlation"].iloc[0] == pytest.approx(1)


def test_an_optimiser_that_did_not_converge_is_distinguished_from_an_identity_that_fails():
    table = LAKE.table()
    reference = np.log(np.random.default_rng(0).dirichlet(np.ones(21), size=25))
    best = tabular_mdp.soft_value_iteration(table, reference, 0.2)
    half_way = tabular_mdp.evaluate(table, reference, reference, 0.2)
    found = exactness.identity(table, {"a": best, "b": half_way}, reference, 0.2)
    assert found["holds"].to_list() == found["converged"].to_list() == [True, False]
    text = exactness.identity_in_words(found)
    assert "By a it holds to 1e-12." in text
    assert "The b did not converge" in text
    assert "agree" not in text


def test_the_trained_correlation_is_put_in_words():
    row = {"step": 9, "correlation": 0.5, "states above 0": "3 of 4"}
    text = exactness.beside_in_words(pd.DataFrame([row]))
    assert text.endswith("at 0.50 over all states and replies, and positively in 3 of 4 states.")


def test_the_reward_is_recovered_without_slips_and_on_ice_on_average_only():
    board, moves = LAKE.whole, [[move] for move in range(4)]
    reference = np.full((len(board.ends), 4), np.log(0.25))
    tables = [tabular_mdp.from_level(board, slip, 0.9, moves) for slip in (0.0, 0.2)]
    exact, icy = (exactness.recovered_rewards(table, reference, beta=0.2) for table in tables)
    assert np.abs(exact.error).max() < 1e-10
    assert np.abs(icy.error).max() > 0.1
    assert icy.on_average < 1e-10


def test_weights_of_one_change_nothing():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    plain = np.corrcoef(x, y)[0, 1]
    assert exactness.weighted_correlation(x, y, np.ones(50)) == pytest.approx(plain)


def test_another_source_is_refused():
    with pytest.raises(ValueError, match="source is 'web': expected lab or live"):
        exactness.read_or_train("web")


def pairs(better, worse):
    return pd.DataFrame({"advantage": [0.2, -0.2, 0.01], "ratio": [better * 0.2, worse * -0.2, 5]})


@pytest.mark.parametrize(
    ("better", "worse", "text"),
    [
        (0.9, 0.3, "Bad moves are under-punished: 30% of the exact advantage, good ones 90%"),
        (0.5, 0.8, "Bad moves are not under-punished: 80% of the exact advantage, good ones 50%"),
    ],
)
def test_what_training_makes_of_good_and_bad_moves(better, worse, text):
    signs = exactness.by_sign(pairs(better, worse))
    assert signs["replies"].to_list() == [1, 1]
    assert exactness.by_sign_in_words(signs) == text


def test_without_bad_moves_nothing_is_said_of_them():
    signs = exactness.by_sign(pairs(1, 1).iloc[:1])
    assert exactness.by_sign_in_words(signs) == "Training moved no reply of one of the two kinds"


def test_states_are_counted_where_a_correlation_is_known():
    text = exactness.states_in_words(np.array([0.5, -0.1, np.nan]))
    assert text == "Log ratio and advantage correlate positively in 1 of 2 states"


@pytest.mark.parametrize(("mean", "ending"), [(0.0, "; right on"), (0.1, "; not right on")])
def test_recovered_rewards_are_put_in_words(mean, ending):
    part = exactness.Recovered(np.array([0.1, -0.1]), np.array([0.5, 0.5]), mean)
    text = exactness.recovered_in_words({0.2: part})
    assert text.startswith(f"Off by 0.100 at slip 0.2 (sd){ending} average")
