"""Which format a log has, by its content: each format is asked in turn."""

from pathlib import Path

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, first_few, option
from lib.outcomes.files import SPREADSHEETS
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.formats import module_of
from lib.outcomes.importers.heads import Head, read_head

_OF_FILES = (
    *("lm_eval", "verifiers", "human_eval", "evalplus", "inspect", "tau", "bfcl"),
    *("lists", "table"),  # recognised by fewer fields than the others
)
OF_FOLDERS = ("collection", "bfcl", "lm_eval", "verifiers", "tau", "inspect")
"""Formats of which a folder may be a log."""

_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".eval", *SPREADSHEETS)


def detect_format(path: str | Path) -> str:
    """The format of a file or folder: a key of `FORMATS`.

    Raises OutcomesError, naming what is there, if it is a log of no format or of several.
    """
    path = Path(path)
    if path.is_dir():
        return _of_folder(path)
    head = read_head(path)
    for format in _OF_FILES:
        if module_of(format).matches(head):
            return format
    raise _unknown(head)


def _of_folder(path) -> str:
    found = {format: module_of(format).files_in(path) for format in OF_FOLDERS}
    found = {format: files for format, files in found.items() if files}
    if len(found) > 1:
        found.pop("inspect", None)  # Inspect's names of files are the least specific
    if len(found) == 1:
        return next(iter(found))
    if found:
        logs = [f"{name} ({first_few([str(f) for f in files])})" for name, files in found.items()]
        problem = f"the folder has logs of {' and '.join(logs)}"
    else:
        single = [str(file) for file in files_below(path, "*") if _may_be_log(file)]
        hint = f"some may be logs by themselves: {first_few(single)}" if single else "none a log"
        problem = f"no tool known here writes such a folder; of its files, {hint}"
    raise OutcomesError(
        f"{path}: {problem}. Name a file in it, or the format of the folder, one of "
        f"{', '.join(OF_FOLDERS)}: {option('format', next(iter(found or OF_FOLDERS)))}."
    )


def _may_be_log(file) -> bool:
    hidden = file.name.startswith((".", "_"))
    return not hidden and contents.suffix(file) in _SUFFIXES


def _unknown(head: Head) -> OutcomesError:
    got = "a list of objects" if head.is_list else "objects"
    fields = ", ".join(map(repr, list(head.record)[:12])) or "no fields"
    lists = module_of("lists").fields_of_verdicts(head.record)
    verdicts = f" For a list of verdicts per task, {option('flags', lists[0])}." if lists else ""
    return OutcomesError(
        f"{head.path}: unknown format; got {got} with {fields}. Name the format, such as "
        f"{option('format', 'inspect')}, or the columns of a table: "
        f'`columns={{"task": "...", "passed": "..."}}`.{verdicts}'
    )
