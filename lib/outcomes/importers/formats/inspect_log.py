"""Inspect: `.eval` archives and `.json` logs (checked against inspect-ai 0.3.285).

Inspect's own package is never used, so that a file is read alike with and without it.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, count, first_few, option, warn
from lib.outcomes.importers import archive
from lib.outcomes.importers.attempts import Attempt, Imported, as_outcomes
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.messages import read_messages
from lib.outcomes.importers.records import NONE, as_object, get, get_object, parsed
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose, error_measure, measures_errors, verdict

SAMPLE_FIELDS = frozenset(
    {
        *("id", "epoch", "uuid", "input", "choices", "target", "description", "metadata"),
        *("sandbox", "files", "setup", "messages", "output", "store", "events", "events_data"),
        *("timelines", "attachments", "scores", "error", "error_retries", "limit"),
        *("invalidation", "model_usage", "role_usage", "model_fallbacks", "turn_count"),
        *("started_at", "completed_at", "total_time", "working_time", "message_limit"),
        *("token_limit", "token_limit_type", "token_limit_usage", "time_limit"),
        *("transcript", "score"),  # which older versions wrote
    }
)
"""Fields of a sample. A field that is not among them may be a renamed `error` or `limit`."""

_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_VALUES = (str, int, float, bool, list, dict, NONE)
"""Types of a score's value. Null stands for NaN, which means that there is no score."""

_OLD_REASON = "unscored_reason"
"""Where older versions kept why there is no score: in the score's metadata."""

_TEXT_OF = {"error": "message", "invalidation": "reason", "limit": "type"}
"""Fields of a sample that tell of trouble, and the field of each that says what it was."""

_MOST_ABSENT = 10**6
"""The most planned attempts without a sample that are listed one by one."""


def matches(head: Head) -> bool:
    """Whether a file is an .eval archive or a JSON log."""
    return head.kind == "zip" or head.has("eval", "samples")


def files_in(folder: Path) -> list[Path]:
    """The logs below a folder, by the names that the tool gives them."""
    dated = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*_*_*.json"
    return sorted([*files_below(folder, "*.eval"), *files_below(folder, dated)])


def read_inspect(
    path: str | Path,
    *,
    scorer: str | None = None,
    threshold: float | None = None,
    ignore: str | Sequence[str] = (),
    **cell,
) -> Imported:
    """Read a log, or the only log of a folder: each epoch of a sample is an attempt at a task.

    scorer: the score that counts, if samples have several; "scorer/key" for a score whose value is
    a dictionary.  threshold: the lowest score of a success; needed unless scores are 0 and 1 ("P"
    is 0.5 and "N" is 0, as in the tool).  ignore: fields of samples, unknown to this reader, that
    do not affect outcomes: a list, or text separated by commas.
    An outcome is missing, with the reason, if the sample had an error, was invalidated, has no
    score (NaN or null), or was planned but is not in the log. A sample that hit a limit counts by
    its score, as in the tool, and the report notes how many did; without a score it is missing.
    Raises OutcomesError naming file and sample.
    """
    path = Path(path)
    if path.is_dir():
        path = _only(path)
    report = ImportReport("Inspect", [str(path)])
    report.succeed_from(threshold)
    if isinstance(ignore, str):
        ignore = ignore.split(",")
    with _opened(path, report) as (header, records):
        samples = [_sample(record, ignore) for record in records]
        cell.setdefault("benchmark", _heading(header, report, path))
        scores = [score for sample in samples for score in sample.values.items()]
        given = [name for name, value in scores if value is not None]
        names = given if scorer is None and given else [name for name, _ in scores]
        if not names:
            raise _nothing_scored(header, samples, path)
        scorer = choose(names, scorer, "scorer", "score", str(path))
        if measures_errors(scorer):
            raise error_measure(scorer, str(path))
        report.scorer = scorer
        rows = [*_rows(samples, scorer, report), *_absent(header, samples, report, path)]
        return as_outcomes(rows, report, **cell)


def _only(folder) -> Path:
    files = files_in(folder)
    if len(files) != 1:
        names = first_few([str(file) for file in files]) or "none"
        raise OutcomesError(
            f"{folder}: holds {count(len(files), 'Inspect log')} ({names}). Name one of them."
        )
    return files[0]


