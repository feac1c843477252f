"""Who & When: 184 failed logs of several agents, each with the step that people found decisive.

Two splits: in the 126 of "Algorithm-Generated" agents talk for 5 to 10 steps, in the 58 of
"Hand-Crafted" an orchestrator leads others for 5 to 130. Zhang et al., "Which Agent Causes Task
Failures and When?", arXiv 2505.00212 (MIT). The logs are not part of this project.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lib.trajectory import Message, Rollout

SPLITS = ("Algorithm-Generated", "Hand-Crafted")


@dataclass(frozen=True)
class Log:
    """One failed log; question ids repeat, so split and file tell logs apart.

    speakers, texts: [steps], who said what; a text may be empty.
    agent, step: who was found to have made the decisive mistake, and at which step, from 0. The
    agent is not always the speaker of that step: the labels are kept as they are.
    """

    split: str
    file: str
    question: str
    speakers: tuple[str, ...]
    texts: tuple[str, ...]
    agent: str
    step: int


def read_logs(folder: str | Path, splits: Sequence[str] = SPLITS) -> list[Log]:
    """The logs of a folder that holds one folder of JSON files for each split, in file order.

    Raises FileNotFoundError where a split is not there, and ValueError for a file that is no log.
    """
    return [log for split in splits for log in _read_split(Path(folder), split)]


def _read_split(folder: Path, split: str) -> Iterator[Log]:
    paths = [path for path in (folder / split).glob("*.json") if path.stem.isdigit()]
    if not paths:
        raise FileNotFoundError(
            f"no logs in {folder / split}: expected 1.json, 2.json ... there, as the data set "
            "Kevin355/Who_and_When on the Hugging Face hub has them"
        )
    for path in sorted(paths, key=lambda path: int(path.stem)):
        try:
            yield _log(split, path.stem, json.loads(path.read_text(encoding="utf-8")))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: no log of Who & When ({error!r})") from error


def _log(split: str, file: str, raw) -> Log:
    history = raw["history"]
    step = int(raw["mistake_step"])  # a string in all files
    if not 0 <= step < len(history):
        raise ValueError(f"mistake_step is {step}, and there are {len(history)} steps")
    return Log(
        split=split,
        file=file,
        question=raw["question"],
        # The hand-crafted logs have the speaker as the role.
        speakers=tuple(one.get("name") or one["role"] for one in history),
        texts=tuple(one["content"] for one in history),
        agent=raw["mistake_agent"],
        step=step,
    )


def as_rollout(log: Log) -> Rollout:
    """The log as a failed rollout in which every step is an action, so that all can be scored.

    The question comes first, as the user's; message 1 + i is step i. Who speaks is told in brackets
    at its beginning, an empty step is nothing but that.
    """
    said = (f"[{who}] {text}" for who, text in zip(log.speakers, log.texts, strict=True))
    return Rollout(
        benchmark="whoandwhen",
        pair="given",
        arm=log.split,
        task=log.file,
        attempt=0,
        passed=False,
        reason="a failed log",
        messages=[Message("user", log.question), *(Message("assistant", one) for one in said)],
    )
