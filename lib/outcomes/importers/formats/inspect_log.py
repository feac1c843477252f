"""Inspect: `.eval` archives and `.json` logs (checked against inspect-ai 0.3.285).

Inspect's own package is not needed, and not used where it is there: one file has one reading.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lib.outcomes import OutcomesError, contents, warn
from lib.outcomes.importers import archive
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.messages import read_messages
from lib.outcomes.importers.plans import part
from lib.outcomes.importers.records import NONE, get, parsed
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import choose, error_measure, measures_errors, verdict
from lib.outcomes.wording import count, option, shortened

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
"""Fields of a sample. One that is not among them might be `error` or `limit` renamed."""

_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def read_inspect(
    path: str | Path,
    *,
    scorer: str | None = None,
    threshold: float | None = None,
    ignore: str | Sequence[str] = (),
    **cell,
) -> Imported:
    """Read a log, or the one log of a folder: a sample of an epoch is an attempt at its id's task.

    scorer: which score counts, where samples have several; "scorer/key" for one whose value is a
    dictionary. threshold: the score from which on an attempt is a success; needed where scores are
    neither 0 nor 1 ("P" is 0.5, "N" is 0, as in the tool).  ignore: fields of samples that this
    reader does not know and that do not matter, as a list, or as text with commas between.
    Samples that met an error, were invalidated, are not scored (NaN or null), or are not in the log
    although they were to be run, are missing, with the reason. A sample that hit a limit counts as
    it was scored, as in the tool, and the report tells how many did; without a score it is missing.
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
        told = [name for name, value in scores if value is not None]
        names = told if scorer is None and told else [name for name, _ in scores]
        if not names:
            raise _nothing_scored(header, samples, path)
        scorer = choose(names, scorer, "scorer", "score", str(path))
        if measures_errors(scorer):
            raise error_measure(scorer, str(path))
        report.scorer = scorer
        rows = [*_rows(samples, scorer, report), *_absent(header, samples, report, path)]
        return collect(rows, report, **cell)


def logs_below(folder: Path) -> list[Path]:
    """The logs of Inspect below a folder, by the names that the tool gives them."""
    dated = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*_*_*.json"
    return sorted([*files_below(folder, "*.eval"), *files_below(folder, dated)])


def _only(folder) -> Path:
    found = logs_below(folder)
    if len(found) != 1:
        listed = shortened([str(file) for file in found]) or "none"
        raise OutcomesError(
            f"{folder}: holds {count(len(found), 'Inspect log')}: name one ({listed})."
        )
    return found[0]


class _Record(NamedTuple):
    """Where a sample is, the name of its member of an archive, and what reads it."""

    place: str
    member: str | None
    read: Callable[[], dict]


@contextmanager
def _opened(path, report):
    """The header of a log, and a record of each sample; they can be read while it is open."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"PK"
    if zipped:
        with archive.opened(path) as members:
            yield _unpacked(members, report)
    else:
        header = parsed(contents.document(path), str(path))
        listed = get(header, "samples", (list,), str(path))
        places = (f"{path}, sample {i}" for i in range(len(listed)))
        yield (
            header,
            [
                _Record(place, None, lambda sample=sample: sample)
                for place, sample in zip(places, listed, strict=True)
            ],
        )


class _Sample:
    """What decides on an attempt, of all that a sample holds."""

    def __init__(self, record, place):
        self.place = place
        self.id = get(record, "id", (str, int), place)
        self.epoch = get(record, "epoch", (int,), place)
        if self.epoch < 1:
            raise OutcomesError(f"{place}: epoch {self.epoch}, and Inspect counts them from 1.")
        self.reason = _trouble(record, ("error", "invalidation"), place)
        self.limit = _trouble(record, ("limit",), place)
        scores = record.get("scores")
        if scores is None and record.get("score") is not None:  # one, in older versions
            scores = {"score": record["score"]}
        if scores is not None and type(scores) is not dict:
            raise OutcomesError(
                f"{place}, 'scores': got {type(scores).__name__}, expected an object."
            )
        self.values, self.why = {}, {}
        for name, score in (scores or {}).items():
            at = f"{place}, score {name!r}"
            value = get(score if isinstance(score, dict) else {}, "value", _VALUES, at)
            if isinstance(value, dict):
                self.values |= {f"{name}/{key}": inner for key, inner in value.items()}
            else:
                self.values[name] = None if value != value else value
            self.why[name] = score.get("reason") or part(score, "metadata", at).get(_OLD_REASON)
        unscored = not self.values and not {"scores", "score"} & set(record)
        if unscored and self.reason is None and self.limit is None:
            raise OutcomesError(
                f"{place}: no 'scores', and no 'error' or 'limit' that explains it."
            )

    def value(self, scorer):
        """The value that a scorer gave, None where it gave none, and why."""
        name = next((n for n in self.why if scorer == n or scorer.startswith(f"{n}/")), None)
        if scorer in self.values or name is None:
            return self.values.get(scorer), self.why.get(name)
        if self.values.get(name, 0) is None:  # so the tool says of all keys
            return None, self.why[name]
        raise OutcomesError(
            f"{self.place}: no score {scorer!r}, which other samples have; it has "
            f"{', '.join(map(repr, self.values)) or 'none'}. Choose one that all samples have."
        )


_VALUES = (str, int, float, bool, list, dict, NONE)
"""Types of a score's value; null was written for NaN, which says that there is no score."""

