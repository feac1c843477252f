"""Tables of outcomes from and to files, and `datasets.Dataset`."""

import codecs
import csv
import gzip
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from lib.outcomes import contents
from lib.outcomes.table import CELL, FIELDS, OutcomesError, aside, kind, spelled, validate, warn
from lib.outcomes.values import as_passed, as_whole

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")
_OF_JSON = (".jsonl", ".ndjson", ".json")
SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
"""Kinds of files that are known and not read."""


def read(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    judge: Callable[[object, str], object] | None = None,
    **defaults: str,
) -> pd.DataFrame:
    """Read a file of outcomes into a valid table.

    Rows may hold attempts (`task`, `passed`, and `attempt`), one task's attempts as a list
    (`task_id`, `pass_flags`), counts (`task_id`, `n`, `c`), or a histogram (`tasks`, `n`, `c`, no
    task). The arm `rl` is read as `post`.
    Text may be separated by commas, semicolons or tabs, as the header is; names of columns may be
    in capitals or between blanks, and names of tasks and cells are read without those. A .json file
    may be JSON lines, or one list of objects.
    columns: our names to those of the file, {"task": "Problem"}, where they differ. A column that
    has such a name without being meant is carried along under "n (in the file)".
    judge: makes an outcome of a score in `passed` or `pass_flags`, and of what to call its place.
    defaults: `benchmark`, `pair` or `arm` for files that do not say; a column in the file wins.
    Raises OutcomesError naming file, line and column. Warns, with OutcomesWarning, of a torn last
    line (dropped), of repeated attempts (the last one wins), of a guessed attempt number, and of a
    row of counts that is the sum of all others, and of names that blanks alone told apart.
    """
    path = Path(path)
    suffix = contents.suffix(path)
    if suffix not in (".parquet", ".csv", ".tsv", *_OF_JSON):
        sheets = " Save the sheet as CSV and read that." if suffix in SHEETS else ""
        raise OutcomesError(
            f"{path}: unknown kind of file; expected one of {', '.join(SUFFIXES)}, or .json, "
            f".ndjson.{sheets}"
        )
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "no such file"
        raise OutcomesError(f"{path}: {found}; expected a file of outcomes.")
    if path.stat().st_size == 0:
        raise OutcomesError(f"{path}: the file is empty; expected rows of outcomes.")
    rows, where = [], None
    if suffix == ".parquet":
        table = _read_parquet(path)
    else:
        rows, where = _read_text(path, suffix)
        table = pd.DataFrame(rows, dtype=object)
    if table.empty:
        raise OutcomesError(f"{path}: no rows; expected at least one outcome.")
    _check_may_be_mapped(columns or {}, path)
    columns = {ours: _as_written(theirs, table) for ours, theirs in (columns or {}).items()}
    if rows:
        _check_fields(rows, where, {*columns.values(), *_that_count(table)}, path)
    has = list(table)
    table = _renamed(table, columns, path)
    called = {now: was for now, was in zip(table, has, strict=True) if now != was}
    if judge:
        _judge(table, judge, called, [f"{path}, {place}" for place in where or ()] or path)
    table = validate(table, source=str(path), where=where, called=called, **defaults)
    _doubt_sums(table, path)
    return table


def _check_may_be_mapped(columns, path) -> None:
    """Refuse a name of ours that there is not."""
    unknown = [ours for ours in columns if ours not in FIELDS | {"reason"}]
    if unknown:
        raise OutcomesError(
            f"{path}: {unknown[0]!r} is none of the names that a column may be given: "
            f"{', '.join(sorted(FIELDS | {'reason'}))}. Say OURS=THEIRS, as in "
            'columns={"task": "Problem"} (on the command line: --column task=Problem).'
        )


def _judge(table, judge, called, places) -> None:
    """Turn the scores of a table into outcomes, in place."""
    column = next((name for name in ("passed", "pass_flags") if name in table), None)
    if column is None:
        return  # which is refused, or counts what was judged already
    if not isinstance(places, list):
        places = [f"{places}, row {i}" for i in range(1, len(table) + 1)]
    about = f", column {called.get(column, column)!r}"
    made = []
    for value, place in zip(table[column], places, strict=True):
        if column == "pass_flags" and isinstance(value, list | np.ndarray):
            made.append([judge(one, place + about) for one in value])
        else:
            made.append(judge(value, place + about))
    table[column] = pd.Series(made, table.index, dtype=object)


