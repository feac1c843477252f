"""The lab's work: pre-train, post-train, evaluate. It may be killed at any moment and goes on.

Every piece of work has a folder in `BUILD`, is done by whichever worker has its lock, and leaves
tables there; `gather` joins those of all finished work to the committed tables of `DATA`.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import torch

from lib.envs import Environment
from lib.generation import Engine, Sampling, load
from lib.lab import plan
from lib.lab.plan import BUILD, DATA, Base, Run
from lib.policies import Key, LocalPolicy
from lib.pretraining import STAGES, new_model, pretrain
from lib.ptgs import PTGS
from lib.rollouts import roll_out
from lib.training import Fixed, Sampler, Shuffled, Tempered, Yoked, defaults, train
from lib.words import Words


def evaluate(
    policy: LocalPolicy,
    world: Environment,
    tasks: Sequence[str],
    n: int,
    *,
    seed: int,
    heat: Mapping[str, float] | None = None,
    first: int = 0,
) -> pd.DataFrame:
    """Successes of n rollouts of each task: columns `task`, `n`, `c`.

    heat: temperatures by task, in place of the policy's own.  first: number of the first attempt.
    """
    keys = [Key(seed, task, attempt) for task in tasks for attempt in range(first, first + n)]
    solved = dict.fromkeys(tasks, 0)
    for low in range(0, len(keys), plan.AT_ONCE):
        part = keys[low : low + plan.AT_ONCE]
        heats = None if heat is None else [heat[key.task] for key in part]
        session = policy.start(part, temperatures=heats)
        for rollout in roll_out(session, world, part, "lab", "policy"):
            solved[rollout.task] += rollout.passed is True
    return pd.DataFrame({"task": list(tasks), "n": n, "c": list(solved.values())})


def open_policy(folder: Path, world: str, temperature: float, **dialect) -> LocalPolicy:
    """A model of the lab as a policy; `dialect` are the arguments of `lib.words.Words`."""
    model, tokenizer = load(folder)
    sampling = Sampling(temperature=temperature, max_new_tokens=plan.NEW_TOKENS[world])
    return LocalPolicy(Engine(model, tokenizer), Words(**dialect), sampling, name=folder.name)


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
    world = plan.world(base.world, "train")
    model, tokenizer = new_model(world.words(), base.size)
    logs = []
    for kind, stage in STAGES.items():
        there = BUILD / "bases" / f"{base.world}-{base.size}" / kind
        if not (there / "loss.json").exists():
            log = pretrain(model, tokenizer, world, stage, there, progress=progress)
            (there / "loss.json").write_text(json.dumps(log))
        model = load(there)[0]
        columns = {"world": base.world, "size": base.size, "kind": kind}
        logs += [columns | row for row in json.loads((there / "loss.json").read_text())]
        if kind == base.kind:
            break
    pieces = BUILD / base.name
    pieces.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(logs).query("kind == @base.kind").to_parquet(pieces / "losses.parquet")
    _keep(there, base_folder(base))


def _keep(source: Path, target: Path) -> None:
    """Copy a model in half precision; the folder is there whole or not at all."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    part = target.with_name(f".{target.name}.{os.getpid()}")
    AutoModelForCausalLM.from_pretrained(source, dtype=torch.float16).save_pretrained(part)
    AutoTokenizer.from_pretrained(source).save_pretrained(part)
    (part / "generation_config.json").unlink(missing_ok=True)
    (part / "model.safetensors").chmod(0o644)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(part, target)


def make_run(run: Run, progress: bool | None = None) -> None:
    """Train a run and evaluate it on held-out and on training tasks."""
    out = BUILD / run.name
    world = plan.world(run.world, "train")
    settings = defaults(
        run.algorithm,
        seed=run.seed,
        learning_rate=run.rate,
        max_new_tokens=plan.NEW_TOKENS[run.world],
    )
    if not (out / "model").exists():
        model, tokenizer = load(base_folder(run.base))
        train(
            model,
            tokenizer,
            Words(),
            world,
            world.tasks(),
            settings,
            _sampler(run),
            out,
            checkpoint_every=45.0,
            progress=progress,
        )
        model.save_pretrained(out / "model.part")
        tokenizer.save_pretrained(out / "model.part")
        os.replace(out / "model.part", out / "model")
    if run in plan.KEPT:
        _keep(out / "model", plan.kept_folder(run))
    for split, heats in plan.SPLITS.items():
        for heat in heats:
            _piece(out, model_folder(run), run.world, split, heat, run.seed)
    if run.world == "desk":
        _read_in_every_way(out, model_folder(run), run.world, run.seed)


def evaluate_base(base: Base) -> None:
    """Evaluate a base at several temperatures, and read its replies in every way."""
    out = BUILD / base.name
    if base.kind == "base-85":
        for heat in plan.BASE_HEATS:
            _piece(out, base_folder(base), base.world, "test", heat, 0)
        _piece(out, base_folder(base), base.world, "train", 0.5, 0)
    if base.size == "0.25M":
        _read_in_every_way(out, base_folder(base), base.world, 0)