class _Record(NamedTuple):
    """A sample in a log: its place, the name of its member in an archive, and its reader."""

    place: str
    member: str | None
    read: Callable[[], dict]


@contextmanager
def _opened(path, report):
    """The header of a log, and a record of each sample, readable while the log is open."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"PK"
    if zipped:
        with archive.opened(path) as members:
            yield _unpacked(members, report)
    else:
        header = parsed(contents.document(path), str(path))
        samples = get(header, "samples", (list,), str(path))
        records = [
            _Record(f"{path}, sample {i}", None, lambda sample=sample: sample)
            for i, sample in enumerate(samples)
        ]
        yield header, records


class _Sample:
    """The parts of a sample that decide its outcome."""

    def __init__(self, record, place):
        self.place = place
        self.id = get(record, "id", (str, int), place)
        self.epoch = get(record, "epoch", (int,), place)
        if self.epoch < 1:
            raise OutcomesError(f"{place}: expected an epoch from 1 on, got {self.epoch}.")
        self.reason = _trouble(record, ("error", "invalidation"), place)
        self.limit = _trouble(record, ("limit",), place)
        scores = record.get("scores")
        if scores is None and record.get("score") is not None:  # older versions: a single score
            scores = {"score": record["score"]}
        if scores is not None:
            as_object(scores, f"{place}, 'scores'")
        self.values, self.why = {}, {}
        for name, score in (scores or {}).items():
            at = f"{place}, score {name!r}"
            value = get(score if isinstance(score, dict) else {}, "value", _VALUES, at)
            if isinstance(value, dict):
                self.values |= {f"{name}/{key}": inner for key, inner in value.items()}
            else:
                self.values[name] = None if value != value else value
            metadata = get_object(score, "metadata", at)
            self.why[name] = score.get("reason") or metadata.get(_OLD_REASON)
        unscored = not self.values and not {"scores", "score"} & set(record)
        if unscored and self.reason is None and self.limit is None:
            raise OutcomesError(
                f"{place}: no 'scores', and no 'error' or 'limit' that explains why."
            )

    def value(self, scorer):
        """The value that a scorer gave, None if it gave none, and the reason for that."""
        name = next((n for n in self.why if scorer == n or scorer.startswith(f"{n}/")), None)
        if scorer in self.values or name is None:
            return self.values.get(scorer), self.why.get(name)
        if self.values.get(name, 0) is None:  # none of the score's keys has a value
            return None, self.why[name]
        raise OutcomesError(
            f"{self.place}: no score {scorer!r}, which other samples have; its scores are "
            f"{', '.join(map(repr, self.values)) or 'none'}. Choose one that all samples have."
        )


def _sample(record: _Record, ignore) -> _Sample:
    """Read a sample without its messages, which are large and read again when needed."""
    place = record.place
    fields = as_object(record.read(), place)
    unknown = sorted(set(fields) - SAMPLE_FIELDS - set(ignore))
    if unknown:
        raise OutcomesError(
            f"{place}: unknown field {unknown[0]!r} (not in Inspect 0.3.285), which may affect the "
            f"outcome. If it does not, ignore it: {option('ignore', unknown[0])}."
        )
    sample = _Sample(fields, place)
    if record.member not in (None, f"samples/{sample.id}_epoch_{sample.epoch}.json"):
        raise OutcomesError(
            f"{place}: holds sample {sample.id!r} of epoch {sample.epoch}; expected the sample and "
            "epoch in the member's name."
        )
    sample.messages = lambda: read_messages(record.read().get("messages") or [], place)
    return sample


def _trouble(record, names, place) -> str | None:
    """The first of these fields that is not null, with its text."""
    for name in names:
        if record.get(name) is not None:
            trouble = as_object(record[name], f"{place}, {name!r}")
            return f"{name}: {str(trouble.get(_TEXT_OF[name]) or 'no reason given')[:80]}"
    return None


def _unpacked(members, report):
    names = members.names
    if members.repeated:
        report.note(f"{members.repeated} members of the archive are replaced by later ones")
    head = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if head is None:
        raise OutcomesError(
            f"{members.path}: no header.json in the archive; expected a log of Inspect."
        )

    def read(name):
        return parsed(members.read(name), f"{members.path}, {name}")

    records = []
    for name in names:
        if name.startswith("samples/") and name.endswith(".json"):
            records.append(_Record(f"{members.path}, {name}", name, partial(read, name)))
        elif not name.endswith(".json") or "/" not in name or name.startswith("_journal/"):
            continue
        else:
            report.skipped[f"member {name} of the archive is not a sample"] += 1
    return read(head), records


def _heading(header, report, path) -> str:
    """The task of a log, after its settings and status went to the report."""
    spec = get(header, "eval", (dict,), str(path))
    report.name_model(spec.get("model"))
    report.set(get_object(spec, "model_generate_config", f"{path}, eval"))
    report.set(get_object(get_object(header, "plan", str(path)), "config", f"{path}, plan"))
    status = header.get("status", "started")
    if status != "success":
        message = f"{path}: the run did not finish; its status is {status!r}"
        report.note(message)
        warn(message)
    if header.get("invalidated"):
        report.note("the log has invalidated samples")
    return get(spec, "task", (str,), f"{path}, eval")


def _nothing_scored(header, samples, path) -> OutcomesError:
    """The error for a log without any score: how its run ended, and why samples failed."""
    failed = [sample.reason for sample in samples if sample.reason]
    first = next(iter(failed), _trouble(header, ("error",), str(path)))
    return OutcomesError(
        f"{path}: no sample has a score; the run's status is {header.get('status', 'started')!r}, "
        f"and {len(failed)} of {count(len(samples), 'sample')} failed"
        + (f", first with {first}" if first else "")
        + ". Expected a log with scores. Correct the cause and run it again, or score the log "
        "(inspect score)."
    )


def _rows(samples, scorer, report):
    limits = Counter()
    for sample in samples:
        passed, reason = None, sample.reason
        if reason is None:
            place = f"{sample.place}, score {scorer!r}"
            value, why = sample.value(scorer)
            score = _number(value, place)
            if math.isnan(score):
                reason = sample.limit or (f"not scored: {why}" if why else "not scored")
            else:
                passed = verdict(score, place, report)
                limits[sample.limit] += 1
        yield Attempt(sample.id, sample.epoch, passed, reason, sample.messages)
    del limits[None]
    for limit, n in limits.items():
        report.note(f"{count(n, 'sample')} with a score hit a {limit}; the score counts")


def _number(value, place) -> float:
    """A score's value as a number, by the tool's own rules."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        if value in _LETTERS or value.lower() in _WORDS:
            return _LETTERS.get(value, _WORDS.get(value.lower()))
        try:
            return float(value)
        except ValueError:
            pass
    elif isinstance(value, bool | int | float):
        return float(value)
    raise OutcomesError(
        f"{place}: expected C, I, P, N, a number, yes or no; got {str(value)[:60]!r}."
    )


