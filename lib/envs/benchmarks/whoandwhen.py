"""Who & When: 184 failed logs of several agents, each with the step that annotators call decisive.

Two splits: in the 126 of "Algorithm-Generated" agents talk for 5 to 10 steps, in the 58 of
"Hand-Crafted" an orchestrator leads others for 5 to 130. Zhang et al., "Which Agent Causes Task
Failures and When?", arXiv 2505.00212 (MIT). The logs are not part of this project.
"""

import json
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lib.trajectories.schema import Message, Rollout

SPLITS = ("Algorithm-Generated", "Hand-Crafted")


@dataclass(frozen=True)
class Log:
    """One failed log; question ids repeat, so split and file tell logs apart.

    speakers, texts: [steps], who said what; a text may be empty.
    agent, step: the agent that made the decisive mistake, and the step of it, from 0, by the
    annotators. The agent is not always the speaker of that step: labels are kept as they are.
    """

    split: str
    file: str
    question: str
    speakers: tuple[str, ...]
    texts: tuple[str, ...]
    agent: str
    step: int


def read_logs(folder: str | Path, needed: Sequence[str] = ()) -> list[Log]:
    """The logs of a folder that holds one folder of JSON files for each split, in file order.

    needed : splits that must be there. Without it, one split is enough.

    Raises FileNotFoundError if there are no logs, and ValueError, with the file and the field, for
    a file that is not a log.
    """
    folder = Path(folder)
    paths_of = {split: _numbered(folder / split) for split in SPLITS}
    lacking = [split for split in needed or SPLITS if not paths_of[split]]
    if lacking and (needed or len(lacking) == len(SPLITS)):
        raise FileNotFoundError(
            f"no logs in {folder / lacking[0]}: expected 1.json, 2.json ... there; give the folder "
            f"with {' and '.join(SPLITS)} in it, which the data set Kevin355/Who_and_When on the "
            "Hugging Face hub has"
        )
    return [_read_log(split, path) for split, paths in paths_of.items() for path in paths]


def _numbered(folder: Path) -> list[Path]:
    """The logs of a split: other files, such as an index, may lie beside them."""
    paths = [path for path in folder.glob("*.json") if path.stem.isdecimal()]
    return sorted(paths, key=lambda path: int(path.stem))


def _read_log(split: str, path: Path) -> Log:
    try:
        return _log(split, path.stem, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path}: not a log of Who & When: {error}; download the file again, or remove it"
        ) from error


def _log(split: str, file: str, raw) -> Log:
    if not isinstance(raw, dict):
        raise ValueError(f"expected an object, got {reprlib.repr(raw)}")
    history = raw.get("history")
    if not isinstance(history, list) or not history:
        raise ValueError(f"history: expected a list of messages, got {reprlib.repr(history)}")
    for number, message in enumerate(history):
        if not isinstance(message, dict):
            got = reprlib.repr(message)
            raise ValueError(f"history[{number}]: expected an object, got {got}")
    return Log(
        split=split,
        file=file,
        question=_text(raw, "question"),
        # The hand-crafted logs have the speaker as the role.
        speakers=tuple(
            _text(message, "name" if message.get("name") else "role", f"history[{number}].")
            for number, message in enumerate(history)
        ),
        texts=tuple(
            _text(message, "content", f"history[{number}].")
            for number, message in enumerate(history)
        ),
        agent=_text(raw, "mistake_agent"),
        step=_step(raw.get("mistake_step"), len(history)),
    )


def _text(raw: dict, field: str, where: str = "") -> str:
    if not isinstance(raw.get(field), str):
        raise ValueError(f"{where}{field}: expected a text, got {reprlib.repr(raw.get(field))}")
    return raw[field]


def _step(value, steps: int) -> int:
    """The number of a step of the log; the files of the data set write it as digits in a string."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
    if digits or type(value) is int:
        value = int(value)
    if type(value) is not int or not 0 <= value < steps:
        raise ValueError(
            f"mistake_step: expected a whole number from 0 to {steps - 1}, one of the {steps} "
            f"steps, got {reprlib.repr(value)}"
        )
    return value


def as_rollout(log: Log) -> Rollout:
    """The log as a failed rollout in which every step is an action, so that all can be scored.

    The question comes first, as the user's; message 1 + i is step i. Its text begins with the
    speaker in brackets; an empty step has nothing else.
    """
    texts = (f"[{who}] {text}" for who, text in zip(log.speakers, log.texts, strict=True))
    return Rollout(
        benchmark="whoandwhen",
        pair="given",
        arm=log.split,
        task=log.file,
        attempt=0,
        passed=False,
        reason="a failed log",
        messages=[Message("user", log.question), *(Message("assistant", text) for text in texts)],
    )