_OLD_REASON = "unscored_reason"
"""Where the metadata of a score told why there is none, before it had a field of its own."""


def _sample(told: _Record, ignore) -> _Sample:
    """What decides, of a sample; what is large in it, its messages, is read again when needed."""
    record, place = told.read(), told.place
    if not isinstance(record, dict):
        raise _not_an_object(place, record)
    unknown = sorted(set(record) - SAMPLE_FIELDS - set(ignore))
    if unknown:
        raise OutcomesError(
            f"{place}: field {unknown[0]!r} is none of a sample in Inspect 0.3.285, and might "
            f"decide on the outcome. If it does not, say so: {option('ignore', unknown[0])}."
        )
    sample = _Sample(record, place)
    if told.member not in (None, f"samples/{sample.id}_epoch_{sample.epoch}.json"):
        raise OutcomesError(
            f"{place}: holds sample {sample.id!r} of epoch {sample.epoch}, not what its name says."
        )
    sample.messages = lambda: read_messages(told.read().get("messages") or [], place)
    return sample


def _not_an_object(place, value) -> OutcomesError:
    return OutcomesError(f"{place}: got {type(value).__name__}, expected an object.")


def _trouble(record, names, place) -> str | None:
    """What a sample met, of the fields of these names, if it met any."""
    for name in names:
        told = record.get(name)
        if told is None:
            continue
        if not isinstance(told, dict):
            raise OutcomesError(
                f"{place}, {name!r}: got {type(told).__name__}, expected an object."
            )
        word = {"error": "message", "invalidation": "reason", "limit": "type"}[name]
        return f"{name}: {str(told.get(word) or 'no reason given')[:80]}"
    return None


def _unpacked(members, report):
    names = members.names
    if members.repeated:
        report.note(f"{members.repeated} members of the archive are replaced by later ones")
    head = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if head is None:
        raise OutcomesError(f"{members.path}: no header.json; expected a log of Inspect.")

    def read(name):
        return parsed(members.read(name), f"{members.path}, {name}")

    records = []
    for name in names:
        if name.startswith("samples/") and name.endswith(".json"):
            records.append(_Record(f"{members.path}, {name}", name, partial(read, name)))
        elif not name.endswith(".json") or "/" not in name or name.startswith("_journal/"):
            continue
        else:
            report.skipped[f"member {name} of the archive is no sample"] += 1
    return read(head), records


def _heading(header, report, path) -> str:
    spec = get(header, "eval", (dict,), str(path))
    report.set(part(spec, "model_generate_config", f"{path}, eval"))
    report.set(part(part(header, "plan", str(path)), "config", f"{path}, plan"))
    status = header.get("status", "started")
    if status != "success":
        said = f"{path}: the run's status is {status!r}: it did not come to its end"
        report.note(said)
        warn(said)
    if header.get("invalidated"):
        report.note("the log has invalidated samples")
    return get(spec, "task", (str,), f"{path}, eval")


def _nothing_scored(header, samples, path) -> OutcomesError:
    """The error for a log without any score: how its run ended, and what samples met."""
    failed = [sample.reason for sample in samples if sample.reason]
    said = _trouble(header, ("error",), str(path))
    first = next(iter(failed), said)
    return OutcomesError(
        f"{path}: no score of any sample; the run's status is {header.get('status', 'started')!r}, "
        f"and {len(failed)} of {count(len(samples), 'sample')} failed"
        + (f", first with {first}" if first else "")
        + ". Expected a log with scores: mend that and run it again, or score it (inspect score)."
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
    """A value of a score as the tool turns it into a number."""
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
        f"{place}: got {str(value)[:60]!r}, expected C, I, P, N, a number, or yes or no."
    )


_MOST_ABSENT = 10**6
"""Planned attempts without a sample that are still listed one by one; no run lacks as many."""


def _absent(header, samples, report, path):
    """Samples that were to be run, by the header, and are not in the log."""
    spec, place = header["eval"], f"{path}, eval"
    dataset, config = part(spec, "dataset", place), part(spec, "config", place)
    ids = get(dataset, "sample_ids", (list, NONE), place) if "sample_ids" in dataset else None
    epochs = get(config, "epochs", (int, NONE), place) if "epochs" in config else None
    epochs = epochs or 1
    if ids is None:
        report.note("the header does not list its samples; whether any lacks cannot be told")
        return
    there = {(str(sample.id), sample.epoch) for sample in samples}
    known = {str(name) for name in ids}
    unknown = next((s for s in samples if str(s.id) not in known or s.epoch > epochs), None)
    if unknown:
        raise OutcomesError(
            f"{unknown.place}: sample {unknown.id!r} of epoch {unknown.epoch} is none of the "
            f"{len(ids)} samples and {epochs} epochs that the header lists."
        )
    absent = len(ids) * epochs - len(there)
    if absent > _MOST_ABSENT:
        raise OutcomesError(
            f"{place}: plans {len(ids)} samples in {epochs} epochs, of which {absent} are not in "
            f"the log; expected no more than {_MOST_ABSENT}. Is the file a part of a log?"
        )
    for name in ids:
        for epoch in range(1, epochs + 1):
            if (str(name), epoch) not in there:
                yield Attempt(name, epoch, None, "not in the log")
