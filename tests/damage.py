"""Damage done to logs, and what comes of it: for tests/outcomes/importers and the bench."""

import json
import shutil
import warnings
import zipfile

from lib import ROOT, outcomes
from lib.outcomes import importers
from lib.outcomes.importers.archive import Archive

EXAMPLES = ROOT / "data" / "examples"

LOGS = {
    "lm_eval/base": {},
    "lm_eval/two_filters": {"filter": "strict"},
    "inspect/base.eval": {},
    "inspect/two_scorers.json": {"scorer": "match"},
    "human_eval/base.jsonl_results.jsonl": {},
    "tau2/base.json": {},
    "bfcl/base": {},
    "evalplus/base_eval_results.json": {"tests": "plus"},
    "verifiers/base": {},
    "lists/base.jsonl": {},
    "base.jsonl": {},
}
"""Example logs and what to choose in each."""


_ROWS = ("drop", "double", "shuffle", "rerun", "empty")
"""Damage that leaves valid rows: the report must show it if the number of rows changes."""

_BEYOND = (10**400, float("nan"), "\ud800")
"""Values of JSON that no table can hold."""


def read(path, options, format):
    """The sorted rows of a log, and its report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", outcomes.OutcomesWarning)
        imported = importers.load(path, format=format, **options)
    rows = imported.outcomes.astype(str).to_dict("records")
    return sorted(json.dumps(row, sort_keys=True) for row in rows), imported.report


def signs_of_damage(report, *, counts):
    """The parts of a report that show damage; with `counts`, also the numbers of rows."""
    parts = [report.missing, report.duplicates, dict(report.skipped), report.notes, report.scorer]
    parts += [report.unequal, report.tried, report.untried]
    return [*parts, report.tasks, report.attempts] if counts else parts


def outcome_of(rng, folder, log):
    """Damage a copy of a log and read it. Returns (kind of damage, result, details).

    Results: "exact" is the same table; "error" a refusal that names the file; "told" another table
    and a report that differs; "silent" another table and the same report; "crash" any other error.
    """
    source = EXAMPLES / log
    copy = folder / source.name
    if source.is_dir():
        shutil.copytree(source, copy)
    else:
        shutil.copy(source, copy)
    format = importers.detect_format(source)
    before, report_before = read(source, LOGS[log], format)
    files = sorted(p for p in copy.rglob("*") if p.is_file()) if copy.is_dir() else [copy]
    file = rng.choice(files)
    kinds = ("tear", "rename", "rename", "retype", "retype", "beyond", "spoil", "truncate", *_ROWS)
    name = rng.choice(kinds)
    what = globals()[f"_{name}"](rng, file)
    try:
        after, report_after = read(copy, LOGS[log], format)
    except outcomes.OutcomesError as error:
        named = copy.name in str(error) or file.name in str(error)
        return name, "error" if named else "silent", f"{what}: {error}"
    except Exception as error:
        return name, "crash", f"{file.name}, {what}: {error!r}"
    if name == "shuffle":  # where a log has no numbers of attempts, they are those of its rows
        before, after = (sorted(map(_unnumbered, rows)) for rows in (before, after))
    if after == before:
        return name, "exact", what
    counts = name in ("truncate", *_ROWS)
    before, after = (
        signs_of_damage(report, counts=counts) for report in (report_before, report_after)
    )
    return name, "told" if before != after else "silent", f"{file.name}, {what}"


def _unnumbered(row):
    return json.dumps({k: v for k, v in json.loads(row).items() if k != "attempt"})


# --- the damage -----------------------------------------------------------------------------------


def _tear(rng, file):
    """Take some bytes out of the middle."""
    raw = file.read_bytes()
    start = rng.randrange(len(raw))
    length = rng.randrange(1, 40)
    file.write_bytes(raw[:start] + raw[start + length :])
    return f"{length} bytes at {start} taken out: {raw[start : start + length]!r}"


def _spoil(rng, file):
    raw = bytearray(file.read_bytes())
    at = rng.randrange(len(raw))
    raw[at] = 0xFF
    file.write_bytes(raw)
    return f"byte {at} is 0xff"


def _truncate(rng, file):
    raw = file.read_bytes()
    length = rng.randrange(1, len(raw))
    file.write_bytes(raw[:length])
    return f"cut after {length} bytes"


def _rename(rng, file):
    def change(record):
        holder, key = _some_item(rng, record)
        items = [(f"{k}_x" if k == key else k, v) for k, v in holder.items()]
        holder.clear()
        holder.update(items)
        return f"{key!r} renamed"

    return _in_records(rng, file, change)


def _retype(rng, file):
    def change(record):
        holder, key = _some_item(rng, record)
        others = {str: 7, bool: "x", int: "x", float: "x", list: {}, dict: [], type(None): "x"}
        value = holder[key]
        holder[key] = rng.choice([others[type(value)], None if value is not None else 7])
        return f"{key!r} from {value!r:.60} to {holder[key]!r}"

    return _in_records(rng, file, change)


def _beyond(rng, file):
    def change(record):
        holder, key = _some_item(rng, record)
        holder[key] = rng.choice(_BEYOND)
        return f"{key!r} to {holder[key]!r:.20}"

    return _in_records(rng, file, change)


def _rerun(rng, file):
    """A row of a shorter, later run at the end."""
    return _in_rows(rng, file, lambda rows, at: [*rows, _resized(rows[at], -1)])


def _empty(rng, file):
    """No attempts where there were some."""

    def change(rows, at):
        return [*rows[:at], _resized(rows[at], 0), *rows[at + 1 :]] if _lists(rows[at]) else []

    return _in_rows(rng, file, change)


def _lists(row):
    return isinstance(row, str) and row.startswith("{") and "[" in row


def _resized(row, end):
    """A line of JSON with its lists of attempts cut; another kind of row as it is."""
    if not _lists(row):
        return row
    record = json.loads(row)
    for name, value in record.items():
        if name in ("resps", "filtered_resps") and isinstance(value[0], list):
            record[name] = [value[0][:end]]
        elif isinstance(value, list) and name in ("generations", "is_correct", "resps"):
            record[name] = value[:end]
    if end and "target" in record and "exact_match" in record:
        kept = record["filtered_resps"][0]
        if isinstance(kept, list):
            record["exact_match"] = kept.count(record["target"]) / len(kept)
    return json.dumps(record)


def _drop(rng, file):
    return _in_rows(rng, file, lambda rows, at: rows[:at] + rows[at + 1 :])


def _double(rng, file):
    return _in_rows(rng, file, lambda rows, at: [*rows, rows[at]])


def _shuffle(rng, file):
    return _in_rows(rng, file, lambda rows, at: rng.sample(rows, len(rows)))


def _some_item(rng, record):
    """A random field of a record, those near its top more often."""
    while True:
        key = rng.choice(list(record))
        inner = [v for v in _inside(record[key]) if v]
        if not inner or rng.random() < 0.6:
            return record, key
        record = rng.choice(inner)


def _inside(value):
    if isinstance(value, dict):
        return [value]
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _in_records(rng, file, change):
    """Change one record of a file: a line, a member, the document."""
    if file.suffix == ".eval":
        members = _members(file)
        name = rng.choice([n for n in members if n.startswith("samples/") or n == "header.json"])
        record = json.loads(members[name])
        what = change(record)
        _write_members(file, members | {name: json.dumps(record).encode()})
        return f"{name}: {what}"
    text = file.read_text()
    rows = text.splitlines()
    try:
        record = json.loads(text)
        rows, at = [record], 0
    except ValueError:
        at = rng.randrange(len(rows))
        record = json.loads(rows[at])
    what = change(record)
    rows[at] = json.dumps(record)
    file.write_text("\n".join(rows) + "\n")
    return f"row {at}: {what}"


def _in_rows(rng, file, change):
    """Change which rows there are: lines, members that are samples, simulations, attempts."""
    if file.suffix == ".eval":
        members = _members(file)
        samples = [name for name in members if name.startswith("samples/")]
        kept = change(samples, rng.randrange(len(samples)))
        _write_members(file, {n: members[n] for n in [*kept, *set(members).difference(samples)]})
        return f"{len(kept)} of {len(samples)} samples"
    text = file.read_text()
    try:
        document = json.loads(text)
    except ValueError:
        rows = text.splitlines()
        kept = change(rows, rng.randrange(len(rows)))
        file.write_text("\n".join(kept) + "\n")
        return f"{len(kept)} of {len(rows)} lines"
    if not isinstance(document, dict):
        return "nothing"
    lists = [document[n] for n in ("simulations", "samples") if n in document]
    lists = lists or list(document["eval"].values()) if "eval" in document else lists
    if lists:
        rows = rng.choice(lists)
        before = len(rows)
        rows[:] = change(rows, rng.randrange(len(rows)))
        file.write_text(json.dumps(document))
        return f"{len(rows)} of {before} rows"
    return "nothing"


def _members(file):
    with zipfile.ZipFile(file) as archive:
        return {
            info.filename: Archive(file, archive).read(info.filename) for info in archive.infolist()
        }


def _write_members(file, members):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
