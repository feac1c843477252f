"""A run's folder: what it was started with, its step log, and the state it goes on from.

run.json              settings and sampler; a run that differs is refused
steps.jsonl           the step log, a line a step
checkpoint-000120/    weights, optimizers and sampler after step 120; only the last is kept
model/                the trained model and tokenizer, at the end
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


def agree(out: Path, wanted: dict[str, Any]) -> None:
    """Write a new run's settings, or refuse one that differs from those the folder was begun with.

    Raises ValueError that names the setting, and the one that others follow from before them: the
    sampler, the world, the algorithm. One that the folder says nothing of is not compared: a run
    that was begun before there was such a setting goes on. A folder that holds the log or the
    checkpoint of a run without its run.json is refused, too: nothing tells what they are of.
    """
    path = out / "run.json"
    wanted = json.loads(json.dumps(wanted))
    orphans = [] if path.exists() else [*out.glob("steps.jsonl"), *_kept(out)]
    if orphans and not path.exists():  # not even now: another process may have begun meanwhile
        raise ValueError(
            f"{path} is missing beside {orphans[0].name}: put it back, or choose another folder"
        )
    # Of two processes that begin together, one writes its settings.
    storage.write_once(path, json.dumps(wanted, indent=1) + "\n")
    there = read_run(path)
    for part in sorted(there, key=lambda part: (part not in ("sampler", "world"), part)):
        ours, theirs = wanted.get(part, {}), there[part]
        for name in sorted(theirs, key=lambda one: (one not in (part, "name", "algorithm"), one)):
            if ours.get(name) != theirs[name]:
                differing = _differing(part, {name: theirs[name]}, {name: ours.get(name)})
                instead = _INSTEAD.get((part, name), "choose another folder, or set it back")
                raise ValueError(f"{out} was begun with {differing}: {instead}")


_INSTEAD = {
    ("settings", "steps"): (
        "the temperatures of PTGS go by how much of a run is done, so its length is fixed when it "
        "begins. Set it back; or choose another folder, to train from the start or from the model "
        "that this run saves at its end"
    )
}
"""What to do about a setting that differs, where it is more than to choose another folder."""


def _differing(name: str, then: Any, now: Any) -> str:
    """Two settings that differ, as an error shows them: of what holds several, the first."""
    if isinstance(then, dict) and isinstance(now, dict):
        key = next(key for key in {**then, **now} if then.get(key, ...) != now.get(key, ...))
        longer = name if name.split()[-1] == key else f"{name} {key}"
        return _differing(longer, then.get(key), now.get(key))
    shown = repr(then), repr(now)
    if isinstance(then, list) and isinstance(now, list):
        pairs = enumerate(zip(then, now, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(then), len(now)))
        shown = [
            f"a list of {len(one)}" + (f", {one[at]!r} at place {at + 1}" if at < len(one) else "")
            for one in (then, now)
        ]
    return f"{name} = {shown[0]}, now it is {shown[1]}"


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep other processes from training in the folder of a begun run meanwhile.

    A run that is refused before its first step leaves no settings behind, if none were there: it
    can be begun again with others.
    """
    settings, log = out / "run.json", out / "steps.jsonl"
    try:
        held = settings.open("rb")
    except FileNotFoundError as error:
        raise _given_up(out) from error
    with held, contextlib.ExitStack() as stack:
        try:
            stack.enter_context(storage.lock(settings))
        except storage.LockedError as error:
            raise ValueError(f"{out}: another process is training in this folder") from error
        if not settings.exists() or not os.path.samestat(os.fstat(held.fileno()), settings.stat()):
            raise _given_up(out)
        new = not log.exists()
        try:
            yield
        except Exception:
            if new and not _kept(out) and log.exists() and not log.stat().st_size:
                log.unlink()
                settings.unlink()
            raise


def _given_up(out: Path) -> ValueError:
    return ValueError(f"{out}: another process has just given this run up, try again")