def _doubt_sums(table, path) -> None:
    """Warn of a row of counts that is the sum of all others: a total, and no task."""
    if kind(table) != "counts":
        return
    for _, rows in table.groupby(CELL, sort=False):
        most = rows.loc[rows["n"].idxmax()]
        sums = all(2 * most[name] == rows[name].sum() for name in ("n", "c"))
        if sums and len(rows) > 2 and most["n"]:
            warn(
                f"{path}: the task {most['task']!r} has the n and c of all others together "
                f"({most['n']}, {most['c']}). If it is their total and no task, delete its row."
            )


def _renamed(table, columns, path) -> pd.DataFrame:
    has = list(table)
    table = table.rename(columns=spelled(table, keep=columns.values()))
    absent = [theirs for theirs in columns.values() if theirs not in table]
    if absent:
        raise OutcomesError(f"{path}: no column {absent[0]!r}; it has {', '.join(map(repr, has))}.")
    meant = {theirs: ours for ours, theirs in columns.items()}
    stray = aside(set(columns), table) if columns else []
    strays = {name: f"{name} (in the file)" for name in stray if name not in meant}
    return table.rename(columns=strays | meant)


def _as_written(name, has) -> str:
    """The column that a name means: that of it, or the only one but for capitals and blanks."""
    like = [one for one in has if str(one).strip().casefold() == name.strip().casefold()]
    return like[0] if name not in has and len(like) == 1 else name


def _that_count(table) -> set[str]:
    """The columns that decide how a row counts, however they are spelled."""
    return FIELDS | {name for name, ours in spelled(table).items() if ours in FIELDS}


def _check_fields(rows, where, names, path) -> None:
    """Refuse rows that are unlike the first in a field that counts: it was renamed or lost."""
    first = rows[0].keys() & names
    for row, place in zip(rows, where, strict=True):
        here = row.keys() & names
        if here != first:
            name = sorted(here ^ first)[0]
            there, lacking = (place, where[0]) if name in here else (where[0], place)
            raise OutcomesError(
                f"{path}, {lacking}: no {name!r}, and {there} has it; expected it in all rows or "
                "in none. Is it misspelled? A missing outcome is null."
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

    known = {pyarrow.bool_(): pd.BooleanDtype()}  # with missing ones, and no objects
    with contents.parquet(path) as file:
        # Without what pandas noted of the table: an index, that of a name too, is a column.
        table = file.read().to_pandas(ignore_metadata=True, types_mapper=known.get)
    unnamed = [name for name in table if re.fullmatch(r"__index_level_\d+__", str(name))]
    return table.drop(columns=unnamed)


def _read_text(path, suffix) -> tuple[list[dict], list[str]]:
    """All rows of a text file, and where each is."""
    if suffix == ".json" and contents.starts_with(path, b"["):
        rows = _json_list(path)
        return rows, [f"row {i}" for i in range(1, len(rows) + 1)]
    parsed = list((_json_rows if suffix in _OF_JSON else _csv_rows)(path))
    return [row for _, row in parsed], [f"line {number}" for number, _ in parsed]


def _json_list(path) -> list[dict]:
    raw = contents.document(path)
    try:
        rows = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=contents.json_object)
        odd = next((i for i, row in enumerate(rows, 1) if not isinstance(row, dict)), None)
        if odd is not None:
            raise ValueError(f"row {odd} is not an object")
        _check_text(raw, rows)
    except (ValueError, RecursionError) as error:
        raise OutcomesError(
            f"{path}: expected one list of JSON objects, got {_start(raw)} ({error}). Mend it, or "
            "fetch it again if it was cut short."
        ) from error
    return rows


def _json_rows(path) -> Iterator[tuple[int, dict]]:
    torn = None
    for number, raw in contents.lines(path):
        if not raw.strip():
            continue
        if torn:
            raise torn
        try:
            row = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=contents.json_object)
            if not isinstance(row, dict):
                raise ValueError("not an object")
            _check_text(raw, row)
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


