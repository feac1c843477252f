"""verifiers: `results.jsonl` beside `metadata.json` (fields as verifiers 0.1.14 writes them)."""

import hashlib
import json
from pathlib import Path

from lib.outcomes.errors import OutcomesError, count, warn
from lib.outcomes.importers.attempts import Attempt, Imported, as_outcomes
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.messages import read_messages
from lib.outcomes.importers.records import NONE, SameFields, get, parsed, placed_lines
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import verdict


def matches(head: Head) -> bool:
    """Whether a file is a results file of verifiers."""
    return head.has("example_id", "reward")


def files_in(folder: Path) -> list[Path]:
    """The results files below a folder."""
    return files_below(folder, "results.jsonl")


def read_verifiers(path: str | Path, *, threshold: float | None = None, **cell) -> Imported:
    """Read a results file, or the folder that holds one.

    threshold: the lowest reward of a success; None takes the `pass_threshold` of the metadata, as
    the tool's own pass@k does. Without either, rewards must be 0 or 1.
    A rollout with an error is a missing outcome, with the error's name as the reason, although the
    tool writes a reward for it. The report notes tasks with fewer or more rollouts than planned.
    Raises OutcomesError naming file and line, also if one `example_id` has two answers or tasks,
    and for a folder of several results files. Issues an OutcomesWarning if an `example_id` has
    several prompts, since some environments write a new prompt for each rollout.
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
        record = parsed(metadata.read_bytes(), place)
        cell.setdefault("benchmark", get(record, "env_id", (str,), place))
        report.name_model(record.get("model"))
        report.set(get(record, "sampling_args", (dict, NONE), place))
        trials, tasks = (
            get(record, name, (int,), place) for name in ("rollouts_per_example", "num_examples")
        )
        planned = trials, None if tasks == -1 else tasks  # -1: all tasks there are
        if threshold is None and record.get("pass_threshold") is not None:
            threshold = get(record, "pass_threshold", (int, float), place)
    report.succeed_from(threshold)
    report.scorer = "reward"
    rows = _rows(path, report, cell.get("benchmark") or "default")
    imported = as_outcomes(rows, report, **cell)
    if planned:
        report.note_unplanned(imported.outcomes, *planned)
    return imported


def _only(folder) -> Path:
    files = files_in(folder)
    if len(files) != 1:
        names = ", ".join(str(file.parent) for file in files[:6]) or "none"
        raise OutcomesError(
            f"{folder}: expected one results.jsonl below it, got {len(files)} ({names}). Name the "
            "folder of a single run for each arm."
        )
    return files[0]


def _rows(path, report, benchmark):
    examples, prompts = {}, {}
    fields = SameFields(
        "error", "is_completed", "is_truncated", "metrics", "stop_condition", typed=["example_id"]
    )
    for place, row in placed_lines(path):
        fields.check(row, place)
        task = get(row, "example_id", (int, str), place)
        reward = get(row, "reward", (int, float), place)
        prompt, completion = (row.get(name) for name in ("prompt", "completion"))
        document = tuple(_digest(row.get(name)) for name in ("task", "answer"))
        known, first = examples.setdefault(task, (document, place))
        if known != document:
            raise OutcomesError(
                f"{place}: the 'task' or 'answer' of example {task!r} differs from {first}. "
                "Expected one example for each example_id. If the file holds two logs, make a file "
                "of each."
            )
        report.documents[benchmark, str(task)] = None, document[-1]
        prompts.setdefault(task, set()).add(_digest(prompt))

        def messages(prompt=prompt, completion=completion, place=place):
            return [*_messages(prompt, "user", place), *_messages(completion, "assistant", place)]

        error = get(row, "error", (dict, str, NONE), place) if "error" in row else None
        if error not in (None, ""):  # older versions write text instead of an object
            name = error.get("error") if isinstance(error, dict) else error
            yield Attempt(task, None, None, f"error: {name}"[:80], messages)
        elif reward != reward:
            yield Attempt(task, None, None, "the reward is NaN", messages)
        else:
            passed = verdict(reward, f"{place}, 'reward'", report)
            yield Attempt(task, None, passed, None, messages)
    several = [task for task, digests in prompts.items() if len(digests) > 1]
    if several:
        message = (
            f"{path}: {count(len(several), 'example')} had unlike prompts (first {several[0]!r}); "
            "all rollouts of an example count as one task. That is right if the environment writes "
            "a new prompt for each rollout. If the file holds two logs, make a file of each."
        )
        report.note(message)
        warn(message)


def _digest(value) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _messages(raw, role, place):
    return read_messages([{"role": role, "content": raw}] if isinstance(raw, str) else raw, place)
