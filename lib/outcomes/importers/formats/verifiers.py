"""verifiers: `results.jsonl` beside `metadata.json` (fields as verifiers 0.1.14 writes them)."""

import hashlib
import json
from pathlib import Path

from lib.outcomes import OutcomesError, warn
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.messages import read_messages
from lib.outcomes.importers.plans import note_unplanned
from lib.outcomes.importers.records import NONE, Alike, get, json_lines, parsed
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import verdict
from lib.outcomes.wording import count


def read_verifiers(path: str | Path, *, threshold: float | None = None, **cell) -> Imported:
    """Read a results file, or the folder that holds one.

    threshold: the reward from which on a rollout is a success; None takes the `pass_threshold` of
    the metadata, which is what the tool's own pass@k uses, and where there is none, rewards must be
    0 or 1. A rollout with an error is missing, with the error's name, although the tool writes a
    reward for it. Tasks with other numbers of rollouts than the metadata says are told of.
    Raises OutcomesError naming file and line, also where one `example_id` has two answers or tasks,
    and for a folder of several results files. Warns, with OutcomesWarning, where it has two prompts
    only, as environments may write them anew for each rollout.
    """
    path = Path(path)
    if path.is_dir():
        path = _only(path)
    report = ImportReport("verifiers", [str(path)])
    metadata = path.with_name("metadata.json")
    planned = None
    if metadata.is_file():
        place = str(metadata)
        report.files.append(place)
        told = parsed(metadata.read_bytes(), place)
        cell.setdefault("benchmark", get(told, "env_id", (str,), place))
        report.set(get(told, "sampling_args", (dict, NONE), place))
        trials, tasks = (
            get(told, name, (int,), place) for name in ("rollouts_per_example", "num_examples")
        )
        planned = trials, None if tasks == -1 else tasks  # -1: all that there are
        if threshold is None and told.get("pass_threshold") is not None:
            threshold = get(told, "pass_threshold", (int, float), place)
    report.succeed_from(threshold)
    report.scorer = "reward"
    done = collect(_rows(path, report, cell.get("benchmark") or "default"), report, **cell)
    if planned:
        note_unplanned(done, *planned)
    return done


def _only(folder) -> Path:
    found = files_below(folder, "results.jsonl")
    if len(found) != 1:
        listed = ", ".join(str(file.parent) for file in found[:6]) or "none"
        raise OutcomesError(
            f"{folder}: expected one results.jsonl below it, got {len(found)} ({listed}). Name the "
            "folder of one run, and the other arm's as the other."
        )
    return found[0]


def _rows(path, report, benchmark):
    examples, prompts = {}, {}
    alike = Alike(
        "error", "is_completed", "is_truncated", "metrics", "stop_condition", typed=["example_id"]
    )
    for number, row in json_lines(path):
        place = f"{path}, line {number}"
        alike.check(row, place)
        task = get(row, "example_id", (int, str), place)
        reward = get(row, "reward", (int, float), place)
        prompt, completion = (row.get(name) for name in ("prompt", "completion"))
        document = tuple(_digest(row.get(name)) for name in ("task", "answer"))
        known, first = examples.setdefault(task, (document, place))
        if known != document:
            raise OutcomesError(
                f"{place}: the example {task!r} is not the one of that number in {first}: they "
                "differ in 'task' or in 'answer'; expected one example for a number. Are these two "
                "logs in one file? Put the rows of each into a file of their own."
            )
        report.documents[benchmark, str(task)] = None, document[-1]
        prompts.setdefault(task, set()).add(_digest(prompt))

        def messages(prompt=prompt, completion=completion, place=place):
            return [*_messages(prompt, "user", place), *_messages(completion, "assistant", place)]

        error = get(row, "error", (dict, str, NONE), place) if "error" in row else None
        if error not in (None, ""):  # text, before the versions that write an object
            name = error.get("error") if isinstance(error, dict) else error
            yield Attempt(task, None, None, f"error: {name}"[:80], messages)
        elif reward != reward:
            yield Attempt(task, None, None, "the reward is NaN", messages)
        else:
            passed = verdict(reward, f"{place}, 'reward'", report)
            yield Attempt(task, None, passed, None, messages)
    several = [task for task, said in prompts.items() if len(said) > 1]
    if several:
        said = (
            f"{path}: {count(len(several), 'example')} had unlike prompts (first {several[0]!r}), "
            "and the rollouts of each count as one task. That is so where the environment writes "
            "prompts anew; where the file holds two logs, make a file of each."
        )
        report.note(said)
        warn(said)


def _digest(value) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _messages(raw, role, place):
    return read_messages([{"role": role, "content": raw}] if isinstance(raw, str) else raw, place)
