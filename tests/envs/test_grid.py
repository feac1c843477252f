"""FrozenLake and Sokoban: solvable, deterministic, told in known words; hostile text is data."""

import random
import subprocess
import sys

import pytest

from lib.envs import Environment, Episode, null, open_environment, play
from lib.envs.frozenlake import FrozenLake, safest
from lib.envs.grid import ACROSS, move_call
from lib.envs.sokoban import Sokoban
from lib.rollouts.prompts.harness import render_calls
from lib.rollouts.prompts.word_language import read_calls, write_calls
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.schema import Message, ToolCall

WORLDS = [Sokoban, FrozenLake]
UP, DOWN, LEFT, RIGHT = range(4)


def say(environment, *moves):
    return Message("assistant", "", (move_call(moves, environment.tool),))


@pytest.mark.parametrize(
    "environment", [kind(split, 100) for kind in WORLDS for split in ("train", "test")]
)
def test_the_oracle_solves_every_level_and_null_none(environment):
    for task in environment.tasks():
        # Slips can make an attempt hopeless, so a level counts as solved if one of three is.
        assert any(play(environment.reset(task, i), environment.oracle)[1].passed for i in range(3))
        assert not play(environment.reset(task, 0), null)[1].passed


@pytest.mark.parametrize("kind", WORLDS)
def test_worlds_keep_to_the_protocol(kind):
    environment = kind()
    episode = environment.reset(environment.tasks()[0], 0)
    assert isinstance(environment, Environment)
    assert isinstance(episode, Episode)
    assert type(open_environment(environment.name)) is kind


@pytest.mark.parametrize("kind", WORLDS)
def test_training_and_test_levels_are_apart(kind):
    seen = [
        {
            environment.level(task).seen[environment.level(task).start]
            for task in environment.tasks()
        }
        for environment in (kind("train", 300), kind("test", 300))
    ]
    assert seen[0].isdisjoint(seen[1])


