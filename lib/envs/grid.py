"""What the two grid worlds share: levels as tables of next states, and episodes played on them.

A level of s states is computed once; every attempt at it then only looks up the table. Cells are
numbered row by row from the top left.
"""

import hashlib
import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from lib.envs.protocol import Outcome
from lib.trajectories.schema import Message, Tool, ToolCall

MOVES = ("up", "down", "left", "right")
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
ACROSS = ((2, 3), (2, 3), (0, 1), (0, 1))
"""The two moves at right angles to each move."""

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Level:
    """One level; states are numbered from 0.

    start: the first state.  next: the state after each of the four `MOVES`, [s][4].
    ends: True where a state is solved, False where it is lost, None where play goes on, [s].
    seen: the observation of each state, in words, [s].
    best: the moves that an expert may make in each state, [s][1 to 4].
    distance: moves that a solution takes from each state without slips, None if there is none, [s].
    """

    start: int
    next: Sequence[Sequence[int]]
    ends: Sequence[bool | None]
    seen: Sequence[str]
    best: Sequence[Sequence[int]]
    distance: Sequence[int | None]


def move_tool(per_turn: int) -> Tool:
    """The only tool of a grid world: up to `per_turn` moves."""
    names = ("first", "second", "third", "fourth")[:per_turn]
    properties = {name: {"type": "string", "enum": list(MOVES)} for name in names}
    parameters = {"type": "object", "properties": properties, "required": [names[0]]}
    return Tool("move", "Move the player, a cell a move, in the order given.", parameters)


def move_call(moves: Iterable[int], tool: Tool) -> ToolCall:
    """The call that makes these moves."""
    names = tool.parameters["properties"]
    return ToolCall("move", {name: MOVES[move] for name, move in zip(names, moves, strict=False)})


class GridWorld:
    """An environment (`lib.envs.Environment`) whose levels a subclass draws from a seed.

    turns: replies to an episode.  per_turn: moves in a reply, at most; further ones are dropped.
    split: "train" or "test". A level belongs to one of the two by a digest of what it looks like,
    so no level of one split is in the other.  count: number of tasks.

    A reply without a valid move changes nothing and costs a turn.
    """

    name: str
    system: str
    rewards: Mapping[str, float]
    """Of a `move`, of a `solved` level and of an `invalid` reply, which has no move. Their sum
    over the episode is info["return"]."""

    def __init__(self, split: Split, count: int, turns: int, per_turn: int, slip: float):
        if split not in ("train", "test"):
            raise ValueError(f"split is {split!r}: expected 'train' or 'test'")
        whole = all(type(number) is int for number in (count, turns, per_turn))
        if not (whole and count > 0 and turns > 0 and 1 <= per_turn <= 4 and 0 <= slip < 1):
            raise ValueError(
                f"count = {count!r}, turns = {turns!r}, per_turn = {per_turn!r}, slip = {slip}: "
                "expected whole numbers, a positive count and turns, 1 to 4 moves a turn, and a "
                "slip from 0 to below 1"
            )
        self.split, self.count, self.turns, self.per_turn = split, count, turns, per_turn
        self.slip, self.tool = slip, move_tool(per_turn)
        self.level = lru_cache(maxsize=4096)(self._level)

    def tasks(self) -> list[str]:
        return [f"{self.name}-{self.split}-{number:05}" for number in range(self.count)]

    def reset(self, task: str, attempt: int) -> "GridEpisode":
        return GridEpisode(self, task, attempt)

    def oracle(self, episode: "GridEpisode") -> Message:
        """The moves of a shortest way to a solution, with knowledge of which moves will slip."""
        call = move_call(self._plan(episode), self.tool)
        return Message("assistant", "", (call,) if call.arguments else ())

    def behave(
        self, episode: "GridEpisode", rng: random.Random, noise: float, lean: int | None = None
    ) -> tuple[ToolCall, ...]:
        """The call of an expert, each move replaced by a random one with probability `noise`.

        Random moves are uniform over the four, but two in three are `lean` where it is given.
        """
        level, state, moves = episode.level, episode.state, []
        while len(moves) < self.per_turn and level.ends[state] is None:
            if rng.random() >= noise:
                move = rng.choice(level.best[state])
            elif lean is not None and rng.random() < 2 / 3:
                move = lean
            else:
                move = rng.randrange(4)
            moves.append(move)
            state = level.next[state][move]
        return (move_call(moves, self.tool),)

    def _level(self, task: str) -> Level:
        prefix, _, number = task.rpartition("-")
        plain = number.isascii() and number.isdigit()
        if prefix not in (f"{self.name}-train", f"{self.name}-test") or not plain:
            raise ValueError(
                f"{task!r} is no task of {self.name}: expected {self.name}-train-NUMBER or -test-"
            )
        rng = random.Random(task)
        odd = prefix.endswith("test")
        while True:
            level = self.draw(rng)
            if level is not None and _digest(level.seen[level.start]) % 2 == odd:
                return level

    def draw(self, rng: random.Random) -> Level | None:
        """A random level, or None if the draw was too hard, too easy or unsolvable."""
        raise NotImplementedError

    def _plan(self, episode: "GridEpisode") -> list[int]:
        """The first moves, at most a turn's, of a shortest way with this attempt's slips."""
        level, made = episode.level, episode.made
        waiting, seen = deque([(episode.state, ())]), {(episode.state, 0)}
        while waiting:
            state, path = waiting.popleft()
            if level.ends[state]:
                return list(path[: self.per_turn])
            if level.ends[state] is False or made + len(path) == len(episode.slips):
                continue
            for move in range(4):
                after = level.next[state][episode.slipped(move, made + len(path))]
                if (after, len(path) + 1) not in seen:
                    seen.add((after, len(path) + 1))
                    waiting.append((after, (*path, move)))
        return []


