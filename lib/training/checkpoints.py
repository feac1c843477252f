"""A run's folder: what it was started with, its step log, and the state it goes on from.

run.json              settings and sampler; a run that differs is refused
steps.jsonl           the step log, a line a step
checkpoint-000120/    weights, optimizers and sampler after step 120; only the last is kept
model/                the trained model and tokenizer, at the end
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from lib.training.learners import Learner
from lib.training.samplers import Sampler, read_log


def agree(out: Path, wanted: dict[str, Any]) -> None:
    """Write a new run's settings, or refuse one that differs from those the folder was begun with.

    Raises ValueError that names the setting. One that the folder says nothing of is not compared: a
    run that was begun before there was such a setting goes on.
    """
    path = out / "run.json"
    wanted = json.loads(json.dumps(wanted))
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        _replace(path, json.dumps(wanted, indent=1) + "\n")
        return
    there = json.loads(path.read_text(encoding="utf-8"))
    for part, theirs in there.items():
        ours = wanted.get(part, {})
        for name in sorted(theirs):
            if ours.get(name) != theirs[name]:
                raise ValueError(
                    f"{out} was begun with {part} {name} = {theirs[name]!r}, now it is "
                    f"{ours.get(name)!r}: choose another folder, or set it back"
                )


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep other processes from training in the folder of a begun run meanwhile."""
    with (out / "run.json").open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(f"{out}: another process is training in this folder") from error
        yield


def save(out: Path, step: int, learner: Learner, sampler: Sampler) -> None:
    """Keep the state after a step in place of the last one; a kill leaves one of the two."""
    part = out / f"part-{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for name, (parameters, optimizer) in learner.modules().items():
        tensors = {key: value.detach().contiguous() for key, value in parameters.items()}
        save_file(tensors, part / f"{name}.safetensors")
        torch.save(optimizer.state_dict(), part / f"{name}.optimizer.pt")
    (part / "sampler.json").write_text(json.dumps(sampler.state()), encoding="utf-8")
    new = out / f"checkpoint-{step:06}"
    shutil.rmtree(new, ignore_errors=True)
    os.replace(part, new)
    for old in _kept(out):
        if old != new:
            shutil.rmtree(old)


def restore(out: Path, learner: Learner, sampler: Sampler) -> int:
    """Go on from the last checkpoint: its step, or 0 if there is none.

    The step log is cut back to that step, and what a kill left half written is removed.
    """
    for unfinished in out.glob("part-*"):
        shutil.rmtree(unfinished)
    kept = _kept(out)
    step = int(kept[-1].name.partition("-")[2]) if kept else 0
    if kept:
        for name, (parameters, optimizer) in learner.modules().items():
            tensors = load_file(kept[-1] / f"{name}.safetensors")
            with torch.no_grad():
                for key, parameter in parameters.items():
                    parameter.copy_(tensors[key])
            state = torch.load(kept[-1] / f"{name}.optimizer.pt", weights_only=True)
            optimizer.load_state_dict(state)
        sampler.restore(json.loads((kept[-1] / "sampler.json").read_text(encoding="utf-8")))
    log = out / "steps.jsonl"
    lines = read_log(log) if log.exists() else []
    _replace(log, "".join(as_line(line) for line in lines if line["step"] <= step))
    return step


def as_line(entry: dict[str, Any]) -> str:
    """An entry of the step log; a number that is not finite is a bug, and raises ValueError."""
    return json.dumps(entry, allow_nan=False) + "\n"


def _kept(out: Path) -> list[Path]:
    return sorted(out.glob("checkpoint-??????"))


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
