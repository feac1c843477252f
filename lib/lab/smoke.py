"""Runs of the lab on the spot, fewer steps and attempts: trained, evaluated, and not kept."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from transformers.utils.logging import disable_progress_bar

from lib.generation import Engine, limit_threads, load
from lib.lab import plan, runner
from lib.lab.evaluation import as_policy, evaluate
from lib.lab.plan import Base, Run
from lib.rollouts.prompts.word_language import WordLanguage
from lib.training import train_policy


def train_small(
    runs: Sequence[Run],
    *,
    steps: int = 40,
    tasks: int = 16,
    attempts: int = 32,
    progress: bool | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train runs of the plan for fewer steps; evaluate them and their bases on fewer attempts.

    Returns tables as `results.read` gives "evaluations" and "steps". An arm that replays the
    temperatures of PTGS needs that one among `runs`. progress: bars; None shows them on a terminal
    only. Raises FileNotFoundError without the committed base, ValueError for other sizes.
    """
    _check_replayed(runs)
    for name, value, least in (("steps", steps, 1), ("tasks", tasks, 1), ("attempts", attempts, 8)):
        if type(value) is not int or value < least:  # told now, not once all are trained
            raise ValueError(f"{name} = {value!r}: expected a whole number, at least {least}")
    evaluations, logs = [], []
    for base in dict.fromkeys(run.base for run in runs):
        heats = plan.SPLITS | {"test": plan.BASE_TEMPERATURES}
        evaluations += _evaluate(*_open(base), base.settings(), heats, tasks, attempts)
    with tempfile.TemporaryDirectory() as folder:
        for run in sorted(runs, key=lambda run: run.replays is not None):
            model, tokenizer = _open(run.base)
            log = _train(run, model, tokenizer, steps, Path(folder), progress)
            logs.append(runner.step_table(log).assign(**run.settings()))
            columns = run.settings() | {"kind": "post"}
            evaluations += _evaluate(model, tokenizer, columns, plan.SPLITS, tasks, attempts)
    return pd.concat(evaluations, ignore_index=True), pd.concat(logs, ignore_index=True)


def _check_replayed(runs) -> None:
    for run in runs:
        if run.replays and run.replays not in runs:
            raise ValueError(
                f"{run.name} replays the temperatures of the ptgs run of its seed: add that arm"
            )


def _open(base: Base):
    folder = runner.base_folder(base)
    if not folder.exists():
        raise FileNotFoundError(f"there is no base {base.name} at {folder}: make lab makes it")
    disable_progress_bar()  # of loading a model: it takes no time here
    model, tokenizer = load(folder)
    limit_threads(model)
    return model, tokenizer


def _train(run, model, tokenizer, steps, folder, progress) -> list:
    world = plan.environment(run.environment, "train")
    settings = runner.settings_of(run, steps=steps)
    sampler = runner.sampler_of(run, folder)
    out = folder / run.name
    return train_policy(
        model,
        tokenizer,
        WordLanguage(),
        world,
        world.tasks(),
        settings,
        sampler,
        out,
        progress=progress,
    )


def _evaluate(
    model, tokenizer, columns, heats: Mapping[str, Sequence[float]], tasks, attempts
) -> list[pd.DataFrame]:
    engine, tables = Engine(model, tokenizer), []
    for split, temperatures in heats.items():
        world = plan.environment(columns["world"], split, tasks)
        for heat in temperatures:
            policy = as_policy(engine, columns["world"], heat, name="policy")
            table = evaluate(policy, world, world.tasks(), attempts, seed=columns["seed"])
            told = {"split": split, "temperature": heat, "cue": False, "parser": "exact"}
            tables.append(table.assign(**columns, **told))
    return tables
