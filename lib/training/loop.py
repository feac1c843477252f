"""The training loop: rollouts at each group's temperature, then the schedule, then the policy."""

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
from lib.generation.int8 import check_not_quantised
from lib.generation.logprobs import action_logits
from lib.rollouts.episodes import roll_out
from lib.rollouts.policies import LocalPolicy
from lib.rollouts.policies.local import fingerprint, tokenizer_digest
from lib.rollouts.prompts import PromptFormat
from lib.training import checkpoints
from lib.training.batches import Episode, Scores, read_episode, score
from lib.training.learners import Diverged, make_learner
from lib.training.objectives import kept_groups
from lib.training.settings import Settings
from lib.training.temperature_schedules import TemperatureSchedule, read_log
from lib.trajectories.schema import Rollout, RolloutKey

MEASURED = 4
"""Rollouts of each group that are scored for the log, if the learner does not need all scored."""
LARGEST_GAP = 0.02
"""Largest difference between a log-prob of the engine and of the update, in float32: they agree to
1e-4, and a larger difference than this is a bug."""


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
    """Train a loaded policy in place, and return its step log. `train` loads and saves it as well.

    model : a causal model of transformers, or one wrapped by peft; its parameters that require a
        gradient are trained.
    tasks : the task pool, at least `settings.groups`; each round of the pool has each task once.
    out : the folder of the run (`lib.training.checkpoints`). A run that was interrupted resumes
        from its last checkpoint, and ends with the same weights and log as an undisturbed run.
    checkpoint_every : seconds.
    progress : a progress bar; None shows it on a terminal only.

    Raises ValueError if the folder was begun with other settings or is damaged, a log that is
    replayed does not fit the run, the training diverges, or a rollout that its environment ended
    has no return where the reward is the return.
    """
    check_not_quantised(model, "training")
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
    """What all steps of a run share."""

    def __init__(
        self, model, start, tokenizer, prompt_format, environment, tasks, settings, schedule
    ):
        self.model, self.start, self.environment = model, start, environment
        self.tasks, self.settings, self.schedule = tasks, settings, schedule
        self.engine, self.prompt_format = Engine(model, tokenizer), prompt_format
        self.sampling = Sampling(temperature=settings.t_ref, max_new_tokens=settings.max_new_tokens)
        self.learner = make_learner(model, settings)

    def step(self, step: int) -> dict[str, Any]:
        """Sample rollouts, update the schedule, then the policy; returns the step log's entry."""
        began = time.perf_counter()
        tasks = choose_tasks(self.tasks, self.settings.groups, step, self.settings.seed)
        temperatures = self.schedule.assign(step, self.settings.steps, tasks)
        policy = LocalPolicy(self.engine, self.prompt_format, self.sampling, name="policy")
        try:
            groups = roll_out_groups(
                policy, self.environment, tasks, temperatures, self.settings, step
            )
        except FloatingPointError as error:
            if step == 1:
                raise  # the weights were damaged before
            raise Diverged(step, str(error), self.settings.learning_rate) from error
        rows = [rollout for group in groups for rollout in group]
        self.schedule.observe([row.task for row in rows], [row.passed for row in rows])
        rolled = time.perf_counter()

        graded = [[row for row in group if has_reward(row, self.settings)] for group in groups]
        rewards = [reward(group, self.settings) for group in graded]
        kept = kept_groups(rewards, self.settings.filter_mass)
        entry = _outcomes(step, tasks, temperatures, groups, rewards, kept)
        grouped = [[read_episode(row) for row in group] for group in graded]
        episodes = [episode for group in grouped for episode in group]
        entry["tokens"] = sum(len(episode.tokens) for episode in episodes)
        if entry["tokens"]:
            scores, scored = self._score(grouped)
            entry |= _measures(scores, scored)
            self._check_gap(step, entry["engine_gap"])
            entry |= self.learner.learn(step, episodes, scores, rewards, kept)
            for name, value in entry.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise Diverged(step, f"{name} is {value}", self.settings.learning_rate)
            if not all(weights.isfinite().all() for weights in self.learner.parameters.values()):
                raise Diverged(step, "a weight is not finite", self.settings.learning_rate)
        entry["seconds"] = {"rollouts": rolled - began, "update": time.perf_counter() - rolled}
        return entry

    def _score(self, groups) -> tuple[Scores, list[Episode]]:
        """Scores of the first rollouts of each group, or of all, and the scored episodes."""
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
            compare=[self.settings.kl_weight > 0 or first for first in compress(measured, read)],
            keep_hidden=self.learner.reads_hidden,
        )
        return scores, episodes

    def _check_gap(self, step, gap) -> None:
        if not gap <= LARGEST_GAP and self.model.dtype == torch.float32:
            what = (
                f"a log-prob of the update differs by {gap:.3g} from that of the sampling, and "
                f"rounding allows {LARGEST_GAP:g}"
            )
            if step > 1:  # the weights have grown too large for float32
                raise Diverged(step, what, self.settings.learning_rate)
            raise RuntimeError(f"step {step}: {what}. This is a bug: they must agree")


