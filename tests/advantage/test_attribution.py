"""Failure attribution: exact decisive steps, rules and guesses."""

import numpy as np
import pytest

from lib import claims, metrics
from lib.advantage import attribution
from lib.envs.sokoban import Sokoban
from lib.trajectories.schema import Message
from tests import scored_attempts

WORLD = Sokoban("test", 8)


def solution(task):
    episode, replies = WORLD.reset(task, 0), []
    while not episode.done:
        replies.append(WORLD.oracle(episode))
        episode.step(replies[-1])
    return replies


@pytest.mark.parametrize("task", WORLD.tasks())
def test_a_solved_level_has_no_decisive_step(task):
    assert WORLD.decisive_step(task, solution(task)) is None


@pytest.mark.parametrize("task", WORLD.tasks())
def test_idling_is_decisive_when_a_solution_no_longer_fits(task):
    level = WORLD.level(task)
    turns_needed = -(-level.distance[level.start] // 2)
    idle = [Message("assistant", "")] * 5
    assert WORLD.decisive_step(task, idle) == 5 - turns_needed


def test_what_comes_after_the_decisive_step_does_not_matter():
    task = WORLD.tasks()[0]
    spare = 5 - len(solution(task))
    replies = [*[Message("assistant", "")] * (spare + 1), *solution(task)][:5]
    assert WORLD.decisive_step(task, replies) == spare


# ---------------------------------------------------------------------------- rules and guesses


def test_scores_and_guesses_are_compared_on_the_same_failures():
    found = attribution.compare(
        {"x": [[0, -1, 0], [0, 0, -1]]}, [[1, 1, 9], [1, 1, 9]], [1, 2], n_boot=0
    ).set_index(["scorer", "rule"])
    assert found.loc[("x", "lowest score"), "accuracy"] == 1
    assert found.loc[("longest step", attribution.GUESS), "accuracy"] == 0.5
    assert found.loc[("first step", attribution.GUESS), "distance"] == 1.5
    assert found.loc[("random step", attribution.GUESS), "accuracy"] == pytest.approx(1 / 3)
    assert found.loc[("random step", attribution.GUESS), "distance"] == pytest.approx(5 / 6)


def always(decisive, tasks):
    return attribution.guesses([[1] * 5] * len(decisive), decisive, tasks)["always step k"]


def test_always_the_same_step_is_chosen_on_other_tasks():
    tasks, decisive = np.repeat(np.arange(8), 3), np.repeat([4, 4, 4, 1, 4, 4, 4, 4], 3)
    assert all((steps == 4).all() for steps in always(decisive, tasks))
    first, second = always([0, 3], ["a", "b"])
    assert (first == 3).all()
    assert (second == 0).all()
    assert always([0, 3], ["a", "a"]) == [None, None]


def test_always_the_same_step_does_not_hang_on_the_seed():
    decisive = [0] * 15 + [1] * 16 + [2] * 9
    accuracies = [
        metrics.attribution(
            attribution._always(decisive, None, seed), decisive, n_boot=0
        ).accuracy.value
        for seed in range(4)
    ]
    assert max(accuracies) - min(accuracies) < 0.04


def test_a_score_that_is_a_guess_in_disguise_is_told():
    scores = {"log-prob": [[-1, -2, -1], [-3, -1, -2]], "x": [[0, -1, 0], [0, 0, -1]]}
    table = attribution.compare(scores, [[1, 1, 1]] * 2, [1, 2], n_boot=0)
    like = table.set_index(["scorer", "rule"])
    row = like.loc["log-prob", "lowest running sum"]
    assert (row["like"], row["alike"]) == ("last step", 1)
    assert like.loc[("log-prob", "sharpest drop"), "alike"] < 1
    said = attribution.in_words(table)
    assert "log-prob by lowest running sum = last step" in said
    assert "The best of the other 5: log-prob by sharpest drop, right in 100% of 2 failures" in said
    assert "the best guess, last step, right in 50%" in said


@pytest.mark.parametrize(("right", "told"), [(True, "better"), (False, "worse")])
def test_the_result_in_words_follows_the_interval_of_the_lead(right, told):
    decisive = [i % 3 for i in range(60)]
    wrong = [[0.0, 0.0, 0.0] for _ in decisive]
    for row, step in zip(wrong, decisive, strict=True):
        row[step] = -1.0 if right else 1.0
    lengths = [[9 if step == i else 1 for i in range(3)] for step in decisive]
    lengths = [[1, 1, 1]] * 60 if right else lengths
    said = attribution.in_words(attribution.compare({"x": wrong}, lengths, decisive, n_boot=100))
    assert f"it is {told} than the best guess" in said


def test_worse_than_chance_at_the_decisive_step_is_said():
    bands = {"x": metrics.Band(0.4, 0.3, 0.49), "y": metrics.Band(0.5, 0.4, 0.6)}
    bands = {where: {"log-prob": band} for where, band in bands.items()}
    assert attribution.lower_in_words(bands) == (
        "log-prob, of 2 settings: better than chance in 0, worse in 1 (x), "
        "not told from it in 1 (y)"
    )


def test_logs_without_scores_are_said_to_have_none():
    table = attribution.compare({"x": [[np.nan]] * 2}, [[1]] * 2, [0, 0], n_boot=0)
    assert attribution.in_words(table) == "no score names a step here"


def test_the_decisive_step_of_the_lab_is_found_where_the_advantage_falls():
    cell = scored_attempts.cell()
    found = attribution.in_sokoban(cell, n_boot=100).set_index(["scorer", "rule"])["accuracy"]
    for rule in ("lowest score", "sharpest drop"):
        assert found["progress advantage", rule] == 1
    assert found["last step", attribution.GUESS] == 0
    assert attribution.lower_at_decisive(cell, n_boot=100)["progress advantage"].value == 1
    assert attribution.lower_at_decisive(cell, n_boot=100)["policy log-prob"].value == 0.5


def test_failures_of_a_task_are_resampled_together():
    predicted, actual = np.repeat([0, 1], 50), np.zeros(100, int)
    tasks = np.repeat(np.arange(20), 5)
    alone = metrics.attribution(predicted, actual, n_boot=500).accuracy
    together = metrics.attribution(predicted, actual, tasks=tasks, n_boot=500).accuracy
    assert alone.value == together.value == 0.5
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_a_lead_over_a_rival_meets_the_same_resamples():
    actual, rival = np.zeros(100, int), np.repeat([0, 1], 50)
    lead = metrics.attribution_lead(rival, rival, actual, n_boot=200)
    assert lead == (0, 0, 0)
    lead = metrics.attribution_lead([0] * 100, rival, actual, n_boot=500)
    assert lead.value == 0.5
    assert 0.35 < lead.low < lead.high < 0.65
    with pytest.warns(UserWarning, match="both name a step of no trajectory"):
        assert np.isnan(metrics.attribution_lead([None], [0], [0]).value)


def test_the_claim_is_not_tested_without_a_pair():
    table = attribution.compare({"log-prob": [[0, -1]]}, [[1, 1]], [1], n_boot=0)
    (claim,) = claims.attribution_claims({"logs": table})
    assert claim.verdict == "not tested here"
    assert "--reference" in claim.why
