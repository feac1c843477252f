"""Which format a log has, from its content."""

import json
from pathlib import Path

from lib.outcomes import OutcomesError, contents
from lib.outcomes.files import SHEETS
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.formats import collection
from lib.outcomes.importers.formats.inspect_log import logs_below
from lib.outcomes.importers.formats.tau import kept_apart
from lib.outcomes.importers.formats.verdict_lists import is_lists, like_verdicts
from lib.outcomes.importers.records import json_document, parsed
from lib.outcomes.values import shown
from lib.outcomes.wording import option, shortened

_ROWS = {
    "lm_eval": {"doc_id", "resps", "filtered_resps"},
    "verifiers": {"example_id", "reward"},
    "human_eval": {"task_id", "completion", "result", "passed"},
}
_DOCUMENTS = {
    "tau": {"simulations"},
    "evalplus": {"eval", "hash"},
    "inspect": {"eval", "samples"},
}
_TABLES = ({"passed"}, {"pass_flags"}, {"n", "c"}, {"rollouts", "successes"})
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".eval", *SHEETS)
_IN_FOLDERS = {
    "collection": collection.PATTERN,
    "bfcl": "BFCL_v*_result.json",
    "lm_eval": "samples_*.jsonl*",
    "verifiers": "results.jsonl",
}


def detect_format(path: str | Path) -> str:
    """The name of the format of a file or folder: a key of `FORMATS`.

    Raises OutcomesError, with what was found, where it is none.
    """
    path = Path(path)
    if path.is_dir():
        return _of_folder(path)
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return "lists" if is_lists(_first_of_parquet(path)) else "table"
    suffix = contents.suffix(path)
    if start == b"PK\x03\x04" and suffix not in SHEETS:
        return "inspect"
    if suffix in (".csv", ".tsv", *SHEETS):
        return "table"
    if not start:
        raise OutcomesError(f"{path}: the file is empty; expected a log.")
    line = _first_line(path)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None  # a document over many lines, or none at all
        if suffix in (".jsonl", ".ndjson"):
            parsed(line, f"{path}, line 1")
        if not line.lstrip().startswith((b"{", b"[")):
            raise OutcomesError(
                f"{path}: no format known here: it begins with {shown(line[:60])[1:]}. Expected "
                "JSON or JSON lines, a Parquet file, an .eval archive, or a table whose name ends "
                "in .csv or .tsv."
            ) from None
    if not isinstance(row, dict) or _DOCUMENTS["evalplus"] <= set(row):
        row = json_document(path)
    return _of_content(path, row)


def _of_folder(path) -> str:
    found = {name: files_below(path, pattern) for name, pattern in _IN_FOLDERS.items()}
    found = {name: files for name, files in found.items() if files}
    if kept_apart(path):
        found["tau"] = [path / "results.json"]
    if not found and logs_below(path):
        return "inspect"
    if len(found) == 1:
        return next(iter(found))
    formats = f"{', '.join(_IN_FOLDERS)}, tau, inspect"
    if found:
        of = [f"{name} ({shortened([str(f) for f in files])})" for name, files in found.items()]
        said = f"the folder has logs of {' and '.join(of)}"
    else:
        single = [str(file) for file in files_below(path, "*") if _could_be_read(file)]
        said = f"which could be logs by themselves: {shortened(single)}" if single else "none known"
        said = f"the folder is no log of a tool that writes folders; it holds files, {said}"
    raise OutcomesError(
        f"{path}: {said}. Name a file in it, or say which of {formats} the folder is: "
        f"{option('format', next(iter(found or _IN_FOLDERS)))}."
    )


def _could_be_read(file) -> bool:
    hidden = file.name.startswith((".", "_"))
    return not hidden and contents.suffix(file) in _SUFFIXES


def _of_content(path, content) -> str:
    if isinstance(content, list):
        first = content[0] if content and isinstance(content[0], dict) else {}
        if {"task_id", "trial", "reward"} <= set(first):
            return "tau"
        if is_lists(first):
            return "lists"
        if _is_table(first):
            return "table"
        raise _unknown(path, "a list of objects", first)
    for kinds in (_DOCUMENTS, _ROWS):
        for name, keys in kinds.items():
            if keys <= set(content):
                return name
    if path.name == "results.json" and kept_apart(path):
        return "tau"
    if {"id", "result"} <= set(content) or {"accuracy", "correct_count"} <= set(content):
        raise OutcomesError(
            f"{path}: one file of BFCL; give the folder that holds its result and score folders."
        )
    if is_lists(content):
        return "lists"
    if _is_table(content):
        return "table"
    raise _unknown(path, "objects", content)


def _is_table(row) -> bool:
    names = {name.strip().casefold() for name in row}
    return any(keys <= names for keys in _TABLES)


def _unknown(path, found, row) -> OutcomesError:
    lists = like_verdicts(row)
    verdicts = f" For a list of verdicts a task: {option('flags', lists[0])}." if lists else ""
    return OutcomesError(
        f"{path}: no format known here: {found} with {_keys(row)}. Name it: "
        f"{option('format', 'inspect')}; or, for a table, its columns: "
        'columns={"task": "...", "passed": "..."} (--column task=... --column passed=...).'
        f"{verdicts}"
    )


def _keys(row) -> str:
    return ", ".join(map(repr, list(row)[:12])) or "nothing"


def _first_line(path) -> bytes:
    for _, line in contents.lines(path):
        if line.strip():
            return line.removeprefix(b"\xef\xbb\xbf")
    raise OutcomesError(f"{path}: the file is empty; expected a log.")


def _first_of_parquet(path) -> dict:
    with contents.parquet(path) as file:
        batch = next(file.iter_batches(batch_size=1), None)
        return batch.to_pylist()[0] if batch is not None and len(batch) else {}