def choose_tasks(tasks: Sequence[str], groups: int, step: int, seed: int) -> list[str]:
    """The tasks of a step, which counts from 1: the pool in rounds, each in another order.

    A round ends when fewer tasks are left than a step needs. The tasks follow from the arguments,
    so that runs of all methods with one seed have the same.
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
    """A group of rollouts of each task, with all turns at the task's temperature."""
    first = settings.first_attempt(step)
    attempts = range(first, first + settings.group_size)
    temperature = dict(zip(tasks, temperatures, strict=True))
    keys = [RolloutKey(settings.seed, task, attempt) for task in tasks for attempt in attempts]
    session = policy.start(keys, temperatures=[temperature[key.task] for key in keys])
    rollouts = {}
    for row in roll_out(session, environment, keys, "train", "policy", settings.max_turns):
        sampling = {"temperature": temperature[row.task]}
        rollouts[row.task, row.attempt] = replace(row, sampling=sampling)
    return [[rollouts[task, attempt] for attempt in attempts] for task in tasks]


def has_reward(row: Rollout, settings: Settings) -> bool:
    """Whether a rollout has a reward, or should have one.

    It has none if it could not be graded; nor, if the reward is the return, if it was cut before
    its environment gave a return: by `max_turns`, or by the end of the model's context.
    """
    if row.passed is None:
        return False
    cut = len(row.turns) >= settings.max_turns or any(t.finish == "context" for t in row.turns)
    return settings.reward == "passed" or "return" in row.info or not cut


def reward(group: Sequence[Rollout], settings: Settings) -> np.ndarray:
    """The reward of each rollout, [rollouts]; all of them should have one (`has_reward`)."""
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
    """The policy before training, as a function that returns its logits of Actions."""

    def __init__(self, model):
        self.adapted = hasattr(model, "disable_adapter")
        self.model = model if self.adapted else copy.deepcopy(model).requires_grad_(False)

    def __call__(self, actions) -> torch.Tensor:
        # With an adapter, the model without the adapter is still the start.
        with self.model.disable_adapter() if self.adapted else contextlib.nullcontext():
            inner = self.model.get_base_model() if self.adapted else self.model
            return action_logits(inner, actions)[0]


def _outcomes(step, tasks, temperatures, groups, rewards, kept) -> dict[str, Any]:
    """The outcomes of a step's rollouts, for the step log; null if nothing was graded."""
    solved = [[row.passed for row in group if row.passed is not None] for group in groups]
    every = np.concatenate([np.array(group, dtype=float) for group in solved])
    rewarded = np.concatenate(rewards)
    mixed = [0 < sum(group) < len(group) for group in solved]
    return {
        "step": step,
        "success": float(every.mean()) if len(every) else None,
        "reward": float(rewarded.mean()) if len(rewarded) else None,
        "temperature": {
            "mean": float(np.mean(temperatures)),
            "min": float(min(temperatures)),
            "max": float(max(temperatures)),
        },
        "mixed": float(np.mean(mixed)),
        "kept": float(np.mean(kept)),
        "ungraded": sum(map(len, groups)) - len(rewarded),
        "groups": [
            {"task": task, "temperature": value, "successes": sum(group), "rollouts": len(group)}
            for task, value, group in zip(tasks, temperatures, solved, strict=True)
        ],
    }


def _first(episodes: Sequence[Episode], count: int) -> list[bool]:
    """Which are the first `count` of those with action tokens."""
    acted = np.array([len(episode.tokens) > 0 for episode in episodes], dtype=bool)
    return (acted & (np.cumsum(acted) <= count)).tolist()


def _measures(scores: Scores, episodes: Sequence[Episode]) -> dict[str, Any]:
    """Means over the scored action tokens before the update, for the step log.

    The scored tokens are those of the first rollouts of each group, or of all if the learner needs
    all. entropy_x is at the rollouts' own temperatures, entropy_ref at T_ref; kl_start is the exact
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
