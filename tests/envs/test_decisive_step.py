"""The exact decisive step of a failure in Sokoban."""

import pytest

from lib.envs.sokoban import Sokoban
from lib.trajectories.schema import Message

ENVIRONMENT = Sokoban("test", 8)


def solution(task):
    episode, replies = ENVIRONMENT.reset(task, 0), []
    while not episode.done:
        replies.append(ENVIRONMENT.oracle(episode))
        episode.step(replies[-1])
    return replies


@pytest.mark.parametrize("task", ENVIRONMENT.tasks())
def test_a_solved_level_has_no_decisive_step(task):
    assert ENVIRONMENT.decisive_step(task, solution(task)) is None


@pytest.mark.parametrize("task", ENVIRONMENT.tasks())
def test_idling_is_decisive_when_a_solution_no_longer_fits(task):
    level = ENVIRONMENT.level(task)
    turns_needed = -(-level.distance[level.start] // 2)
    idle = [Message("assistant", "")] * 5
    assert ENVIRONMENT.decisive_step(task, idle) == 5 - turns_needed


def test_what_comes_after_the_decisive_step_does_not_matter():
    task = ENVIRONMENT.tasks()[0]
    spare = 5 - len(solution(task))
    replies = [*[Message("assistant", "")] * (spare + 1), *solution(task)][:5]
    assert ENVIRONMENT.decisive_step(task, replies) == spare
