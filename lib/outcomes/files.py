"""Tables of outcomes from and to files, and `datasets.Dataset`."""

import csv
import gzip
import itertools
import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from lib.outcomes.table import FIELDS, OutcomesError, aside, validate, warn

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")


def read(
    path: str | Path, *, columns: dict[str, str] | None = None, **defaults: str
) -> pd.DataFrame:
    """Read a file of outcomes into a valid table.

    Rows may hold attempts (`task`, `passed`, and `attempt`), one task's attempts as a list
    (`task_id`, `pass_flags`), counts (`task_id`, `n`, `c`), or a histogram (`tasks`, `n`, `c`, no
    task). The arm `rl` is read as `post`.
    Text may be separated by commas, semicolons or tabs, as the header is.
    columns: our names to those of the file, {"task": "Problem"}, where they differ. A column that
    has such a name without being meant is carried along under "n (in the file)".
    defaults: `benchmark`, `pair` or `arm` for files that do not say; a column in the file wins.
    Raises OutcomesError naming file, line and column. Warns, with OutcomesWarning, of a torn last
    line (dropped), of repeated attempts (the last one wins), and of a guessed attempt number.
    """
    path = Path(path)
    suffix = next((s for s in SUFFIXES if path.name.endswith(s)), None)
    if suffix is None:
        raise OutcomesError(f"{path}: unknown kind of file; expected one of {', '.join(SUFFIXES)}.")
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "no such file"
        raise OutcomesError(f"{path}: {found}; expected a file of outcomes.")
    if path.stat().st_size == 0:
        raise OutcomesError(f"{path}: the file is empty; expected rows of outcomes.")
    if suffix == ".parquet":
        table = _read_parquet(path)
        where = [f"row {i}" for i in range(1, len(table) + 1)]
    else:
        rows, lines = _read_lines(path, _json_rows if ".jsonl" in suffix else _csv_rows)
        _check_fields(rows, lines, columns or {}, path)
        table = pd.DataFrame(rows, dtype=object)
        where = [f"line {i}" for i in lines]
    if table.empty:
        raise OutcomesError(f"{path}: no rows; expected at least one outcome.")
    table = _renamed(table, columns or {}, path)
    return validate(table, source=str(path), where=where, **defaults)


def _renamed(table, columns, path) -> pd.DataFrame:
    absent = [theirs for theirs in columns.values() if theirs not in table]
    if absent:
        raise OutcomesError(
            f"{path}: no column {absent[0]!r}; it has {', '.join(map(repr, table.columns))}."
        )
    meant = {theirs: ours for ours, theirs in columns.items()}
    stray = aside(set(columns), table) if columns else []
    strays = {name: f"{name} (in the file)" for name in stray if name not in meant}
    return table.rename(columns=strays | meant)


def _check_fields(rows, lines, columns, path) -> None:
    """Refuse rows that are unlike the first in a field that counts: it was renamed or lost."""
    names = FIELDS | set(columns.values())
    first = {name for name in rows[0] if name in names} if rows else set()
    for row, line in zip(rows, lines, strict=True):
        here = row.keys() & names
        if here != first:
            name = sorted(here ^ first)[0]
            there, lacking = (line, lines[0]) if name in here else (lines[0], line)
            raise OutcomesError(
                f"{path}, line {lacking}: no {name!r}, and line {there} has it; expected it in all "
                "rows or in none. Is it misspelled? A missing outcome is null."
            )


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a valid table in the format of its suffix; an older file stays until all is written."""
    path, table = Path(path).resolve(), validate(table)  # a link stays one
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.name.endswith(".parquet"):
            table.to_parquet(part, index=False)
        elif path.name.endswith(SUFFIXES):
            plain = path.name.removesuffix(".gz")
            mark = "\t" if plain.endswith(".tsv") else ","
            text = table.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC, sep=mark)
            if plain.endswith(".jsonl"):
                text = table.to_json(orient="records", lines=True)
            content = text.encode("utf-8")
            # No name and no time in the header: the same table is the same bytes.
            part.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
        else:
            raise OutcomesError(f"{path}: expected one of {', '.join(SUFFIXES)}.")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def to_dataset(table: pd.DataFrame):
    """The table as a `datasets.Dataset`."""
    from datasets import Dataset

    return Dataset.from_pandas(validate(table), preserve_index=False)


def from_dataset(dataset, **defaults: str) -> pd.DataFrame:
    """A valid table from a `datasets.Dataset` with columns as `read` understands them."""
    from datasets import ClassLabel

    table = dataset.to_pandas()
    for column, feature in dataset.features.items():
        if isinstance(feature, ClassLabel):  # stored as codes; the names are what was meant
            table[column] = [None if pd.isna(v) else feature.int2str(int(v)) for v in table[column]]
    return validate(table, source="dataset", **defaults)


def _read_parquet(path):
    import pyarrow

    try:
        return pd.read_parquet(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise OutcomesError(
            f"{path}: not a Parquet file ({error}). Rename it to what it holds, or write it again."
        ) from error


def _read_lines(path, parse):
    """All rows of a text file with their line numbers."""
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            parsed = list(parse(path, file))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OutcomesError(
            f"{path}: not a whole gzip file ({error}). Drop .gz from the name if it is plain text, "
            "or fetch it again if it was cut short."
        ) from error
    return [row for _, row in parsed], [line for line, _ in parsed]


def _json_rows(path, file) -> Iterator[tuple[int, dict]]:
    torn = None
    for number, raw in enumerate(file, 1):
        if not raw.strip():
            continue
        if torn:
            raise torn
        try:
            row = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_object)
            if not isinstance(row, dict):
                raise ValueError("not an object")
            if rb"\ud" in raw.lower():  # half a surrogate pair is no text; no file could hold it
                json.dumps(row, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            torn = OutcomesError(
                f"{path}, line {number}: expected one JSON object a line, got {_start(raw)} "
                f"({error}). Mend or delete that line."
            )
            if number == 1 or not _looks_torn(raw, error):
                raise torn from error
            continue
        yield number, row
    if torn:
        _warn_of_torn(path)


def _object(pairs):
    """A JSON object as a dict; one that says a thing twice is refused."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return row


