"""Attempts of the lab's models, scored by a post-trained policy and its references.

`settings` reads the table; `run` makes it and needs torch. A row is an attempt with the columns of
`lib.advantage.scores`, so every aggregation and baseline follows from it. Of further references and
of the reward model only the score of the trajectory is kept.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lib import located
from lib.advantage.scored_attempts import ScoredAttempts, by_arm, table_of
from lib.advantage.scores import Scored, as_table
from lib.advantage.store import read_table
from lib.envs.sokoban import Sokoban
from lib.lab import plan

if TYPE_CHECKING:
    from lib.advantage import Steps
    from lib.trajectories.schema import Rollout

SPARSE = {"ties 0.5": ("ties", 0.5), "dare 0.5": ("dare", 0.5)}
MERGES = {f"linear {alpha:g}": ("linear", alpha) for alpha in (0.25, 0.5, 0.75)} | SPARSE
"""Name and column of a merged reference -> method and alpha; the base is alpha = 0."""
REFERENCES = {"pre-training, earlier": "earlier", "RL, half-way": "half"}
REFERENCES |= {name: name for name in MERGES}
"""Name of a reference other than the base -> column of progress advantage against it."""
REWARD_MODEL = "reward model"
"""Selector and column of the scores by `lib.lab.reward_model`."""
BY = [*plan.RUN_COLUMNS, "by"]
"""Columns that tell one setting from another: the policy that scores, who made the attempts."""


# --------------------------------------------------------------------------------- reading scores


def read(source: str | Path = "lab") -> pd.DataFrame:
    """The table of scores of the lab, or of another source.

    source: "lab", or what `store.read_table` reads: a folder of `python -m lib score`, or a Parquet
        file; see `lib.located`.
    """
    return read_table(plan.DATA if source == "lab" else located(source))


def settings(
    table: pd.DataFrame, environments: Sequence[str] | None = None
) -> list[ScoredAttempts]:
    """The settings of a table of scores, in the order of the plan; None takes all environments.

    table: as `store.read_table` reads it. One that is not the lab's has a setting for each of its
    benchmarks, pairs and arms, and `environments` are benchmarks.

    Raises TypeError for a name in the place of a list, ValueError for an environment that is not
    there.
    """
    if "by" not in table:
        return by_arm(table, environments)
    known = plan.ENVIRONMENTS
    table = table_of(table, "world", environments, "environments", known)
    by_name = {}
    for key, part in table.groupby(BY, sort=False):
        columns = dict(zip(BY, key, strict=True))
        by_name[plan.Run.of(columns).name, columns["by"]] = _setting(columns, part)
    order = [(planned.policy.name, planned.attempts_by.name) for planned in plan.SCORES]
    names = sorted(by_name, key=lambda name: order.index(name) if name in order else len(order))
    return [by_name[name] for name in names]


def _setting(columns: Mapping, part: pd.DataFrame) -> ScoredAttempts:
    policy, by = plan.Run.of(columns), columns["by"]
    made_by = {policy.name: "post-trained", policy.base.name: "base"}
    made_by = made_by.get(by) or f"base of {by.split('-')[1]}"
    method = "" if policy.method == "fixed" else f" ({policy.method})"
    return ScoredAttempts.of(
        part,
        label=f"{policy.environment}{method}: {made_by}",
        policy=policy.name,
        made_by=made_by,
        attempt_set=by,
        other_scorers={REWARD_MODEL: REWARD_MODEL},
        other_references={name: c for name, c in REFERENCES.items() if c in part},
    )


def about(table: pd.DataFrame) -> list[str]:
    """What the attempts of a table are, in sentences; for the lab's also what its words mean."""
    tasks, attempts = table["task"].nunique(), len(table)
    if "by" not in table:
        names = [", ".join(dict.fromkeys(table[column])) for column in ("benchmark", "pair")]
        which = " of ".join(name for name in names if name)
        return [f"{attempts} scored attempts at {tasks} tasks: {which}."]
    each = table.groupby([*BY, "task"]).size()
    return [
        f"Attempts at held-out tasks, {each.max()} each at T = {plan.SCORED_TEMPERATURE:g}, by a "
        "post-trained policy of the lab, by its base, and by a base of another size, in the tables "
        "alone. The reference is the base; others are weights between the two (linear; TIES and "
        "DARE keep a fifth of the difference) and two earlier checkpoints: the stage of "
        "pre-training that the base was made from, and the policy after half as many steps of RL."
    ]


def absent(table: pd.DataFrame, environments: Sequence[str] | None = None) -> list[str]:
    """What the plan has and the table has not, by name; nothing for another table."""
    if "by" not in table:
        return []
    there = {(setting.policy, setting.attempt_set) for setting in settings(table, environments)}
    return [
        planned.name
        for planned in plan.SCORES
        if (planned.policy.name, planned.attempts_by.name) not in there
        and (environments is None or planned.environment in environments)
    ]


def main_settings(settings: Sequence[ScoredAttempts]) -> list[ScoredAttempts]:
    """Those of a policy's own attempts and of its base's; all, if there are no such."""
    return [setting for setting in settings if setting.made_by in ("base", "post-trained")] or list(
        settings
    )


def primary(settings: Sequence[ScoredAttempts], method: str = "fixed") -> list[ScoredAttempts]:
    """Those of policies trained by one method: a fixed temperature is what the verdict is about.

    All settings of a table that is not the lab's.
    """
    return [
        setting
        for setting in settings
        if "sampler" not in setting.table or bool((setting.table["sampler"] == method).all())
    ]