def _check_text(raw, content) -> None:
    """Refuse half a surrogate pair, which is no text; no file could hold it."""
    if rb"\ud" in raw.lower():
        json.dumps(content, ensure_ascii=False).encode("utf-8")


def _looks_torn(raw, error) -> bool:
    """Whether a line stops in the middle, rather than being whole and wrong."""
    if not raw.endswith(b"\n"):
        return True
    unfinished = isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    )
    return unfinished


def _csv_rows(path) -> list[tuple[int, dict]]:
    lines, rows, suspects = _Lines(path), [], []
    csv.field_size_limit(contents.LONGEST_LINE)  # a reason may be a long text
    header, trouble, good = None, None, 0
    try:
        mark = lines.delimiter()
        reader = csv.reader(lines, strict=True, delimiter=mark)
        header = next(reader, [])
        doubled = [name for name in header if header.count(name) > 1]
        if doubled:
            raise OutcomesError(f"{path}, line 1: column {doubled[0]!r} is there twice; drop one.")
        good = reader.line_num
        for fields in reader:
            spanned, lines.since = lines.since, []
            if trouble:
                raise trouble
            if len(fields) == len(header):
                good = reader.line_num
                start = good - len(spanned) + 1
                like = _like_rows(start, spanned, len(fields), mark)
                if like and not lines.quotes_all():
                    suspects.append((start, good, like))
                rows.append((good, dict(zip(header, fields, strict=True))))
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
    _check_not_swallowed(path, rows, suspects)
    return rows


def _like_rows(start, spanned, size, mark) -> list[tuple[int, str, list[str]]]:
    """The lines within a field, with their numbers and parts, that have as many parts as a row.

    start: the line on which the row begins.  spanned: all its lines.
    """
    lines = enumerate((line.rstrip("\r\n") for line in spanned[1:]), start + 1)
    parts = [(number, line, line.split(mark)) for number, line in lines]
    return [one for one in parts if len(one[2]) == size]


def _check_not_swallowed(path, rows, suspects) -> None:
    """Refuse a row over several lines of which one is a row by itself: a stray quote swallowed it.

    A reason may well have lines and marks; by a stray quote only do they make as many fields as a
    row has, with a number, an outcome or a blank wherever the file has nothing else.
    suspects: (first line, last line, what `_like_rows` found) of each row over several lines.
    """
    judged = []
    for i, name in enumerate(rows[0][1] if suspects else ()):
        values = {row[name] for _, row in rows}
        if any(values) and all(map(_is_value, values)):
            judged.append(i)
    for start, end, lines in suspects:
        for number, line, inner in lines:
            if judged and all(_is_value(inner[i]) for i in judged):
                raise OutcomesError(
                    f"{path}, lines {start} to {end}: a field in quotes holds line breaks, and "
                    f"line {number}, which is in it, looks like a row: {_start(line.encode())}. "
                    "Expected quotes around a field or none in it; delete the quote at the start "
                    "of the field, or close it in its line."
                )


def _is_value(field) -> bool:
    """Whether a field is a number or an outcome, or blank as a missing one is."""
    return as_passed(field) is not None or as_whole(field) is not None


class _Lines:
    """The lines of a file as text, remembering where it is for messages.

    since: those read since it was last cleared.
    """

    def __init__(self, path):
        self.path, self.number, self.last, self.since = path, 0, b"", []
        self._lines = contents.lines(path)
        _, self.first = next(self._lines, (1, b""))

    def delimiter(self) -> str:
        """What separates the names of the header: the commonest mark outside of quotes."""
        header = re.sub(rb'"[^"]*"', b"", self.first)
        return max(",;\t", key=lambda mark: header.count(mark.encode()))

    def quotes_all(self) -> bool:
        """Whether the header is in quotes, as by a tool that doubles those in texts."""
        return self.first.removeprefix(codecs.BOM_UTF8).startswith(b'"')

    def __iter__(self):
        for number, line in itertools.chain([(1, self.first)] if self.first else [], self._lines):
            self.number, self.last = number, line
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if number > 1:
                self.since.append(text)
            yield text


def _warn_of_torn(path) -> None:
    warn(f"{path}: the last line is torn, as after a kill, and was dropped.")


def _start(raw: bytes) -> str:
    return repr(raw.strip()[:60].decode("utf-8", "backslashreplace"))
