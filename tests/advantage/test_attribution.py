"""Failure attribution: rules and guesses against the decisive steps."""

import numpy as np
import pytest

from lib import metrics
from lib.advantage import attribution
from lib.lab.attribution import decisive_steps
from tests import scored_attempts


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
    text = attribution.in_words(table)
    assert "log-prob by lowest running sum = last step" in text
    assert "The best of the other 5: log-prob by sharpest drop, right in 100% of 2 failures" in text
    assert "the best guess, last step, right in 50%" in text


@pytest.mark.parametrize(("right", "told"), [(True, "better"), (False, "worse")])
def test_the_result_in_words_follows_the_interval_of_the_lead(right, told):
    decisive = [i % 3 for i in range(60)]
    wrong = [[0.0, 0.0, 0.0] for _ in decisive]
    for row, step in zip(wrong, decisive, strict=True):
        row[step] = -1.0 if right else 1.0
    lengths = [[9 if step == i else 1 for i in range(3)] for step in decisive]
    lengths = [[1, 1, 1]] * 60 if right else lengths
    text = attribution.in_words(attribution.compare({"x": wrong}, lengths, decisive, n_boot=100))
    assert f"it is {told} than the best guess" in text


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


def test_the_decisive_step_is_found_where_the_advantage_falls():
    setting = scored_attempts.setting()
    decisive = decisive_steps(setting)
    table = attribution.compare_attempts(setting, decisive, n_boot=100)
    accuracy = table.set_index(["scorer", "rule"])["accuracy"]
    for rule in ("lowest score", "sharpest drop"):
        assert accuracy["progress advantage", rule] == 1
    assert accuracy["last step", attribution.GUESS] == 0
    lower = attribution.lower_at_decisive(setting, decisive, n_boot=100)
    assert lower["progress advantage"].value == 1
    assert lower["policy log-prob"].value == 0.5


@pytest.mark.parametrize(
    ("right", "title"),
    [
        (True, "x (100%) is better than\nthe best guess, "),
        (False, "no score is surely better than\nthe best guess, "),
    ],
)
def test_the_title_says_whether_a_score_beats_the_best_guess(right, title):
    decisive = list(np.arange(20) % 4)
    scores = [-np.eye(5)[d if right else 4] for d in decisive]
    table = attribution.compare({"x": scores}, [[1] * 5] * 20, decisive, n_boot=100)
    assert attribution.title_in_words(table).startswith(title)


def test_the_title_of_guesses_alone():
    table = attribution.compare({}, [[1, 2]] * 4, [1] * 4, n_boot=0)
    assert attribution.title_in_words(table).startswith("not scored;\nthe best guess, ")
