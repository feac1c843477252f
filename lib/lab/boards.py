"""What the lab's Sokoban looked like before each step of a scored attempt."""

from collections.abc import Mapping

import numpy as np

from lib.advantage.scored_attempts import ScoredAttempts
from lib.envs.sokoban import Sokoban
from lib.lab import plan
from lib.rollouts.policies.protocol import Context
from lib.rollouts.prompts.word_language import END, WordLanguage


def boards(attempts: ScoredAttempts, row: int, words: Mapping[int, str]) -> list[dict]:
    """The board before each step of one attempt, as `plotting.plot_board` takes it.

    The moves are played again from the words of the attempt; Sokoban leaves nothing to chance.
    words: token id -> word.  An empty list for attempts that are not at the lab's Sokoban, or whose
    words are not known.
    """
    attempt = attempts.table.iloc[row]
    if attempt.get("world") != "sokoban" or not words:
        return []
    environment = plan.environment("sokoban", "test", plan.TASKS)
    assert isinstance(environment, Sokoban)
    episode, seen = environment.reset(attempt["task"], int(attempt["attempt"])), []
    replies = np.split(np.asarray(attempt["tokens"]), np.cumsum(attempt["counts"])[:-1])
    for step in replies:
        seen.append(_board(episode.level.seen[episode.state], environment.size))
        text = " ".join(words[int(token)] for token in step if words[int(token)] != END)
        context = Context(episode.system, episode.tools, episode.messages)
        if not episode.done:
            episode.step(WordLanguage().read(text, context))
    return seen


def _board(observation: str, size: int) -> dict:
    """The cells of an observation such as "player@5 box@6 goal@10 wall@2"."""
    cells: dict[str, list[int]] = {}
    for word in observation.split():
        thing, _, cell = word.partition("@")
        cells.setdefault(thing, []).append(int(cell))
    single = {thing: cells[thing][0] for thing in ("player", "box", "goal")}
    return {"size": size, "walls": cells.get("wall", []), **single}
