"""Tables of outcomes from and to files, and `datasets.Dataset`."""

import csv
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from lib.outcomes.table import OutcomesError, validate, warn

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")


def read(path: str | Path, **defaults: str) -> pd.DataFrame:
    """Read a file of outcomes into a valid table.

    Rows may hold attempts (`task`, `passed`, and `attempt`), one task's attempts as a list
    (`task_id`, `pass_flags`), counts (`task_id`, `n`, `c`), or a histogram (`tasks`, `n`, `c`, no
    task). The arm `rl` is read as `post`.
    defaults: `benchmark`, `pair` or `arm` for files that do not say; a column in the file wins.
    Raises OutcomesError naming file, line and column. Warns, with OutcomesWarning, of a torn last
    line (dropped), of repeated attempts (the last one wins), and of a guessed attempt number.
    """
    path = Path(path)
    suffix = next((s for s in SUFFIXES if path.name.endswith(s)), None)
    if suffix is None:
        raise OutcomesError(f"{path}: unknown kind of file; expected one of {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise OutcomesError(f"{path}: no such file.")
    if path.stat().st_size == 0:
        raise OutcomesError(f"{path}: the file is empty; expected rows of outcomes.")
    if suffix == ".parquet":
        table = _read_parquet(path)
        where = [f"row {i}" for i in range(1, len(table) + 1)]
    else:
        rows, lines = _read_lines(path, _json_rows if ".jsonl" in suffix else _csv_rows)
        table = pd.DataFrame(rows, dtype=object)
        where = [f"line {i}" for i in lines]
    if table.empty:
        raise OutcomesError(f"{path}: no rows; expected at least one outcome.")
    return validate(table, source=str(path), where=where, **defaults)


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a valid table in the format of its suffix; an older file stays until all is written."""
    path, table = Path(path), validate(table)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.name.endswith(".parquet"):
            table.to_parquet(part, index=False)
        elif path.name.endswith(SUFFIXES):
            plain = path.name.removesuffix(".gz")
            text = table.to_csv(index=False)
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
    return validate(dataset.to_pandas(), source="dataset", **defaults)


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
            row = json.loads(raw.decode("utf-8-sig"))
            if not isinstance(row, dict):
                raise ValueError("not an object")
            if rb"\ud" in raw.lower():  # half a surrogate pair is no text; no file could hold it
                json.dumps(row, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            torn = OutcomesError(
                f"{path}, line {number}: expected one JSON object a line, got {_start(raw)} "
                f"({error}). Mend or delete that line."
            )
            if number == 1:
                raise torn from error
            continue
        yield number, row
    if torn:
        warn(f"{path}: the last line is torn, as after a kill, and was dropped.")


def _csv_rows(path, file) -> Iterator[tuple[int, dict]]:
    last = ""

    def lines():
        nonlocal last
        for number, raw in enumerate(file, 1):
            try:
                last = raw.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise OutcomesError(
                    f"{path}, line {number}: expected UTF-8 text, got {_start(raw)} "
                    f"({error.reason}). Is the file what its name says?"
                ) from error
            yield last

    reader = csv.reader(lines(), strict=True)
    short = None
    try:
        header = next(reader, [])
        for fields in reader:
            if not fields:
                continue
            if short:
                raise short
            if len(fields) == len(header):
                yield reader.line_num, dict(zip(header, fields, strict=True))
                continue
            short = OutcomesError(
                f"{path}, line {reader.line_num}: {len(fields)} fields where the header has "
                f"{len(header)} ({','.join(header)}). Mend or delete that line."
            )
            if len(fields) > len(header):
                raise short
    except csv.Error as error:
        raise OutcomesError(f"{path}, line {reader.line_num}: not CSV ({error}).") from error
    if short:
        warn(f"{path}: the last line is torn, as after a kill, and was dropped.")
    elif not last.endswith("\n"):
        warn(
            f"{path}: the last line does not end with a line break; if the file was cut short, its "
            "last number may be, too."
        )


def _start(raw: bytes) -> str:
    return repr(raw.strip()[:60].decode("utf-8", "backslashreplace"))