def _absent(header, samples, report, path):
    """Attempts for the samples that the header plans and the log does not have."""
    spec, place = header["eval"], f"{path}, eval"
    dataset, config = get_object(spec, "dataset", place), get_object(spec, "config", place)
    ids = get(dataset, "sample_ids", (list, NONE), place) if "sample_ids" in dataset else None
    epochs = get(config, "epochs", (int, NONE), place) if "epochs" in config else None
    epochs = epochs or 1
    if ids is None:
        report.note("the header does not list its samples, so missing ones cannot be detected")
        return
    there = {(str(sample.id), sample.epoch) for sample in samples}
    known = {str(name) for name in ids}
    unknown = next((s for s in samples if str(s.id) not in known or s.epoch > epochs), None)
    if unknown:
        raise OutcomesError(
            f"{unknown.place}: sample {unknown.id!r} of epoch {unknown.epoch} is not among the "
            f"{len(ids)} samples and {epochs} epochs in the header."
        )
    absent = len(ids) * epochs - len(there)
    if absent > _MOST_ABSENT:
        raise OutcomesError(
            f"{place}: {absent} of {len(ids)} samples in {epochs} epochs are not in the log. "
            f"Expected at most {_MOST_ABSENT}. If the file is a part of a log, read the whole log."
        )
    for name in ids:
        for epoch in range(1, epochs + 1):
            if (str(name), epoch) not in there:
                yield Attempt(name, epoch, None, "not in the log")