class GridEpisode:
    """One attempt at a level."""

    def __init__(self, environment: GridWorld, task: str, attempt: int):
        self.environment, self.level = environment, environment.level(task)
        self.system, self.tools = environment.system, (environment.tool,)
        self.seeds = {"attempt": attempt}
        self.state, self.turn, self.made, self.total = self.level.start, 0, 0, 0.0
        self.messages = (Message("user", self.level.seen[self.state]),)
        self.outcome: Outcome | None = None
        length = environment.turns * environment.per_turn
        if environment.slip:
            rng = random.Random(f"{task}/{attempt}")
            self.slips = [rng.random() for _ in range(length)]
        else:
            self.slips = [1.0] * length

    @property
    def done(self) -> bool:
        return self.outcome is not None

    @property
    def info(self) -> dict[str, Any]:
        """The info of the outcome, so far."""
        return {"return": round(self.total, 6), "turns": self.turn, "moves": self.made}

    def step(self, reply: Message) -> tuple[Message, ...]:
        if self.done:
            raise RuntimeError("the episode is over: start another with reset")
        moves = [
            MOVES.index(move)
            for call in reply.tool_calls
            if call.name == "move"
            for move in call.arguments.values()
            if isinstance(move, str) and move in MOVES
        ][: self.environment.per_turn]
        self.turn += 1
        rewards, ends = self.environment.rewards, self.level.ends
        self.total += 0 if moves else rewards["invalid"]
        for move in moves:
            before = self.state
            self.state = self.level.next[before][self.slipped(move, self.made)]
            self.made += 1
            self.total += rewards["move"]
            if ends[self.state] is not None:
                break
        ended = ends[self.state]
        if ended is None and self.turn < self.environment.turns:
            seen = self.level.seen[self.state]
            return (Message("tool", seen, name="move") if moves else Message("user", seen),)
        self.total += rewards["solved"] if ended else 0
        why = "" if ended else "lost" if ended is False else f"not solved in {self.turn} turns"
        self.outcome = Outcome(ended is True, why, self.info)
        return ()

    def slipped(self, move: int, number: int) -> int:
        """The move that is made as number `number` of this attempt where `move` was chosen."""
        chance, slip = self.slips[number], self.environment.slip
        return move if chance >= slip else ACROSS[move][chance < slip / 2]

    def close(self) -> None:
        pass


def distances(
    next_states: Sequence[Sequence[int]], ends: Sequence[bool | None]
) -> list[int | None]:
    """The fewest moves from each state to a solved state, None if there is no way."""
    before: list[list[int]] = [[] for _ in next_states]
    for state, after in enumerate(next_states):
        if ends[state] is None:
            for other in after:
                before[other].append(state)
    distance: list[int | None] = [0 if ended else None for ended in ends]
    waiting = deque(state for state, ended in enumerate(ends) if ended)
    while waiting:
        state = waiting.popleft()
        for other in before[state]:
            if distance[other] is None:
                distance[other] = distance[state] + 1
                waiting.append(other)
    return distance


def steps_of(size: int, walls: Iterable[int] = ()) -> list[list[int]]:
    """[cells, 4]: where each move leads on a square grid; into a wall or over the edge, nowhere."""
    blocked = frozenset(walls)

    def step(cell, move):
        row, column = cell // size + STEPS[move][0], cell % size + STEPS[move][1]
        inside = 0 <= row < size and 0 <= column < size
        to = row * size + column
        return to if inside and to not in blocked else cell

    return [[step(cell, move) for move in range(4)] for cell in range(size**2)]


def _digest(text: str) -> int:
    return hashlib.blake2b(text.encode(), digest_size=1).digest()[0]


def settings_of(environment: GridWorld, **own: Any) -> dict[str, Any]:
    """The settings of a grid world that manifests keep."""
    names = ("split", "turns", "per_turn", "slip")
    return {name: getattr(environment, name) for name in names} | own
