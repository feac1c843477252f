"""The lab's work: pre-train, post-train, evaluate. It may be killed at any moment and goes on.

Every piece of work has a folder in `BUILD`, is done by whichever worker has its lock, and leaves
tables there; `gather` joins those of all finished work to the committed tables of `DATA`.
"""

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from lib.generation import load
from lib.lab import fading_lake, plan
from lib.lab import scores as scoring
from lib.lab.evaluation import evaluate, in_batches, open_policy, write_table
from lib.lab.pilots import compare
from lib.lab.plan import BUILD, DATA, Base, Lake, Pilots, Run, Scores, Work
from lib.lab.results import RUN
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
"""Temperature of an arm that is not tempered; the middle of those that PTGS chooses."""


# ------------------------------------------------------------------------------- pieces of work


def base_folder(base: Base) -> Path:
    """Where the model of a base is, or is to be."""
    return plan.kept_folder(base)


def model_folder(run: Run) -> Path:
    """Where the model of a run is: committed for a few runs."""
    kept = plan.kept_folder(run)
    return kept if kept.exists() else BUILD / run.name / "model"


def make_base(base: Base, progress: bool | None = None) -> None:
    """Pre-train a base, with the one it is made from on the way, and keep it in half precision.

    What is kept is rounded before anything starts from it, so all of the lab means the same model.
    """
    world = plan.environment(base.environment, "train")
    stages = BUILD / "bases" / f"{base.environment}-{base.size}"
    # The other base of the environment starts from the same stages.
    with storage.lock(stages, wait=True):
        model, tokenizer = new_model(world.words(), base.size)
        for kind, stage in STAGES.items():
            there = stages / kind
            if not (there / "loss.json").exists():
                pretrain(model, tokenizer, world, stage, there, progress=progress)
            model = load(there)[0]
            if kind == base.kind:
                break
    losses = pd.DataFrame(json.loads((there / "loss.json").read_text(encoding="utf-8")))
    columns = {"world": base.environment, "size": base.size, "kind": base.kind}
    (BUILD / base.name).mkdir(parents=True, exist_ok=True)
    write_table(losses.assign(**columns), BUILD / base.name / "losses.parquet")
    _keep(there, base_folder(base))


