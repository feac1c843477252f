"""Attempts of a frozen policy, scored step by step by a post-trained policy and its references.

A row of the table is an attempt with its token scores as lists, so every aggregation and baseline
of `lib.advantage` follows from it (`as_scored`); of further references and of the trained rival
only the score of the trajectory is kept.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from lib.advantage import Scored, Steps, read_stored, score_trajectory, token_scores
from lib.advantage.references import merge
from lib.envs.sokoban import Sokoban
from lib.generation import load
from lib.lab import plan, reward_model
from lib.lab.evaluation import in_batches, open_policy
from lib.lab.scored import MERGES, TOKENS
from lib.rollouts.episodes import roll_out
from lib.trajectories.schema import Rollout, RolloutKey


def attempts(folder: Path, world: str, split: str, tasks, n: int) -> list[Rollout]:
    """n rollouts of each of some tasks by a model of the lab, in the order of tasks."""
    policy = open_policy(folder, world, plan.SCORED_TEMPERATURE)
    keys = [RolloutKey(0, task, attempt) for task in tasks for attempt in range(n)]
    found = {}
    for low in range(0, len(keys), plan.AT_ONCE):
        part = keys[low : low + plan.AT_ONCE]
        for one in roll_out(
            policy.start(part), plan.environment(world, split), part, "lab", "scored"
        ):
            found[one.task, one.attempt] = one
    return [found[key.task, key.attempt] for key in keys]


def run(
    scores: plan.Scores,
    out: Path,
    *,
    sampler: Path,
    policy: Path,
    bases: Mapping[str, Path],
) -> pd.DataFrame:
    """The table of one piece of work, made in `out` a lot of tasks at a time.

    sampler, policy: folders of the models that made and that score the attempts.  bases: the
    reference as "base", and further ones by name.
    """
    world = plan.environment(scores.environment, "test", plan.TASKS)
    ours, tokenizer = load(policy)
    reference = load(bases["base"])[0]
    others = {name: load(path)[0] for name, path in bases.items() if name != "base"}
    for name, (method, alpha) in MERGES.items():
        draws = torch.Generator().manual_seed(0)
        others[name] = merge(ours, reference, alpha, method=method, generator=draws)
    context = ours.config.max_position_embeddings
    rival, labels = _rival(scores, sampler, bases["base"], tokenizer, context)

    def measure(tasks):
        rollouts = attempts(sampler, scores.environment, "test", tasks, plan.SCORED_ATTEMPTS)
        steps = [read_stored(one, tokenizer, context) for one in rollouts]
        scored = token_scores(ours, reference, steps)
        table = as_table(scored, world, rollouts)
        for name, model in others.items():
            found = token_scores(model, None, steps)
            theirs = replace(scored, reference=found.policy)
            table[name] = score_trajectory(theirs).astype(np.float32)
        table["reward model"] = reward_model.rate(rival, _whole(steps)).astype(np.float32)
        return table.assign(labels=labels)

    return in_batches(out / "attempts.parquet", world.tasks(), measure)


def _rival(scores, sampler, base, tokenizer, context):
    """A reward model fitted on attempts of the same sampler at training tasks, and its labels."""
    tasks = plan.environment(scores.environment, "train").tasks()
    rollouts = attempts(sampler, scores.environment, "train", tasks, plan.LABELS_A_TASK)
    graded = [one for one in rollouts if one.passed is not None]
    transcripts = _whole([read_stored(one, tokenizer, context) for one in graded])
    rival = reward_model.fit(base, transcripts, [one.passed for one in graded])
    return rival, len(graded)


def _whole(steps: list[Steps]) -> list[list[int]]:
    """All tokens of each trajectory: the longest sequence, and the token it ends with."""
    return [
        [*max(one.reading.sequences, key=len, default=[0]), *one.reading.tokens[-1:].tolist()]
        for one in steps
    ]


def as_table(scored: Scored, world, rollouts: list[Rollout]) -> pd.DataFrame:
    """A row an attempt: its outcome, the tokens of each step, and what the pair says of them."""
    table = scored.table().drop(columns=["benchmark", "pair", "arm"])
    table["counts"] = np.split(scored.counts.astype(np.int16), np.cumsum(scored.steps)[:-1])
    of = np.bincount(scored.trajectory, weights=scored.counts, minlength=len(scored))
    ends = np.cumsum(of).astype(int)[:-1]
    for name in TOKENS:
        kind = np.int16 if name == "tokens" else np.float32
        table[name] = np.split(getattr(scored, name).astype(kind), ends)
    known = isinstance(world, Sokoban)
    decisive = [world.decisive_step(one.task, _replies(one)) if known else None for one in rollouts]
    return table.assign(decisive=pd.array(decisive, dtype="Int8"))


def _replies(rollout: Rollout):
    return [message for message in rollout.messages if message.role == "assistant"]
