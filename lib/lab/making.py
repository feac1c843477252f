"""How each piece of work is done: pre-training, RL, evaluations, scores, pilots, the lake.

Everything is left in the folder of the piece under `Plan.build`, and may be killed at any moment:
the next call goes on. `lib.lab.runner` decides who does what, `lib.lab.gathering` joins the tables.
"""

import json
from dataclasses import replace
from functools import singledispatch
from pathlib import Path

import pandas as pd
import torch

from lib.generation import load
from lib.lab import fading_lake, plan, scores
from lib.lab.batches import in_batches, write_table
from lib.lab.evaluation import evaluate, open_policy
from lib.lab.pilots import compare
from lib.lab.plan import LAB, Plan
from lib.lab.work import Base, Lake, Pilots, Run, Scores, Work
from lib.ptgs import PTGS
from lib.rollouts.prompts.word_language import WordLanguage
from lib.training import (
    FixedTemperature,
    PTGSSchedule,
    Settings,
    ShuffledSchedule,
    TemperatureSchedule,
    YokedSchedule,
    defaults,
    train_policy,
)
from lib.training.pretraining import STAGES, new_model, pretrain
from lib.trajectories import storage

T_REF = 1.0
"""The fixed temperature, and the middle of those that PTGS chooses."""


@singledispatch
def make(work: Work, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Do a piece of work, or what is left of it.  progress: of training; None: on a terminal."""
    raise TypeError(f"work is {work!r}: expected a piece of work of lib.lab.work")


# ----------------------------------------------------------------------------------------- models


@make.register
def _(base: Base, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Pre-train a base, evaluate it, and read its replies in every way."""
    if not lab.kept_folder(base).exists():
        make_base(base, lab, progress)
    out, model = lab.build / base.name, lab.kept_folder(base)
    if base.kind == "base-85":
        for temperature in lab.base_temperatures:
            _evaluate(lab, out, model, base.environment, "test", temperature, 0)
        _evaluate(lab, out, model, base.environment, "train", 0.5, 0)
    if base.size == "0.25M":
        _evaluate_readings(lab, out, model, base.environment, 0)


def make_base(base: Base, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Pre-train a base, with the stages before its own, and keep it in half precision.

    The kept model is rounded before anything starts from it, so that all of the lab uses the same
    weights.
    """
    environment = plan.environment(base.environment, "train", lab.pool)
    stages = lab.build / "bases" / f"{base.environment}-{base.size}"
    # The other base of the environment starts from the same stages.
    with storage.lock(stages, wait=True):
        model, tokenizer = new_model(environment.words(), base.size)
        for kind, stage in (lab.stages or STAGES).items():
            folder = stages / kind
            if not (folder / "loss.json").exists():
                pretrain(model, tokenizer, environment, stage, folder, progress=progress)
            model = load(folder)[0]
            if kind == base.kind:
                break
    losses = pd.DataFrame(json.loads((folder / "loss.json").read_text(encoding="utf-8")))
    columns = {"world": base.environment, "size": base.size, "kind": base.kind}
    (lab.build / base.name).mkdir(parents=True, exist_ok=True)
    write_table(losses.assign(**columns), lab.build / base.name / "losses.parquet")
    _keep(folder, lab.kept_folder(base))


def _keep(source: Path, target: Path) -> None:
    """Copy a model in half precision; the target folder is complete or absent."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with storage.replacing_folder(target) as part:
        AutoModelForCausalLM.from_pretrained(source, dtype=torch.float16).save_pretrained(part)
        AutoTokenizer.from_pretrained(source).save_pretrained(part)
        (part / "generation_config.json").unlink(missing_ok=True)
        (part / "model.safetensors").chmod(0o644)


@make.register
def _(run: Run, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Train a run and evaluate it on held-out and on training tasks."""
    out = lab.build / run.name
    _train(run, lab, settings_of(run, lab), out, progress)
    if run in lab.kept:
        _keep(out / "model", lab.kept_folder(run))
    model = lab.folder(run)
    for split, temperatures in lab.splits.items():
        for temperature in temperatures:
            _evaluate(lab, out, model, run.environment, split, temperature, run.seed)
    if run.environment == "desk":
        _evaluate_readings(lab, out, model, run.environment, run.seed)


def half_trained(run: Run, lab: Plan = LAB) -> Path:
    """Train as a run is trained for half as many steps, if need be: the folder of the model.

    With the fixed temperature those are the first steps of the run.
    """
    whole, out = settings_of(run, lab), lab.build / "half" / run.name
    with storage.lock(out, wait=True):
        _train(run, lab, replace(whole, steps=whole.steps // 2), out, progress=False)
    return out / "model"


def _train(run: Run, lab: Plan, settings: Settings, out: Path, progress: bool | None) -> None:
    if (out / "model").exists():
        return
    environment = plan.environment(run.environment, "train", lab.pool)
    model, tokenizer = load(lab.kept_folder(run.base))
    train_policy(
        model,
        tokenizer,
        WordLanguage(),
        environment,
        environment.tasks(),
        settings,
        schedule_of(run, lab.build, lab.data),
        out,
        checkpoint_every=45.0,
        progress=progress,
    )
    with storage.replacing_folder(out / "model") as part:
        for saved in (model, tokenizer):
            saved.save_pretrained(part)


def settings_of(run: Run, lab: Plan = LAB, **changes) -> Settings:
    """The hyperparameters of a run; `changes` go before those of the plan."""
    return defaults(
        run.algorithm,
        seed=run.seed,
        learning_rate=run.rate,
        max_new_tokens=plan.NEW_TOKENS[run.environment],
        **{**lab.training, **changes},
    )


def schedule_of(run: Run, folder: Path = LAB.build, data: Path = LAB.data) -> TemperatureSchedule:
    """The temperatures of a run.

    folder: has a folder of the run whose temperatures it replays. Where that has no step log, one
    is written from the tables in `data`.
    """
    if run.method == "fixed":
        return FixedTemperature(T_REF)
    if run.method == "ptgs":
        arguments = plan.PTGS.get((run.environment, run.algorithm), {})
        return PTGSSchedule(PTGS(seed=run.seed, **arguments))
    log = folder / run.replays.name / "steps.jsonl"
    if not log.exists():
        log.parent.mkdir(parents=True, exist_ok=True)
        storage.write_text(log, _step_log(run.replays, data))
    return YokedSchedule(log) if run.method == "yoked" else ShuffledSchedule(log, seed=run.seed)


def _step_log(run: Run, data: Path) -> str:
    """The step log of a run from the tables of results: steps and their groups."""
    steps = pd.read_parquet(data / "steps.parquet")
    for name, value in run.settings().items():
        steps = steps[steps[name] == value]
    lines = [
        {"step": int(step), "groups": [dict(group) for group in groups]}
        for step, groups in zip(steps["step"], steps["groups"], strict=True)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


# ----------------------------------------------------------------------------------- measurements


def _evaluate_readings(lab: Plan, out: Path, model: Path, name: str, seed: int) -> None:
    """The harness ablation: with the cue and without, replies read exactly and leniently."""
    for cue in (False, True):
        for parser in ("exact", "lenient"):
            _evaluate(lab, out, model, name, "test", 1.0, seed, cue=cue, parser=parser)


def _evaluate(
    lab: Plan,
    out: Path,
    model: Path,
    name: str,
    split: str,
    temperature: float,
    seed: int,
    *,
    cue: bool = False,
    parser: str = "exact",
) -> None:
    """Write one evaluation of the model in a folder to the folder `out`, unless it is there."""
    how = f"{'cue' if cue else 'plain'}-{parser}"
    path = out / f"evaluation-{split}-{temperature:g}-{how}.parquet"
    if path.exists():
        return
    environment = plan.environment(name, split, lab.tasks)
    policy = open_policy(model, name, temperature, cue=cue, parser=parser)

    def measure(tasks):
        table = evaluate(policy, environment, tasks, lab.attempts, seed=seed)
        return table.assign(split=split, temperature=temperature, cue=cue, parser=parser)

    in_batches(path, environment.tasks(), measure, lab.tasks_at_once)


@make.register
def _(work: Scores, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Score attempts of one model by another and its references."""
    bases = {
        "base": lab.kept_folder(work.policy.base),
        "earlier": lab.kept_folder(work.earlier),
        "half": half_trained(work.policy, lab),
    }
    table = scores.run(
        work,
        lab.build / work.name,
        attempts_by=lab.folder(work.attempts_by),
        policy=lab.folder(work.policy),
        bases=bases,
        lab=lab,
    )
    columns = work.policy.settings() | {"by": work.attempts_by.name}
    write_table(table.assign(**columns), lab.build / work.name / "scores.parquet")


@make.register
def _(pilots: Pilots, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Compare pilot-based PTGS with fixed temperatures on a frozen policy."""
    out = lab.build / pilots.name
    environment = plan.environment(pilots.environment, "test", lab.tasks)
    policy = open_policy(lab.folder(pilots.model), pilots.environment, T_REF)
    tables = [
        compare(
            policy,
            environment,
            environment.tasks(),
            out,
            seed=seed,
            tau=PTGS(**plan.PTGS.get((pilots.environment, "grpo"), {})).tau,
            t_ref=T_REF,
            pilots=lab.pilots,
            totals=lab.totals,
            tasks_at_once=lab.tasks_at_once,
        )
        for seed in lab.seeds
    ]
    columns = {"world": pilots.environment, "policy": pilots.policy}
    write_table(pd.concat(tables).assign(**columns), out / "coverage.parquet")


@make.register
def _(lake: Lake, lab: Plan = LAB, progress: bool | None = None) -> None:
    """Train on the lake, and tabulate what was learned."""
    out = lab.build / lake.name
    write_table(fading_lake.run(lab.kept_folder(lake.base), out), out / "lake.parquet")