def _read_in_every_way(out, folder, world_name, seed) -> None:
    """The harness ablation: with the cue and without, read exactly and leniently."""
    for cue in (False, True):
        for parser in ("exact", "lenient"):
            _piece(out, folder, world_name, "test", 1.0, seed, cue=cue, parser=parser)


def _piece(out, folder, world_name, split, heat, seed, cue=False, parser="exact") -> None:
    path = out / f"evaluation-{split}-{heat:g}-{'cue' if cue else 'plain'}-{parser}.parquet"
    if path.exists():
        return
    world = plan.world(world_name, split, plan.TASKS)
    policy = open_policy(folder, world_name, heat, cue=cue, parser=parser)
    found = evaluate(policy, world, world.tasks(), plan.ATTEMPTS, seed=seed)
    found = found.assign(split=split, temperature=heat, cue=cue, parser=parser)
    part = path.with_name(f".{path.name}")
    found.to_parquet(part)
    os.replace(part, path)


def _sampler(run: Run) -> Sampler:
    if run.sampler == "fixed":
        return Fixed(1.0)
    if run.sampler == "ptgs":
        arguments = plan.PTGS.get((run.world, run.algorithm), {})
        return Tempered(PTGS(seed=run.seed, **arguments))
    log = BUILD / run.needs.name / "steps.jsonl"
    if not log.exists():
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(_written_log(run.needs))
    return Yoked(log) if run.sampler == "yoked" else Shuffled(log, seed=run.seed)


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
    """Join the tables of all finished work to those of `DATA`."""
    DATA.mkdir(parents=True, exist_ok=True)
    with _lock(BUILD / "gather.lock", wait=True):
        evaluations, steps, losses = [], [], []
        for base in (one for one in plan.WORK if isinstance(one, Base)):
            columns = asdict(base) | {"algorithm": "", "sampler": "", "rate": 0.0, "seed": 0}
            evaluations += _evaluations(BUILD / base.name, columns)
            path = BUILD / base.name / "losses.parquet"
            losses += [pd.read_parquet(path)] if path.exists() else []
        for run in plan.RUNS:
            if not is_done(run):
                continue
            columns = run.settings() | {"kind": "post"}
            evaluations += _evaluations(BUILD / run.name, columns)
            log = BUILD / run.name / "steps.jsonl"
            if (BUILD / run.name / "run.json").exists():
                lines = [json.loads(line) for line in log.read_text().splitlines()]
                steps.append(_step_table(lines).assign(**run.settings()))
        _join(DATA / "evaluations.parquet", evaluations, [*EVALUATION, "task"])
        _join(DATA / "steps.parquet", steps, [*RUN, "step"])
        _join(DATA / "losses.parquet", losses, ["world", "size", "kind", "step"])


RUN = ["world", "size", "algorithm", "sampler", "rate", "seed"]
EVALUATION = [*RUN, "kind", "split", "temperature", "cue", "parser"]
"""Columns that tell one evaluation from another; a row is a task, with its `n` and `c`."""


def _step_table(lines) -> pd.DataFrame:
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
    part = path.with_name(f".{path.name}")
    table[[*key, *(name for name in table if name not in key)]].to_parquet(part, index=False)
    os.replace(part, path)


# --------------------------------------------------------------------------------------- workers


def is_done(work: Base | Run) -> bool:
    """Whether all of a piece of work is there, here or in the committed tables."""
    if isinstance(work, Base):
        return (BUILD / work.name / "done").exists() or (
            base_folder(work).exists() and _committed(work.name)
        )
    return (BUILD / work.name / "done").exists() or _committed(work.name)


def _committed(name: str) -> bool:
    path = DATA / "done.json"
    return path.exists() and name in json.loads(path.read_text())


def do(work: Base | Run, progress: bool | None = None) -> bool:
    """Do a piece of work if nobody else does; returns whether it is done now."""
    with _lock(BUILD / f"{work.name}.lock") as mine:
        if not mine or is_done(work):
            return is_done(work)
        if isinstance(work, Base):
            if not base_folder(work).exists():
                make_base(work, progress)
            evaluate_base(work)
        else:
            make_run(work, progress)
        (BUILD / work.name / "done").touch()
    _note(work.name)
    gather()
    return True


def ready(work: Base | Run) -> bool:
    """Whether everything that a piece of work stands on is there."""
    if isinstance(work, Base):
        return True
    return base_folder(work.base).exists() and (work.needs is None or is_done(work.needs))


def _note(name: str) -> None:
    with _lock(BUILD / "gather.lock", wait=True):
        path = DATA / "done.json"
        there = json.loads(path.read_text()) if path.exists() else []
        path.write_text(json.dumps(sorted({*there, name}), indent=0) + "\n")


@contextlib.contextmanager
def _lock(path: Path, wait: bool = False) -> Iterator[bool]:
    """Whether this process has the lock; it goes with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