def _looks_torn(raw, error) -> bool:
    """Whether a line stops in the middle, rather than being whole and wrong."""
    if not raw.endswith(b"\n"):
        return True
    unfinished = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    )
    return unfinished


def _csv_rows(path, file) -> Iterator[tuple[int, dict]]:
    lines = _Lines(path, file)
    csv.field_size_limit(2**31 - 1)  # a reason may be a long text
    header, trouble, good = None, None, 0
    try:
        reader = csv.reader(lines, strict=True, delimiter=lines.delimiter())
        header = next(reader, [])
        doubled = [name for name in header if header.count(name) > 1]
        if doubled:
            raise OutcomesError(f"{path}, line 1: column {doubled[0]!r} is there twice; drop one.")
        good = reader.line_num
        for fields in reader:
            if trouble:
                raise trouble
            if len(fields) == len(header):
                good = reader.line_num
                yield good, dict(zip(header, fields, strict=True))
            elif fields:
                trouble = OutcomesError(
                    f"{path}, line {reader.line_num}: {len(fields)} fields where the header has "
                    f"{len(header)} ({','.join(header)}). Mend or delete that line."
                )
                if len(fields) > len(header):
                    raise trouble
    except (csv.Error, UnicodeDecodeError) as error:
        # A quote or a character cut off by the end of the file, not one that swallowed many lines.
        if not (good and lines.number == good + 1 and not lines.last.endswith(b"\n")):
            raise OutcomesError(
                f"{path}, line {lines.number}: expected CSV in UTF-8, got {_start(lines.last)} "
                f"({error}). Is the file what its name says?"
            ) from error
        trouble = error
    if trouble:
        _warn_of_torn(path)
    elif not lines.last.endswith(b"\n"):
        warn(
            f"{path}: the last line does not end with a line break; if the file was cut short, its "
            "last number may be, too."
        )


class _Lines:
    """The lines of a file as text, remembering where it is for messages."""

    def __init__(self, path, file):
        self.path, self.file, self.number, self.last = path, file, 0, b""
        self.first = file.readline()

    def delimiter(self) -> str:
        """What separates the names of the header: the commonest mark outside of quotes."""
        header = re.sub(rb'"[^"]*"', b"", self.first)
        return max(",;\t", key=lambda mark: header.count(mark.encode()))

    def __iter__(self):
        for line in itertools.chain([self.first] if self.first else [], self.file):
            self.number, self.last = self.number + 1, line
            yield self.last.decode("utf-8-sig" if self.number == 1 else "utf-8")


def _warn_of_torn(path) -> None:
    warn(f"{path}: the last line is torn, as after a kill, and was dropped.")


def _start(raw: bytes) -> str:
    return repr(raw.strip()[:60].decode("utf-8", "backslashreplace"))
