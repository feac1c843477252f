"""FrozenLake: cross slippery ice to the goal; a hole ends the episode."""

import random
from typing import ClassVar

from lib.envs.grid import ACROSS, GridWorld, Level, Split, distances, settings_of, steps_of


class FrozenLake(GridWorld):
    """A lake of `size` x `size` cells with `holes` holes, start and goal anywhere.

    The defaults are the lab's. In the paper the size is 4, and each other cell is a hole with
    probability 0.1, for which `holes=1` stands here.
    slip: probability that a move goes to one of its two sides.
    shortest, longest: moves of a shortest way without slips.
    """

    name = "frozenlake"
    rewards: ClassVar = {"move": 0.0, "invalid": -0.1, "solved": 1.0}

    def __init__(
        self,
        split: Split = "train",
        count: int = 200,
        *,
        size: int = 5,
        holes: int = 5,
        slip: float = 0.2,
        shortest: int = 2,
        longest: int = 8,
        turns: int = 5,
        per_turn: int = 2,
    ):
        super().__init__(split, count, turns, per_turn, slip)
        if not (2 <= size <= 10 and 0 <= holes <= size * size - 3 and 1 <= shortest <= longest):
            raise ValueError(
                f"size = {size}, holes = {holes}, shortest = {shortest}, longest = {longest}: "
                "expected a size from 2 to 10, holes that leave three cells, and 1 <= shortest <= "
                "longest"
            )
        self.size, self.holes, self.shortest, self.longest = size, holes, shortest, longest
        self.system = (
            f"You walk on a frozen lake of {size} x {size} cells, numbered row by row from 0 at "
            f"the top left. Reach the goal and fall into no hole. The ice is slippery: with a "
            f"chance of {slip:g} a move goes to its left or right instead. You see where things "
            f"are, as thing@cell. Call move with up to {per_turn} moves a turn; you have {turns} "
            "turns."
        )
        self.settings = settings_of(
            self, size=size, holes=holes, shortest=shortest, longest=longest
        )

    def words(self) -> list[str]:
        """All words of its observations and calls."""
        things = ("player", "goal", "hole")
        return [
            "move",
            *("up", "down", "left", "right"),
            *(f"{thing}@{cell}" for thing in things for cell in range(self.size**2)),
        ]

    def draw(self, rng: random.Random) -> Level | None:
        cells = rng.sample(range(self.size**2), 2 + self.holes)
        player, goal, holes = *cells[:2], sorted(cells[2:])
        after = steps_of(self.size)
        ends = [True if c == goal else False if c in holes else None for c in range(len(after))]
        distance = distances(after, ends)
        if distance[player] is None or not self.shortest <= distance[player] <= self.longest:
            return None
        still = " ".join([f"goal@{goal}", *(f"hole@{hole}" for hole in holes)])
        best = safest(after, ends, self.slip)
        return Level(
            player,
            after,
            ends,
            [f"player@{cell} {still}" for cell in range(len(after))],
            best,
            distance,
        )


def safest(after, ends, slip: float, discount: float = 0.95, sweeps: int = 60) -> list[list[int]]:
    """The best moves in each state: value iteration on the slippery table, reward 1 at the goal.

    The discount makes a shorter way worth more, since turns are few.
    """
    value = [1.0 if ended else 0.0 for ended in ends]
    gains: list[list[float]] = []
    for _ in range(sweeps):
        gains = [
            [
                discount
                * (
                    (1 - slip) * value[row[move]]
                    + slip / 2 * (value[row[ACROSS[move][0]]] + value[row[ACROSS[move][1]]])
                )
                for move in range(4)
            ]
            for row in after
        ]
        fresh = [
            value[state] if ends[state] is not None else max(gains[state])
            for state in range(len(after))
        ]
        moved = max(abs(new - old) for new, old in zip(fresh, value, strict=True))
        value = fresh
        if moved < 1e-9:
            break
    return [[move for move in range(4) if gain[move] > max(gain) - 1e-9] for gain in gains]
