"""Failure attribution: exact decisive steps, rules and guesses, the logs of Who & When."""

import json

import numpy as np
import pytest

from lib import blame, claims, metrics
from lib.benchmarks.whoandwhen import as_rollout, read_logs
from lib.envs.sokoban import Sokoban
from lib.trajectory import Message
from tests import scored_cells

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
    found = blame.compare(
        {"x": [[0, -1, 0], [0, 0, -1]]}, [[1, 1, 9], [1, 1, 9]], [1, 2], n_boot=0
    ).set_index(["scorer", "rule"])
    assert found.loc[("x", "sharpest negative step"), "accuracy"] == 1
    assert found.loc[("longest step", blame.GUESS), "accuracy"] == 0.5
    assert found.loc[("first step", blame.GUESS), "distance"] == 1.5


def test_the_decisive_step_of_the_lab_is_found_where_the_advantage_falls():
    cell = scored_cells.cell()
    found = blame.in_sokoban(cell, n_boot=100).set_index(["scorer", "rule"])["accuracy"]
    for rule in ("sharpest negative step", "sharpest drop"):
        assert found["progress advantage", rule] == 1
    assert found["last step", blame.GUESS] == 0
    assert blame.lower_at_decisive(cell, n_boot=100)["progress advantage"].value == 1
    assert blame.lower_at_decisive(cell, n_boot=100)["policy log-prob"].value == 0.5


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
    assert np.isnan(metrics.attribution_lead([None], [0], [0]).value)


def test_the_claim_is_not_tested_without_a_pair():
    table = blame.compare({"log-prob": [[0, -1]]}, [[1, 1]], [1], n_boot=0)
    (claim,) = claims.attribution_claims({"logs": table})
    assert claim.verdict == "not tested here"
    assert "--reference" in claim.why


# ---------------------------------------------------------------------------------- Who & When


def log(**more):
    said = [{"role": "assistant", "name": "A", "content": "x"}, {"role": "B", "content": ""}]
    told = {"question": "Why?", "mistake_agent": "B", "mistake_step": "1", "history": said}
    return told | more


def write(folder, **logs):
    for split in ("Algorithm-Generated", "Hand-Crafted"):
        (folder / split).mkdir(exist_ok=True)
        for name, raw in logs.items():
            path = folder / split / f"{name.removeprefix('n')}.json"
            path.write_text(json.dumps(raw), encoding="utf-8")
    return folder


def test_logs_are_read_in_the_order_of_their_numbers_with_steps_as_integers(tmp_path):
    found = read_logs(write(tmp_path, n10=log(), n9=log()))
    assert [one.file for one in found] == ["9", "10"] * 2
    assert (found[0].step, found[0].agent, found[0].speakers) == (1, "B", ("A", "B"))


def test_every_step_of_a_log_is_an_action(tmp_path):
    rollout = as_rollout(read_logs(write(tmp_path, n1=log()))[0])
    assert rollout.key == ("whoandwhen", "given", "Algorithm-Generated", "1", 0)
    assert [m.content for m in rollout.messages] == ["Why?", "[A] x", "[B] "]
    assert rollout.passed is False


def test_a_step_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="mistake_step is 2, and there are 2 steps"):
        read_logs(write(tmp_path, n1=log(mistake_step="2")))


def test_a_folder_without_logs_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="Kevin355/Who_and_When"):
        read_logs(tmp_path)
