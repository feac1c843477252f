"""Sokoban with one box: push it onto the goal; it cannot be pulled, so a push may be fatal."""

import random
from collections.abc import Sequence
from typing import ClassVar

from lib.envs.grid import GridWorld, Level, Split, distances, settings_of, steps_of
from lib.trajectories.schema import Message


class Sokoban(GridWorld):
    """A square of `size` x `size` cells inside its outer wall, with `walls` more within.

    The defaults are the lab's; size 4 is the 6 x 6 of the paper, counted with the outer wall.
    longest: moves of a shortest solution, at most; at least 2.
    """

    name = "sokoban"
    rewards: ClassVar = {"move": -0.1, "invalid": -0.1, "solved": 11.0}

    def __init__(
        self,
        split: Split = "train",
        count: int = 200,
        *,
        size: int = 4,
        walls: int = 2,
        longest: int = 10,
        turns: int = 5,
        per_turn: int = 2,
    ):
        super().__init__(split, count, turns, per_turn, slip=0.0)
        if not (2 <= size <= 10 and 0 <= walls <= size * size - 6 and longest >= 2):
            raise ValueError(
                f"size = {size}, walls = {walls}, longest = {longest}: expected a size from 2 to "
                "10, walls that leave six cells free, and a longest solution of 2 or more"
            )
        self.size, self.walls, self.longest = size, walls, longest
        self.system = (
            f"You are in a room of {size} x {size} cells, numbered row by row from 0 at the top "
            "left. Push the box onto the goal by walking into it. Neither you nor the box can "
            "pass walls or leave the room, and the box cannot be pulled. You see where things "
            f"are, as thing@cell. Call move with up to {per_turn} moves a turn; you have {turns} "
            "turns."
        )
        self.settings = settings_of(self, size=size, walls=walls, longest=longest)

    def words(self) -> list[str]:
        """All words of its observations and calls."""
        things = ("player", "box", "goal", "wall")
        return [
            "move",
            *("up", "down", "left", "right"),
            *(f"{thing}@{cell}" for thing in things for cell in range(self.size**2)),
        ]

    def decisive_step(self, task: str, replies: Sequence[Message]) -> int | None:
        """The first reply, from 0, after which no solution fits into the turns that are left.

        Exact, by the distances of the level. None if there is no such reply: the task was
        solved, or could still be solved where the attempt broke off.
        """
        walk = self.reset(task, 0)
        for number, reply in enumerate(replies):
            walk.step(reply)
            distance = walk.level.distance[walk.state]
            if distance is None or distance > (self.turns - walk.turn) * self.per_turn:
                return number
        return None

    def draw(self, rng: random.Random) -> Level | None:
        cells = rng.sample(range(self.size**2), 3 + self.walls)
        player, box, goal, walls = *cells[:3], sorted(cells[3:])
        return self.lay_out(player, box, goal, walls)

    def lay_out(self, player: int, box: int, goal: int, walls: list[int]) -> Level | None:
        """The level with these cells; None unless it takes 2 to `longest` moves."""
        step = steps_of(self.size, walls)
        free = [cell for cell in range(self.size**2) if cell not in walls]
        pairs = [(p, b) for p in free for b in free if p != b]
        number = {pair: i for i, pair in enumerate(pairs)}
        ends = [True if b == goal else None for _, b in pairs]
        after = []
        for here, crate in pairs:
            row = []
            for move in range(4):
                to, pushed = step[here][move], crate
                if to == crate:
                    pushed = step[crate][move]
                    to = to if pushed != crate else here
                row.append(number[to, pushed])
            after.append(row)
        distance = distances(after, ends)
        start = number[player, box]
        if distance[start] is None or not 2 <= distance[start] <= self.longest:
            return None
        still = " ".join([f"goal@{goal}", *(f"wall@{wall}" for wall in walls)])
        return Level(
            start,
            after,
            ends,
            [f"player@{p} box@{b} {still}" for p, b in pairs],
            [_nearest(row, distance) for row in after],
            distance,
        )


def _nearest(after, distance) -> list[int]:
    """The moves to the states nearest to a solution; all four where there is none."""
    reach = [distance[state] for state in after]
    known = [d for d in reach if d is not None]
    return [move for move in range(4) if reach[move] == min(known)] if known else [0, 1, 2, 3]