def words(setting: ScoredAttempts) -> dict[int, str]:
    """Token id -> word of a policy of the lab whose model is committed; empty for any other."""
    file = plan.DATA / "models" / setting.policy / "tokenizer.json"
    if not file.exists():
        return {}
    vocabulary = json.loads(file.read_text(encoding="utf-8"))["model"]["vocab"]
    return {number: word for word, number in vocabulary.items()}


# ---------------------------------------------------------------------------------- making scores


def run(
    scores: plan.Scores,
    out: Path,
    *,
    attempts_by: Path,
    policy: Path,
    bases: Mapping[str, Path],
    lab: plan.Plan = plan.LAB,
) -> pd.DataFrame:
    """The table of one setting, made in `out` some tasks at a time.

    attempts_by, policy: folders of the models that made and that score the attempts.  bases: the
    reference as "base", and further ones by name.  lab: has the numbers of tasks and attempts.
    """
    import torch

    from lib.advantage import read_stored, references, score_trajectory, token_scores
    from lib.generation import load
    from lib.lab import reward_model
    from lib.lab.batches import in_batches

    environment = plan.environment(scores.environment, "test", lab.tasks)
    ours, tokenizer = load(policy)
    reference = load(bases["base"])[0]
    others = {name: load(path)[0] for name, path in bases.items() if name != "base"}
    for name, (method, alpha) in MERGES.items():
        draws = torch.Generator().manual_seed(0)
        others[name] = references.merge(ours, reference, alpha, method=method, generator=draws)
    context = ours.config.max_position_embeddings
    trained, labels = _reward_model(scores, attempts_by, bases["base"], tokenizer, context, lab)

    def measure(tasks):
        rollouts = attempts(attempts_by, scores.environment, "test", tasks, lab.scored_attempts)
        steps = [read_stored(rollout, tokenizer, context) for rollout in rollouts]
        scored = token_scores(ours, reference, steps)
        table = small_table(scored, environment, rollouts)
        for name, model in others.items():
            theirs = replace(scored, reference=token_scores(model, None, steps).policy)
            table[name] = score_trajectory(theirs).astype(np.float32)
        table[REWARD_MODEL] = reward_model.rate(trained, _whole(steps)).astype(np.float32)
        return table.assign(labels=labels)

    return in_batches(out / "attempts.parquet", environment.tasks(), measure, lab.tasks_at_once)


def attempts(folder: Path, environment: str, split: str, tasks, n: int) -> list["Rollout"]:
    """n rollouts of each of some tasks by a model of the lab, in the order of tasks."""
    from lib.lab.evaluation import open_policy
    from lib.rollouts.episodes import roll_out
    from lib.trajectories.schema import RolloutKey

    policy = open_policy(folder, environment, plan.SCORED_TEMPERATURE)
    opened = plan.environment(environment, split)
    keys = [RolloutKey(0, task, attempt) for task in tasks for attempt in range(n)]
    made = {}
    for low in range(0, len(keys), plan.AT_ONCE):
        part = keys[low : low + plan.AT_ONCE]
        for rollout in roll_out(policy.start(part), opened, part, "lab", "scored"):
            made[rollout.task, rollout.attempt] = rollout
    return [made[key.task, key.attempt] for key in keys]


def _reward_model(scores, attempts_by, base, tokenizer, context, lab):
    """A reward model fitted on attempts of the same model at training tasks; number of labels."""
    from lib.advantage import read_stored
    from lib.lab import reward_model

    tasks = plan.environment(scores.environment, "train", lab.pool).tasks()
    rollouts = attempts(attempts_by, scores.environment, "train", tasks, lab.labels_a_task)
    graded = [rollout for rollout in rollouts if rollout.passed is not None]
    transcripts = _whole([read_stored(rollout, tokenizer, context) for rollout in graded])
    trained = reward_model.fit(base, transcripts, [rollout.passed for rollout in graded])
    return trained, len(graded)


def _whole(trajectories: list["Steps"]) -> list[list[int]]:
    """All tokens of each trajectory: the longest sequence, and the token it ends with."""
    readings = [steps.reading for steps in trajectories]
    return [
        [*max(reading.sequences, key=len, default=[0]), *reading.tokens[-1:].tolist()]
        for reading in readings
    ]


def small_table(scored: Scored, environment, rollouts: Sequence["Rollout"]) -> pd.DataFrame:
    """The table of scored attempts in types that take little room, and their `decisive` steps."""
    singles = ("policy", "policy_top", "reference")
    small = replace(
        scored,
        counts=scored.counts.astype(np.int16),
        tokens=scored.tokens.astype(np.int16),
        **{name: getattr(scored, name).astype(np.float32) for name in singles},
    )
    table = as_table(small)
    table = table.drop(columns=["benchmark", "pair", "arm", "messages", "why_missing"])
    decisive = [None] * len(rollouts)
    if isinstance(environment, Sokoban):
        decisive = [
            environment.decisive_step(rollout.task, _replies(rollout)) for rollout in rollouts
        ]
    return table.assign(decisive=pd.array(decisive, dtype="Int8"))


def _replies(rollout: "Rollout"):
    return [message for message in rollout.messages if message.role == "assistant"]
