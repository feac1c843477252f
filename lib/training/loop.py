"""The loop: rollouts at each group's temperature, what the schedule learns, then the policy."""

import contextlib
import copy
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from lib.envs import Environment
from lib.generation import Engine, Sampling
from lib.generation.logprobs import action_logits
from lib.rollouts.collection import roll_out
from lib.rollouts.policies import LocalPolicy
from lib.rollouts.policies.local import fingerprint, tokenizer_digest
from lib.rollouts.prompts.prompt_formats import PromptFormat
from lib.training import checkpoints
from lib.training.actions import Episode, read_episode
from lib.training.learners import Diverged, make_learner
from lib.training.objectives import kept_groups
from lib.training.scoring import Scores, score
from lib.training.settings import Settings
from lib.training.temperature_schedules import TemperatureSchedule, read_log
from lib.trajectories.schema import Rollout, RolloutKey

MEASURED = 4
"""Rollouts of each group that are scored for the log, where the learner does not need all."""
LARGEST_GAP = 0.02
"""In float32 the engine and the update agree on a log-prob to 1e-4; this far apart is a bug."""


def train_policy(
    model,
    tokenizer,
    prompt_format: PromptFormat,
    environment: Environment,
    tasks: Sequence[str],
    settings: Settings,
    schedule: TemperatureSchedule,
    out: str | Path,
    *,
    checkpoint_every: float = 60.0,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Train a policy in place, and return its step log.

    model : a causal model of transformers, or one that peft has wrapped; the parameters that need
        a gradient are trained.
    tasks : the pool, of at least `settings.groups` tasks; each is met once in a round of the pool.
    out : the folder of the run (`lib.training.checkpoints`). A run that was stopped goes on from
        its last checkpoint and ends as it would have ended.
    checkpoint_every : seconds.  progress : a bar; None shows it on a terminal only.

    Raises ValueError if the folder was begun with other settings or is damaged, a log that is
    replayed does not fit the run, the training diverges, or a rollout that its environment ended
    has no return where the reward is the return.
    """
    out, tasks = Path(out), list(dict.fromkeys(tasks))
    if len(tasks) < settings.groups:
        raise ValueError(
            f"{settings.groups} groups a step from a pool of {len(tasks)} tasks: give more tasks"
        )
    steps = range(1, settings.steps + 1)
    schedule.check([choose_tasks(tasks, settings.groups, step, settings.seed) for step in steps])
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    inner.eval()  # dropout would make the update's log-probs differ from those sampled
    start = _Start(model)
    checkpoints.agree(
        out,
        {
            "settings": settings.as_json(),
            "sampler": schedule.settings,
            "start": {
                "weights": fingerprint(inner),
                "tokenizer": tokenizer_digest(tokenizer),
                "dialect": prompt_format.settings,
            },
            "world": {"name": environment.name, "tasks": tasks}
            | dict(getattr(environment, "settings", {})),
        },
    )
    run = _Run(inner, start, tokenizer, prompt_format, environment, tasks, settings, schedule)
    with checkpoints.alone(out):
        done = checkpoints.restore(out, run.learner, schedule)
        saved = time.monotonic()
        bar = tqdm(
            total=settings.steps,
            initial=done,
            unit="step",
            disable=None if progress is None else not progress,
        )
        with bar, (out / "steps.jsonl").open("a", encoding="utf-8") as log:
            for step in range(done + 1, settings.steps + 1):
                entry = run.step(step)
                log.write(checkpoints.as_line(entry))
                log.flush()
                if time.monotonic() - saved >= checkpoint_every or step == settings.steps:
                    checkpoints.save(out, step, run.learner, schedule)
                    saved = time.monotonic()
                bar.set_postfix(success=f"{entry['success'] or 0:.2f}", refresh=False)
                bar.update()
    return read_log(out / "steps.jsonl")


class _Run:
    """All that a step needs."""

    def __init__(
        self, model, start, tokenizer, prompt_format, environment, tasks, settings, schedule
    ):
        self.model, self.start, self.environment = model, start, environment
        self.tasks, self.settings, self.schedule = tasks, settings, schedule
        self.engine, self.prompt_format = Engine(model, tokenizer), prompt_format
        self.sampling = Sampling(temperature=settings.t_ref, max_new_tokens=settings.max_new_tokens)
        self.learner = make_learner(model, settings)

    def step(self, step: int) -> dict[str, Any]:
        """Roll out, let the schedule observe, then the policy; the step log's entry."""
        began = time.perf_counter()
        tasks = choose_tasks(self.tasks, self.settings.groups, step, self.settings.seed)
        heats = self.schedule.assign(step, self.settings.steps, tasks)
        policy = LocalPolicy(self.engine, self.prompt_format, self.sampling, name="policy")
        try:
            groups = roll_out_groups(policy, self.environment, tasks, heats, self.settings, step)
        except FloatingPointError as error:
            if step == 1:
                raise  # of weights that came so
            raise Diverged(step, str(error), self.settings.learning_rate) from error
        rows = [rollout for group in groups for rollout in group]
        self.schedule.observe([row.task for row in rows], [row.passed for row in rows])
        rolled = time.perf_counter()

        graded = [[row for row in group if has_reward(row, self.settings)] for group in groups]
        rewards = [reward(group, self.settings) for group in graded]
        kept = kept_groups(rewards, self.settings.filter_mass)
        entry = _outcomes(step, tasks, heats, groups, rewards, kept)
        spoken = [[read_episode(row) for row in group] for group in graded]
        episodes = [episode for group in spoken for episode in group]
        entry["tokens"] = sum(len(episode.tokens) for episode in episodes)
        if entry["tokens"]:
            scores, scored = self._score(spoken)
            entry |= _measures(scores, scored)
            self._check_gap(step, entry["engine_gap"])
            entry |= self.learner.learn(step, episodes, scores, rewards, kept)
            for name, value in entry.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise Diverged(step, f"{name} is {value}", self.settings.learning_rate)
            if not all(one.isfinite().all() for one in self.learner.parameters.values()):
                raise Diverged(step, "a weight is not finite", self.settings.learning_rate)
        entry["seconds"] = {"rollouts": rolled - began, "update": time.perf_counter() - rolled}
        return entry

    def _score(self, groups) -> tuple[Scores, list[Episode]]:
        """Scores of the first rollouts of each group, or of all, and the episodes they are of."""
        measured = [first for group in groups for first in _first(group, MEASURED)]
        every = [episode for group in groups for episode in group]
        read = [self.learner.reads_all or first for first in measured]
        episodes = list(compress(every, read))
        scores = score(
            self.model,
            self.start,
            episodes,
            t_ref=self.settings.t_ref,
            rows=self.settings.rows_at_once,
            compare=[self.settings.kl_weight > 0 or one for one in compress(measured, read)],
            keep_hidden=self.learner.reads_hidden,
        )
        return scores, episodes

    def _check_gap(self, step, gap) -> None:
        if not gap <= LARGEST_GAP and self.model.dtype == torch.float32:
            what = (
                f"a log-prob of the update is {gap:.3g} off the one it was sampled with, where "
                f"rounding allows {LARGEST_GAP:g}"
            )
            if step > 1:  # of weights that have grown too large for float32
                raise Diverged(step, what, self.settings.learning_rate)
            raise RuntimeError(f"step {step}: {what}. They must agree, each at its temperature")


def choose_tasks(tasks: Sequence[str], groups: int, step: int, seed: int) -> list[str]:
    """The tasks of a step, counted from 1: the pool in rounds, each in another order.

    A round ends where fewer tasks are left than a step needs. It is a function of its arguments,
    the same in every arm.
    """
    steps = len(tasks) // groups
    turn, place = divmod(step - 1, steps)
    order = np.random.default_rng([seed, turn]).permutation(len(tasks))
    return [tasks[i] for i in order[place * groups : (place + 1) * groups]]


def roll_out_groups(
    policy: LocalPolicy,
    environment: Environment,
    tasks: Sequence[str],
    temperatures: Sequence[float],
    settings: Settings,
    step: int,
) -> list[list[Rollout]]:
    """A group of rollouts of each task, all turns of it at the task's temperature."""
    first = settings.first_attempt(step)
    attempts = range(first, first + settings.group_size)
    heat = dict(zip(tasks, temperatures, strict=True))
    keys = [RolloutKey(settings.seed, task, attempt) for task in tasks for attempt in attempts]
    session = policy.start(keys, temperatures=[heat[key.task] for key in keys])
    found = {}
    for one in roll_out(session, environment, keys, "train", "policy", settings.max_turns):
        found[one.task, one.attempt] = replace(one, sampling={"temperature": heat[one.task]})
    return [[found[task, attempt] for attempt in attempts] for task in tasks]


def has_reward(row: Rollout, settings: Settings) -> bool:
    """Whether a rollout has a reward, or ought to have one.

    It has none where it could not be graded, nor, if the reward is the return, where it was cut
    before its environment gave one: by `max_turns`, or by the end of the model's context.
    """
    if row.passed is None:
        return False
    cut = len(row.turns) >= settings.max_turns or any(t.finish == "context" for t in row.turns)
    return settings.reward == "passed" or "return" in row.info or not cut


def reward(group: Sequence[Rollout], settings: Settings) -> np.ndarray:
    """The reward of each rollout, [rollouts], all of which ought to have one (`has_reward`)."""
    if settings.reward == "passed":
        return np.array([float(row.passed) for row in group])
    for row in group:
        if "return" not in row.info:
            raise ValueError(
                f"rollout {row.key} has no return: its environment gives none, set reward to passed"
            )
        if not (isinstance(row.info["return"], Real) and math.isfinite(row.info["return"])):
            raise ValueError(
                f"rollout {row.key} has the return {row.info['return']!r}: expected a finite "
                "number; mend its environment, or set reward to passed"
            )
    return np.array([float(row.info["return"]) for row in group])


class _Start:
    """The policy as it was before training; gives its logits of Actions."""

    def __init__(self, model):
        self.adapted = hasattr(model, "disable_adapter")
        self.model = model if self.adapted else copy.deepcopy(model).requires_grad_(False)

    def __call__(self, actions) -> torch.Tensor:
        # An adapter is taken off for a moment: what is below it has not changed.
        with self.model.disable_adapter() if self.adapted else contextlib.nullcontext():
            inner = self.model.get_base_model() if self.adapted else self.model
            return action_logits(inner, actions)[0]


def _outcomes(step, tasks, heats, groups, rewards, kept) -> dict[str, Any]:
    """What a step's rollouts came to, as the step log has it; null where nothing was graded."""
    solved = [[row.passed for row in group if row.passed is not None] for group in groups]
    every = np.concatenate([np.array(group, dtype=float) for group in solved])
    rewarded = np.concatenate(rewards)
    mixed = [0 < sum(group) < len(group) for group in solved]
    return {
        "step": step,
        "success": float(every.mean()) if len(every) else None,
        "reward": float(rewarded.mean()) if len(rewarded) else None,
        "temperature": {
            "mean": float(np.mean(heats)),
            "min": float(min(heats)),
            "max": float(max(heats)),
        },
        "mixed": float(np.mean(mixed)),
        "kept": float(np.mean(kept)),
        "ungraded": sum(map(len, groups)) - len(rewarded),
        "groups": [
            {"task": task, "temperature": heat, "successes": sum(one), "rollouts": len(one)}
            for task, heat, one in zip(tasks, heats, solved, strict=True)
        ],
    }


def _first(episodes: Sequence[Episode], count: int) -> list[bool]:
    """Which are the first so many of those that hold an action token."""
    spoke = np.array([len(episode.tokens) > 0 for episode in episodes], dtype=bool)
    return (spoke & (np.cumsum(spoke) <= count)).tolist()


def _measures(scores: Scores, episodes: Sequence[Episode]) -> dict[str, Any]:
    """Means over the action tokens that were scored, before the update, as the step log has them.

    These are the tokens of the first rollouts of each group, or of all where the learner needs all
    scored. entropy_x is at the rows' own temperatures, entropy_ref at T_ref; kl_start is the exact
    KL(policy || start) at T_ref, of the first rollouts unless the loss needs all. engine_gap is the
    largest difference between a log-prob as sampled and as scored.
    """
    sampled = np.concatenate([episode.log_probs for episode in episodes])
    kl = scores.kl_start[~scores.kl_start.isnan()]
    return {
        "entropy_ref": float(scores.entropy_ref.mean()),
        "entropy_x": float(scores.entropy_x.mean()),
        "kl_start": float(kl.mean()) if len(kl) else None,
        "engine_gap": float(np.abs(scores.log_probs.double().cpu().numpy() - sampled).max()),
    }