@pytest.mark.parametrize("kind", WORLDS)
def test_a_task_is_the_same_level_in_another_process(kind):
    environment = kind("test")
    task = environment.tasks()[7]
    code = (
        f"from lib.envs import open_environment as new; e = new({environment.name!r}, 'test');"
        f"print(e.reset({task!r}, 3).messages[0].content)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == environment.reset(task, 3).messages[0].content


@pytest.mark.parametrize("kind", WORLDS)
def test_all_that_is_said_is_in_its_words(kind):
    environment, rng = kind("train", 50), random.Random(0)
    for task in environment.tasks():
        episode = environment.reset(task, 0)
        messages, _ = play(
            episode, lambda e: Message("assistant", "", environment.behave(e, rng, noise=0.7))
        )
        said = [word for one in messages for word in one.content.split()]
        called = [c for one in messages for call in one.tool_calls for c in call.arguments.values()]
        assert {*said, *called, "move"} <= set(environment.words())


@pytest.mark.parametrize("kind", WORLDS)
def test_skill_falls_with_noise(kind):
    environment, rng = kind("train", 100), random.Random(0)

    def solved(noise, lean=None):
        reply = lambda e: Message("assistant", "", environment.behave(e, rng, noise, lean))  # noqa: E731
        return sum(
            play(environment.reset(task, 0), reply)[1].passed for task in environment.tasks()
        )

    assert solved(0.0) > solved(0.5) > solved(1.0) + 10
    assert solved(1.0, lean=LEFT) < 20


def test_noise_free_moves_solve_sokoban_in_as_few_moves_as_there_are():
    environment, rng = Sokoban("test", 100), random.Random(0)
    for task in environment.tasks():
        level = environment.level(task)
        reply = lambda e: Message("assistant", "", environment.behave(e, rng, 0.0))  # noqa: E731
        _, outcome = play(environment.reset(task, 0), reply)
        assert outcome.info["moves"] == level.distance[level.start]


def test_a_box_is_pushed_and_walls_stop_it():
    level = Sokoban(size=4, walls=0).lay_out(player=4, box=5, goal=7, walls=[])
    pushed = level.next[level.start][RIGHT]
    assert level.seen[pushed] == "player@5 box@6 goal@7"
    solved = level.next[pushed][RIGHT]
    assert level.seen[solved] == "player@6 box@7 goal@7"
    assert level.ends[solved]
    walled = Sokoban(size=4, walls=1).lay_out(player=9, box=5, goal=4, walls=[1])
    assert walled.next[walled.start][UP] == walled.start


def test_a_box_in_a_corner_is_lost():
    level = Sokoban(walls=0, longest=20).lay_out(player=2, box=1, goal=3, walls=[])
    cornered = level.next[level.start][LEFT]
    assert level.seen[cornered].startswith("player@1 box@0")
    assert level.distance[cornered] is None
    assert level.distance[level.start] is not None


def test_a_solved_sokoban_pays_as_in_the_paper():
    environment = Sokoban("test", 1)
    _, outcome = play(environment.reset(environment.tasks()[0], 0), environment.oracle)
    assert outcome.info["return"] == pytest.approx(11 - 0.1 * outcome.info["moves"])


def test_slips_have_their_chance_and_go_to_the_sides():
    environment = FrozenLake(slip=0.2)
    task, counts = environment.tasks()[0], [0] * 4
    for attempt in range(2000):
        counts[environment.reset(task, attempt).slipped(UP, 0)] += 1
    assert counts[DOWN] == 0
    assert counts[UP] == pytest.approx(1600, abs=80)
    assert counts[LEFT] == pytest.approx(200, abs=60)


def test_attempts_slip_apart_and_the_same_attempt_alike():
    environment = FrozenLake()
    slips = [environment.reset(environment.tasks()[0], attempt).slips for attempt in (0, 0, 1)]
    assert slips[0] == slips[1] != slips[2]


def test_the_expert_of_an_icy_lake_keeps_away_from_holes():
    # A row of three: goal, start, hole. Up and down slip to both, left never falls in.
    after = [[0] * 4, [1, 1, 0, 2], [2] * 4]
    best = safest(after, [True, None, False], slip=0.2)
    assert best[1] == [LEFT]
    assert all(LEFT in ACROSS[move] for move in (UP, DOWN))


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize(
    "calls",
    [
        (ToolCall("move", {"first": ["up"], "second": {"a": 1}}),),
        (ToolCall("move", {"first": "__import__('os').system('true')"}),),
        (ToolCall("jump", {"first": "up"}),),
        (ToolCall("move"),),
    ],
)
def test_what_is_no_move_costs_a_turn_and_nothing_else(kind, calls):
    environment = kind()
    episode = environment.reset(environment.tasks()[0], 0)
    before = episode.messages[0].content
    assert [m.content for m in episode.step(Message("assistant", "", calls))] == [before]
    assert (episode.turn, episode.made, episode.total) == (1, 0, environment.rewards["invalid"])


@pytest.mark.parametrize("kind", WORLDS)
def test_no_more_moves_than_allowed_are_made(kind):
    environment = kind(per_turn=2)
    episode = environment.reset(environment.tasks()[0], 0)
    episode.step(Message("assistant", "", tuple(say(environment, UP).tool_calls) * 9))
    assert episode.made <= 2


@pytest.mark.parametrize("kind", WORLDS)
def test_it_is_played_through_the_text_harness(kind):
    environment = kind("test", 20)

    def written(episode):
        text = render_calls(environment.oracle(episode).tool_calls)
        return Message("assistant", text, parse_tool_calls(text, episode.tools).calls)

    solved = [play(environment.reset(task, 0), written)[1].passed for task in environment.tasks()]
    assert sum(solved) >= 18
    words = write_calls(environment.oracle(environment.reset(environment.tasks()[0], 0)).tool_calls)
    assert read_calls(words, [environment.tool])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "dev"}, "split is 'dev'"),
        ({"size": 1}, "size = 1"),
        ({"turns": 0}, "turns = 0"),
        ({"count": 1.5}, "count = 1.5"),
        ({"count": "3"}, "count = '3'"),
    ],
)
def test_bad_sizes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sokoban(**arguments)


def test_unknown_tasks_and_worlds_are_refused():
    with pytest.raises(ValueError, match="no task of sokoban: expected sokoban-train-NUMBER"):
        Sokoban().reset("frozenlake-train-00001", 0)
    with pytest.raises(ValueError, match="'sokoban-train-²' is no task of sokoban"):
        Sokoban().reset("sokoban-train-²", 0)
    with pytest.raises(ValueError, match="no environment 'chess': expected one of frozenlake, s"):
        open_environment("chess")
