"""Runs of the lab on the spot, fewer steps and attempts: trained, evaluated, and not kept."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from transformers.utils.logging import disable_progress_bar

from lib.generation import Engine, limit_threads, load
from lib.lab import making, plan
from lib.lab.evaluation import as_policy, evaluate
from lib.lab.gathering import step_table
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

    Returns tables as `results.read` gives "evaluations" and "steps". A run that replays the
    temperatures of PTGS needs that PTGS run among `runs`. progress: bars; None shows them on a
    terminal only. Raises FileNotFoundError without the committed base, ValueError for other sizes.
    """
    _check_replayed(runs)
    for name, value, least in (("steps", steps, 1), ("tasks", tasks, 1), ("attempts", attempts, 8)):
        if type(value) is not int or value < least:  # checked now, not once all are trained
            raise ValueError(f"{name} = {value!r}: expected a whole number, at least {least}")
    evaluations, logs = [], []
    for base in dict.fromkeys(run.base for run in runs):
        temperatures = plan.SPLITS | {"test": plan.BASE_TEMPERATURES}
        evaluations += _evaluate(*_open(base), base.settings(), temperatures, tasks, attempts)
    with tempfile.TemporaryDirectory() as folder:
        for run in sorted(runs, key=lambda run: run.replays is not None):
            model, tokenizer = _open(run.base)
            log = _train(run, model, tokenizer, steps, Path(folder), progress)
            logs.append(step_table(log).assign(**run.settings()))
            columns = run.settings() | {"kind": "post"}
            evaluations += _evaluate(model, tokenizer, columns, plan.SPLITS, tasks, attempts)
    return pd.concat(evaluations, ignore_index=True), pd.concat(logs, ignore_index=True)


def _check_replayed(runs) -> None:
    for run in runs:
        if run.replays and run.replays not in runs:
            raise ValueError(
                f"{run.name} replays the temperatures of the ptgs run of its seed: add that run"
            )


def _open(base: Base):
    folder = plan.LAB.kept_folder(base)
    if not folder.exists():
        raise FileNotFoundError(f"there is no base {base.name} at {folder}: make lab makes it")
    disable_progress_bar()  # of loading a model: it takes no time here
    model, tokenizer = load(folder)
    limit_threads(model)
    return model, tokenizer


def _train(run, model, tokenizer, steps, folder, progress) -> list:
    environment = plan.environment(run.environment, "train")
    return train_policy(
        model,
        tokenizer,
        WordLanguage(),
        environment,
        environment.tasks(),
        making.settings_of(run, steps=steps),
        making.schedule_of(run, folder),
        folder / run.name,
        progress=progress,
    )


def _evaluate(
    model, tokenizer, columns, splits: Mapping[str, Sequence[float]], tasks, attempts
) -> list[pd.DataFrame]:
    engine, tables = Engine(model, tokenizer), []
    for split, temperatures in splits.items():
        environment = plan.environment(columns["world"], split, tasks)
        for temperature in temperatures:
            policy = as_policy(engine, columns["world"], temperature, name="policy")
            table = evaluate(
                policy, environment, environment.tasks(), attempts, seed=columns["seed"]
            )
            how = {"split": split, "temperature": temperature, "cue": False, "parser": "exact"}
            tables.append(table.assign(**columns, **how))
    return tables
