"""The folder of a training run, from which an interrupted run resumes.

run.json              the settings that the run began with; other settings are refused
steps.jsonl           the step log, a line for each step
checkpoint-000120/    weights, optimizers and temperature schedule after step 120; the last is kept
model/                the trained model and its tokenizer, at the end
"""

import contextlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from lib.training.learners import Learner
from lib.training.temperature_schedules import TemperatureSchedule, read_log, read_run
from lib.trajectories import storage


def agree(out: Path, settings: dict[str, Any]) -> None:
    """Write the settings of a new run, or compare them with those that the folder was begun with.

    settings: by part of the run and name, as JSON values. A setting that the folder does not have
    is not compared, so that a run goes on which began before that setting existed.

    Raises ValueError that names the first setting that differs, the schedule, the environment and
    the algorithm before settings that depend on them; or if the folder has a log or a checkpoint
    without its run.json.
    """
    path = out / "run.json"
    settings = json.loads(json.dumps(settings))
    orphans = [] if path.exists() else [*out.glob("steps.jsonl"), *_kept(out)]
    if orphans and not path.exists():  # another process may have begun the run meanwhile
        raise ValueError(
            f"{path} is missing beside {orphans[0].name}: put it back, or choose another folder"
        )
    # Of two processes that begin together, one writes its settings.
    storage.write_once(path, json.dumps(settings, indent=1) + "\n")
    begun = read_run(path)
    for part in sorted(begun, key=lambda part: (part not in ("sampler", "world"), part)):
        then, now = begun[part], settings.get(part, {})
        for name in sorted(then, key=lambda key: (key not in (part, "name", "algorithm"), key)):
            if now.get(name) != then[name]:
                differing = _differing(part, {name: then[name]}, {name: now.get(name)})
                remedy = _REMEDIES.get((part, name), "choose another folder, or set it back")
                raise ValueError(f"{out} was begun with {differing}: {remedy}")


_REMEDIES = {
    ("settings", "steps"): (
        "the temperatures of PTGS depend on how much of a run is done, so a run's length is fixed "
        "when it begins. Set it back; or choose another folder, to train from the start or from "
        "the model that this run saves at its end"
    )
}
"""Remedies of settings whose difference needs an explanation."""


