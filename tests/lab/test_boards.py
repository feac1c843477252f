"""The boards of Sokoban are played again from the words of an attempt."""

from dataclasses import replace

import numpy as np
import pytest

from lib.advantage.scored_attempts import two_attempts
from lib.lab import boards, plan, scores

SETTINGS = {
    setting.label: setting
    for setting in scores.settings(scores.read("lab"), ["sokoban", "frozenlake"])
}
SOKOBAN = SETTINGS["sokoban: post-trained"]
WORDS = scores.words(SOKOBAN)


@pytest.mark.parametrize("row", two_attempts(SOKOBAN))
def test_each_step_has_its_board(row):
    shown = boards.boards(SOKOBAN, row, WORDS)
    assert len(shown) == SOKOBAN.table["turns"].iloc[row]
    assert len({(board["goal"], *board["walls"]) for board in shown}) == 1
    assert all(board["box"] != board["goal"] for board in shown)


def test_the_first_board_is_the_task():
    row = two_attempts(SOKOBAN)[0]
    level = plan.environment("sokoban", "test", plan.TASKS).level(SOKOBAN.table["task"].iloc[row])
    first = boards.boards(SOKOBAN, row, WORDS)[0]
    assert f"player@{first['player']} box@{first['box']}" in level.seen[level.start]


def test_there_are_no_boards_of_other_attempts():
    assert boards.boards(SETTINGS["frozenlake: base"], 0, WORDS) == []
    assert boards.boards(SOKOBAN, 0, {}) == []
    foreign = replace(SOKOBAN, table=SOKOBAN.table.drop(columns="world"))
    assert boards.boards(foreign, np.int64(0), WORDS) == []
