"""verifiers: `results.jsonl` beside `metadata.json` (fields as verifiers 0.1.14 writes them)."""

from pathlib import Path

from lib.importers.log import (
    NONE,
    Alike,
    Attempt,
    Imported,
    ImportReport,
    collect,
    get,
    json_document,
    json_lines,
    verdict,
)
from lib.importers.messages import read_messages


def read_verifiers(path: str | Path, *, threshold: float | None = None, **cell) -> Imported:
    """Read a results file, or the folder that holds it.

    threshold: the reward from which on a rollout is a success; None takes the `pass_threshold` of
    the metadata, which is what the tool's own pass@k uses, and 1 where there is none. A rollout
    with an error is missing, with the error's name, although the tool writes a reward for it.
    Raises OutcomesError naming file and line.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "results.jsonl"
    report = ImportReport("verifiers", [str(path)])
    metadata = path.with_name("metadata.json")
    if metadata.is_file():
        report.files.append(str(metadata))
        told = json_document(metadata)
        cell.setdefault("benchmark", get(told, "env_id", (str,), str(metadata)))
        report.set(told.get("sampling_args"))
        if threshold is None and told.get("pass_threshold") is not None:
            threshold = get(told, "pass_threshold", (int, float), str(metadata))
    report.succeed_from(1.0 if threshold is None else threshold)
    report.scorer = "reward"
    return collect(_rows(path, report), report, **cell)


def _rows(path, report):
    alike = Alike(
        "error", "is_completed", "is_truncated", "metrics", "stop_condition", typed=["example_id"]
    )
    for number, row in json_lines(path):
        place = f"{path}, line {number}"
        alike.check(row, place)
        task = get(row, "example_id", (int, str), place)
        reward = get(row, "reward", (int, float), place)
        prompt, completion = (row.get(name) for name in ("prompt", "completion"))

        def messages(prompt=prompt, completion=completion, place=place):
            return [*_messages(prompt, "user", place), *_messages(completion, "assistant", place)]

        error = get(row, "error", (dict, NONE), place) if "error" in row else None
        if error is not None:
            yield Attempt(task, None, None, f"error: {error.get('error')}"[:80], messages)
        elif reward != reward:
            yield Attempt(task, None, None, "the reward is NaN", messages)
        else:
            yield Attempt(task, None, verdict(reward, place, report), None, messages)


def _messages(raw, role, place):
    return read_messages([{"role": role, "content": raw}] if isinstance(raw, str) else raw, place)