def save(out: Path, step: int, learner: Learner, schedule: TemperatureSchedule) -> None:
    """Keep the state after a step in place of the last one; a kill leaves one of the two."""
    part = out / f"part-{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for name, (parameters, optimizer) in learner.modules().items():
        tensors = {key: value.detach().contiguous() for key, value in parameters.items()}
        save_file(tensors, part / f"{name}.safetensors")
        torch.save(optimizer.state_dict(), part / f"{name}.optimizer.pt")
    (part / "sampler.json").write_text(json.dumps(schedule.state()), encoding="utf-8")
    new = out / f"checkpoint-{step:06}"
    shutil.rmtree(new, ignore_errors=True)
    os.replace(part, new)
    for old in _kept(out):
        if old != new:
            shutil.rmtree(old)


def restore(out: Path, learner: Learner, schedule: TemperatureSchedule) -> int:
    """Go on from the last checkpoint: its step, or 0 if there is none.

    The step log is cut back to that step, and what a kill left half written is removed. Raises
    ValueError that names a damaged file: a kill damages none.
    """
    for unfinished in out.glob("part-*"):
        shutil.rmtree(unfinished)
    kept = _kept(out)
    step = int(kept[-1].name.partition("-")[2]) if kept else 0
    log = out / "steps.jsonl"
    lines = [line for line in (read_log(log) if log.exists() else []) if line["step"] <= step]
    if kept:
        # Every line is written before the checkpoint of its step.
        if [line["step"] for line in lines] != list(range(1, step + 1)):
            told = f"it has {len(lines)} of the {step} steps before the checkpoint"
            raise _damaged(log, told if log.exists() else "it is missing", kept[-1])
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
                # Its settings are those of the run, which run.json has agreed on.
                settings = optimizer.state_dict()["param_groups"]
                state = torch.load(path, map_location="cpu", weights_only=True)["state"]
                _check_moments(state, parameters, trained)
                optimizer.load_state_dict({"state": state, "param_groups": settings})
        with _whole(kept[-1] / "sampler.json") as path:
            schedule.restore(json.loads(path.read_text(encoding="utf-8")))
        for old in kept[:-1]:  # a kill came before its removal
            shutil.rmtree(old)
    storage.write_text(log, "".join(map(as_line, lines)))
    return step


def _check_moments(
    state: Mapping[int, Mapping[str, torch.Tensor]],
    parameters: Mapping[str, torch.Tensor],
    trained: Collection[str],
) -> None:
    """Refuse an optimizer's state that is not of these parameters, or lacks one it has `trained`.

    One that never had a gradient, and so still is as the run began with it, has no state.
    """
    names = dict(enumerate(parameters))
    found = {
        f"{kind} of {names.get(number, f'parameter {number}')}": moment
        for number, moments in state.items()
        for kind, moment in moments.items()
    }
    wanted = {}
    for number, name in names.items():
        if number in state or name in trained:
            wanted[f"step of {name}"] = torch.zeros(())
            wanted |= {f"{kind} of {name}": parameters[name] for kind in ("exp_avg", "exp_avg_sq")}
    _check_alike(found, wanted)


def _check_alike(found: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> None:
    if lacking := sorted(wanted.keys() - found.keys()):
        more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
        raise ValueError(f"it lacks {lacking[0]}{more}")
    if foreign := sorted(found.keys() - wanted.keys()):
        raise ValueError(f"it has {foreign[0]}, which is not of this run")
    for name in sorted(found):
        shapes = tuple(found[name].shape), tuple(wanted[name].shape)
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name} has the shape {shapes[0]}, in this run it is {shapes[1]}")
        if not found[name].isfinite().all():
            raise ValueError(f"{name} holds numbers that are not finite")


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file of a checkpoint while it is read: libraries that do raise errors of many kinds."""
    try:
        yield path
    except Exception as error:
        told = f"{type(error).__name__}: {str(error).strip() or 'no more is known'}"
        raise _damaged(path, told if path.exists() else "it is missing", path.parent) from error


def _damaged(path: Path, why: str, checkpoint: Path) -> ValueError:
    return ValueError(
        f"{path} is damaged ({why.splitlines()[0][:200]}). Put it back; or remove {checkpoint}, "
        "and the run begins anew; or choose another folder"
    )


def as_line(entry: dict[str, Any]) -> str:
    """An entry of the step log; a number that is not finite is a bug, and raises ValueError."""
    return json.dumps(entry, allow_nan=False) + "\n"


def _kept(out: Path) -> list[Path]:
    return sorted(out.glob("checkpoint-" + 6 * "[0-9]"))