def _differing(name: str, then: Any, now: Any) -> str:
    """Two settings that differ, for an error; of dictionaries and lists, the first difference."""
    if isinstance(then, dict) and isinstance(now, dict):
        key = next(key for key in {**then, **now} if then.get(key, ...) != now.get(key, ...))
        longer = name if name.split()[-1] == key else f"{name} {key}"
        return _differing(longer, then.get(key), now.get(key))
    shown = repr(then), repr(now)
    if isinstance(then, list) and isinstance(now, list):
        pairs = enumerate(zip(then, now, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(then), len(now)))
        shown = [
            f"a list of {len(items)}"
            + (f", {items[at]!r} at place {at + 1}" if at < len(items) else "")
            for items in (then, now)
        ]
    return f"{name} = {shown[0]}, now it is {shown[1]}"


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Hold the folder of a run, so that no other process trains in it.

    A new run that fails before its first step removes its settings, so that it can begin again with
    other settings.
    """
    settings, log = out / "run.json", out / "steps.jsonl"
    try:
        held = settings.open("rb")
    except FileNotFoundError as error:
        raise _removed(out) from error
    with held, contextlib.ExitStack() as stack:
        try:
            stack.enter_context(storage.lock(settings))
        except storage.LockedError as error:
            raise ValueError(f"{out}: another process is training in this folder") from error
        if not settings.exists() or not os.path.samestat(os.fstat(held.fileno()), settings.stat()):
            raise _removed(out)
        new = not log.exists()
        try:
            yield
        except Exception:
            if new and not _kept(out) and log.exists() and not log.stat().st_size:
                log.unlink()
                settings.unlink()
            raise


def _removed(out: Path) -> ValueError:
    return ValueError(
        f"{out}: another process has just removed this run, which had failed. Try again"
    )


def save(out: Path, step: int, learner: Learner, schedule: TemperatureSchedule) -> None:
    """Save the state after a step, then remove older ones; a kill leaves at least one."""
    new = out / f"checkpoint-{step:06}"
    with storage.replacing_folder(new) as part:
        for name, (parameters, optimizer) in learner.modules().items():
            tensors = {key: value.detach().contiguous() for key, value in parameters.items()}
            save_file(tensors, part / f"{name}.safetensors")
            torch.save(optimizer.state_dict(), part / f"{name}.optimizer.pt")
        (part / "sampler.json").write_text(json.dumps(schedule.state()), encoding="utf-8")
    for old in _kept(out):
        if old != new:
            shutil.rmtree(old)


def restore(out: Path, learner: Learner, schedule: TemperatureSchedule) -> int:
    """Load the last checkpoint, cut the step log to its step, and return that step, or 0.

    Removes what a kill left half written. Raises ValueError that names a damaged file; a kill
    damages none.
    """
    storage.remove_parts(out)
    kept = _kept(out)
    step = int(kept[-1].name.partition("-")[2]) if kept else 0
    log = out / "steps.jsonl"
    lines = [line for line in (read_log(log) if log.exists() else []) if line["step"] <= step]
    if kept:
        # Every line is written before the checkpoint of its step.
        if [line["step"] for line in lines] != list(range(1, step + 1)):
            why = f"it has {len(lines)} of the {step} steps before the checkpoint"
            raise _damaged(log, why if log.exists() else "it is missing", kept[-1])
        for name, (parameters, optimizer) in learner.modules().items():
            with _whole(kept[-1] / f"{name}.safetensors") as path, torch.no_grad():
                tensors = load_file(path)
                _check_alike(tensors, parameters)
                trained = {
                    key
                    for key, parameter in parameters.items()
                    if not torch.equal(tensors[key].to(parameter), parameter)
                }
                for key, parameter in parameters.items():
                    parameter.copy_(tensors[key])
            with _whole(kept[-1] / f"{name}.optimizer.pt") as path:
                # Its hyperparameters are those of the run, which `agree` has compared.
                settings = optimizer.state_dict()["param_groups"]
                state = torch.load(path, map_location="cpu", weights_only=True)["state"]
                _check_moments(state, parameters, trained)
                optimizer.load_state_dict({"state": state, "param_groups": settings})
        with _whole(kept[-1] / "sampler.json") as path:
            schedule.restore(json.loads(path.read_text(encoding="utf-8")))
        for old in kept[:-1]:  # the run was killed before it removed them
            shutil.rmtree(old)
    storage.write_text(log, "".join(map(as_line, lines)))
    return step


def _check_moments(
    state: Mapping[int, Mapping[str, torch.Tensor]],
    parameters: Mapping[str, torch.Tensor],
    trained: Collection[str],
) -> None:
    """Refuse an optimizer's state that is not of these parameters, or lacks a trained parameter.

    A parameter that never had a gradient is as the run began with it, and has no state.
    """
    names = dict(enumerate(parameters))
    saved = {
        f"{kind} of {names.get(number, f'parameter {number}')}": moment
        for number, moments in state.items()
        for kind, moment in moments.items()
    }
    expected = {}
    for number, name in names.items():
        if number in state or name in trained:
            moments = {f"{kind} of {name}": parameters[name] for kind in ("exp_avg", "exp_avg_sq")}
            expected |= {f"step of {name}": torch.zeros(()), **moments}
    _check_alike(saved, expected)


def _check_alike(saved: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    if lacking := sorted(expected.keys() - saved.keys()):
        more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
        raise ValueError(f"it lacks {lacking[0]}{more}")
    if foreign := sorted(saved.keys() - expected.keys()):
        raise ValueError(f"it has {foreign[0]}, which is not of this run")
    for name in sorted(saved):
        shapes = tuple(saved[name].shape), tuple(expected[name].shape)
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name} has the shape {shapes[0]}, in this run it is {shapes[1]}")
        if not saved[name].isfinite().all():
            raise ValueError(f"{name} holds numbers that are not finite")


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file of a checkpoint while it is read. Any error is raised as one that names the file."""
    try:
        yield path
    except Exception as error:
        why = f"{type(error).__name__}: {str(error).strip() or 'no message'}"
        raise _damaged(path, why if path.exists() else "it is missing", path.parent) from error


def _damaged(path: Path, why: str, checkpoint: Path) -> ValueError:
    return ValueError(
        f"{path} is damaged ({why.splitlines()[0][:200]}). Put it back; or remove {checkpoint}, "
        "and the run begins again; or choose another folder"
    )


def as_line(entry: dict[str, Any]) -> str:
    """An entry of the step log as a line of JSON; ValueError if a number is not finite."""
    return json.dumps(entry, allow_nan=False) + "\n"


def _kept(out: Path) -> list[Path]:
    return sorted(out.glob("checkpoint-" + 6 * "[0-9]"))