def _keep(source: Path, target: Path) -> None:
    """Copy a model in half precision; the folder is there whole or not at all."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    AutoModelForCausalLM.from_pretrained(source, dtype=torch.float16).save_pretrained(part)
    AutoTokenizer.from_pretrained(source).save_pretrained(part)
    (part / "generation_config.json").unlink(missing_ok=True)
    (part / "model.safetensors").chmod(0o644)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(part, target)


def make_run(run: Run, progress: bool | None = None) -> None:
    """Train a run and evaluate it on held-out and on training tasks."""
    out = BUILD / run.name
    _train(run, settings_of(run), out, progress)
    if run in plan.KEPT:
        _keep(out / "model", plan.kept_folder(run))
    for split, heats in plan.SPLITS.items():
        for heat in heats:
            _piece(out, model_folder(run), run.environment, split, heat, run.seed)
    if run.environment == "desk":
        _read_in_every_way(out, model_folder(run), run.environment, run.seed)


def half_trained(run: Run) -> Path:
    """The folder of a model trained as a run is, for half as many steps; it is made if need be.

    With the fixed temperature those are the first steps of the run.
    """
    whole, out = settings_of(run), BUILD / "half" / run.name
    with storage.lock(out, wait=True):
        _train(run, replace(whole, steps=whole.steps // 2), out, progress=False)
    return out / "model"


def _train(run, settings, out, progress) -> None:
    if (out / "model").exists():
        return
    world = plan.environment(run.environment, "train")
    model, tokenizer = load(base_folder(run.base))
    train_policy(
        model,
        tokenizer,
        WordLanguage(),
        world,
        world.tasks(),
        settings,
        sampler_of(run),
        out,
        checkpoint_every=45.0,
        progress=progress,
    )
    shutil.rmtree(out / "model.part", ignore_errors=True)
    model.save_pretrained(out / "model.part")
    tokenizer.save_pretrained(out / "model.part")
    os.replace(out / "model.part", out / "model")


def evaluate_base(base: Base) -> None:
    """Evaluate a base at several temperatures, and read its replies in every way."""
    out = BUILD / base.name
    if base.kind == "base-85":
        for heat in plan.BASE_TEMPERATURES:
            _piece(out, base_folder(base), base.environment, "test", heat, 0)
        _piece(out, base_folder(base), base.environment, "train", 0.5, 0)
    if base.size == "0.25M":
        _read_in_every_way(out, base_folder(base), base.environment, 0)


def _read_in_every_way(out, folder, world_name, seed) -> None:
    """The harness ablation: with the cue and without, read exactly and leniently."""
    for cue in (False, True):
        for parser in ("exact", "lenient"):
            _piece(out, folder, world_name, "test", 1.0, seed, cue=cue, parser=parser)


def _piece(out, folder, world_name, split, heat, seed, cue=False, parser="exact") -> None:
    path = out / f"evaluation-{split}-{heat:g}-{'cue' if cue else 'plain'}-{parser}.parquet"
    if path.exists():
        return
    world = plan.environment(world_name, split, plan.TASKS)
    policy = open_policy(folder, world_name, heat, cue=cue, parser=parser)

    def measure(tasks):
        found = evaluate(policy, world, tasks, plan.ATTEMPTS, seed=seed)
        return found.assign(split=split, temperature=heat, cue=cue, parser=parser)

    in_batches(path, world.tasks(), measure)


def _folder(made: Base | Run) -> Path:
    return base_folder(made) if isinstance(made, Base) else model_folder(made)


def make_scores(scores: Scores) -> None:
    """Score attempts of one model by another and its references."""
    bases = {
        "base": base_folder(scores.policy.base),
        "earlier": base_folder(scores.earlier),
        "half": half_trained(scores.policy),
    }
    folders = {"attempts_by": _folder(scores.attempts_by), "policy": _folder(scores.policy)}
    found = scoring.run(scores, BUILD / scores.name, **folders, bases=bases)
    columns = scores.policy.settings() | {"by": scores.attempts_by.name}
    write_table(found.assign(**columns), BUILD / scores.name / "scores.parquet")


def make_pilots(pilots: Pilots) -> None:
    """Compare pilot-based PTGS with fixed temperatures on a frozen policy."""
    made, out = pilots.model, BUILD / pilots.name
    folder = _folder(made)
    world = plan.environment(pilots.environment, "test", plan.TASKS)
    policy = open_policy(folder, pilots.environment, T_REF)
    tau = PTGS(**plan.PTGS.get((pilots.environment, "grpo"), {})).tau
    tables = [
        compare(policy, world, world.tasks(), out, seed=seed, tau=tau, t_ref=T_REF)
        for seed in plan.SEEDS
    ]
    columns = {"world": pilots.environment, "policy": pilots.policy}
    write_table(pd.concat(tables).assign(**columns), out / "coverage.parquet")


def make_lake() -> None:
    """Train on the lake, and tabulate what was learned."""
    out = BUILD / plan.Lake.name
    write_table(fading_lake.run(base_folder(plan.Lake.base), out), out / "lake.parquet")


def settings_of(run: Run, **changes) -> Settings:
    """The hyperparameters of a run, with some fields changed."""
    return defaults(
        run.algorithm,
        seed=run.seed,
        learning_rate=run.rate,
        max_new_tokens=plan.NEW_TOKENS[run.environment],
        **changes,
    )


def sampler_of(run: Run, folder: Path = BUILD) -> TemperatureSchedule:
    """The temperatures of a run; folder: where the run whose it replays has its folder."""
    if run.method == "fixed":
        return FixedTemperature(T_REF)
    if run.method == "ptgs":
        arguments = plan.PTGS.get((run.environment, run.algorithm), {})
        return PTGSSchedule(PTGS(seed=run.seed, **arguments))
    log = folder / run.replays.name / "steps.jsonl"
    if not log.exists():
        log.parent.mkdir(parents=True, exist_ok=True)
        storage.write_text(log, _written_log(run.replays))
    return YokedSchedule(log) if run.method == "yoked" else ShuffledSchedule(log, seed=run.seed)


def _written_log(run: Run) -> str:
    """The step log of a run as the committed tables have it: steps and their groups."""
    steps = pd.read_parquet(DATA / "steps.parquet")
    for name, value in run.settings().items():
        steps = steps[steps[name] == value]
    lines = [
        {"step": int(step), "groups": [dict(group) for group in groups]}
        for step, groups in zip(steps["step"], steps["groups"], strict=True)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


# ------------------------------------------------------------------------------------- the tables


def gather() -> None:
    """Join the tables of newly finished work to those of `DATA`, then its names to done.json.

    In this order, so that after a kill in between the next call does it again.
    """
    DATA.mkdir(parents=True, exist_ok=True)
    with storage.lock(BUILD / "gather", wait=True):
        named = _done()
        finished = [
            one
            for one in plan.WORK
            if one.name not in named and (BUILD / one.name / "done").exists()
        ]
        evaluations, steps, losses, pilots = [], [], [], []
        for one in finished:
            folder = BUILD / one.name
            if isinstance(one, Scores):
                _join(DATA / "scores.parquet", [pd.read_parquet(folder / "scores.parquet")], SCORE)
            elif isinstance(one, Pilots):
                pilots.append(pd.read_parquet(folder / "coverage.parquet"))
            elif isinstance(one, Base):
                evaluations += _evaluations(folder, one.settings())
                path = folder / "losses.parquet"
                losses += [pd.read_parquet(path)] if path.exists() else []
            elif isinstance(one, Lake):
                _join(DATA / "lake.parquet", [pd.read_parquet(folder / "lake.parquet")], LAKE)
            else:
                evaluations += _evaluations(folder, one.settings() | {"kind": "post"})
                log = (folder / "steps.jsonl").read_text(encoding="utf-8")
                lines = [json.loads(line) for line in log.splitlines()]
                steps.append(step_table(lines).assign(**one.settings()))
        _join(DATA / "evaluations.parquet", evaluations, [*EVALUATION, "task"])
        _join(DATA / "steps.parquet", steps, [*RUN, "step"])
        _join(DATA / "losses.parquet", losses, ["world", "size", "kind", "step"])
        _join(DATA / "pilots.parquet", pilots, ["world", "policy", "seed", "method", "total"])
        names = sorted({*named, *(one.name for one in finished)})
        storage.write_text(DATA / "done.json", json.dumps(names, indent=0) + "\n")


EVALUATION = [*RUN, "kind", "split", "temperature", "cue", "parser"]
"""Columns that tell one evaluation from another; a row is a task, with its `n` and `c`."""


SCORE = [*RUN, "by", "task", "attempt"]
"""Columns that tell one scored attempt from another: the policy that scores it, who made it."""
LAKE = ["step", "state", "action"]
"""Columns that tell one log-prob of the lake from another."""


def step_table(lines) -> pd.DataFrame:
    """A step log as a table: a row a step; its temperatures and seconds become columns."""
    rows = []
    for line in lines:
        heats, seconds = line.pop("temperature"), line.pop("seconds")
        line |= {f"temperature_{name}": value for name, value in heats.items()}
        rows.append(line | {f"seconds_{name}": value for name, value in seconds.items()})
    return pd.DataFrame(rows)


def _evaluations(folder: Path, columns) -> list[pd.DataFrame]:
    return [
        pd.read_parquet(path).assign(**columns)
        for path in sorted(folder.glob("evaluation-*.parquet"))
    ]


def _join(path: Path, new: list[pd.DataFrame], key: list[str]) -> None:
    if not new:
        return
    old = [pd.read_parquet(path)] if path.exists() else []
    table = pd.concat([*old, *new], ignore_index=True)
    table = table.drop_duplicates(key, keep="last").sort_values(key, ignore_index=True)
    write_table(table[[*key, *(name for name in table if name not in key)]], path)


# --------------------------------------------------------------------------------------- workers


def is_done(work: Work) -> bool:
    """Whether all of a piece of work is there, here or in the committed tables."""
    if (BUILD / work.name / "done").exists():
        return True
    return work.name in _done() and (not isinstance(work, Base) or base_folder(work).exists())


def _done() -> list[str]:
    """Names of the work that the committed tables hold."""
    path = DATA / "done.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def do(work: Work, progress: bool | None = None) -> bool:
    """Do a piece of work if nobody else does; returns whether it is done now."""
    try:
        with storage.lock(BUILD / work.name):
            if is_done(work):
                return True
            _do(work, progress)
    except storage.LockedError:
        return is_done(work)
    gather()
    return True


def _do(work: Work, progress: bool | None) -> None:
    if isinstance(work, Base):
        if not base_folder(work).exists():
            make_base(work, progress)
        evaluate_base(work)
    elif isinstance(work, Run):
        make_run(work, progress)
    elif isinstance(work, Pilots):
        make_pilots(work)
    elif isinstance(work, Scores):
        make_scores(work)
    else:
        make_lake()
    (BUILD / work.name / "done").touch()


def ready(work: Work) -> bool:
    """Whether everything that a piece of work stands on is there: of a base, its model."""
    return all(
        base_folder(one).exists() if isinstance(one, Base) else is_done(one) for one in work.needs
    )


def with_needs(wanted: Iterable[Work]) -> list[Work]:
    """These pieces of work, each after what it needs."""
    found: dict[Work, None] = {}
    for work in wanted:
        found |= dict.fromkeys([*with_needs(work.needs), work])
    return list(found)
