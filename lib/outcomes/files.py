"""Tables of outcomes from and to files, and `datasets.Dataset`."""

import csv
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from lib.outcomes import contents
from lib.outcomes.columns import CELL, check_same_fields, renamed
from lib.outcomes.csv_rows import csv_rows, quoted_formula
from lib.outcomes.errors import OutcomesError, warn
from lib.outcomes.json_rows import json_line_rows, json_list_rows
from lib.outcomes.table import kind, validate
from lib.trajectories import storage

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
"""Suffixes of files that cannot be read, but whose remedy is known: saving them as CSV."""


def read(
    path: str | Path,
    *,
    columns: dict[str, str] | None = None,
    judge: Callable[[object, str], object] | None = None,
    **defaults: str,
) -> pd.DataFrame:
    """Read a file of outcomes into a valid table.

    A row may hold one attempt (`task`, `passed`, and `attempt`), all attempts at a task as a list
    (`task_id`, `pass_flags`), the counts of a task (`task_id`, `n`, `c`), or a row of a histogram
    (`tasks`, `n`, `c`, no task). The arm `rl` is read as `post`.
    Text may be separated by commas, semicolons or tabs. Names of columns may differ in case and in
    blanks around them; blanks around the names of tasks and cells are dropped. A .json file may
    hold JSON lines, or one list of objects.

    columns: the names of this table to those of the file, {"task": "Problem"}, where they differ. A
    column that merely happens to have such a name is kept as "n (in the file)".
    judge: turns a score in `passed` or `pass_flags` into an outcome. Called with the score and the
    place to name in errors.
    defaults: `benchmark`, `pair` or `arm` of files without such a column.

    Raises OutcomesError naming file, line and column. Issues an OutcomesWarning for a torn last
    line (dropped), repeated attempts (the last one counts), missing attempt numbers (filled in),
    a row of counts that is the sum of all others, and names that differ in blanks alone.
    """
    path = Path(path)
    rows, places, table = _read_rows(path)
    if table.empty:
        raise OutcomesError(f"{path}: no rows; expected at least one outcome.")
    if rows:
        check_same_fields(rows, places, table, columns or {}, path)
    in_file = list(table)
    table = renamed(table, columns or {}, path)
    called = {now: was for now, was in zip(table, in_file, strict=True) if now != was}
    if judge:
        of_rows = [f"{path}, {place}" for place in places or ()]
        of_rows = of_rows or [f"{path}, row {i}" for i in range(1, len(table) + 1)]
        _judge(table, judge, called, of_rows)
    table = validate(table, source=str(path), places=places, called=called, **defaults)
    _warn_of_totals(table, path)
    return table


def _read_rows(path) -> tuple[list[dict], list[str] | None, pd.DataFrame]:
    """The rows of a text file and their places, or neither for Parquet; and all as a table."""
    suffix = contents.suffix(path)
    if suffix not in (".parquet", ".csv", ".tsv", *_JSON_SUFFIXES):
        remedy = " Save the sheet as CSV and read that." if suffix in SPREADSHEETS else ""
        raise OutcomesError(
            f"{path}: unknown suffix; expected one of {', '.join(SUFFIXES)}, .json or "
            f".ndjson.{remedy}"
        )
    if not path.is_file():
        got = "a folder" if path.is_dir() else "no such file"
        raise OutcomesError(f"{path}: expected a file of outcomes, got {got}.")
    if path.stat().st_size == 0:
        raise OutcomesError(f"{path}: the file is empty; expected rows of outcomes.")
    if suffix == ".parquet":
        return [], None, _read_parquet(path)
    if suffix == ".json" and contents.starts_with(path, b"["):
        rows = json_list_rows(path)
        places = [f"row {i}" for i in range(1, len(rows) + 1)]
    else:
        numbered = list((json_line_rows if suffix in _JSON_SUFFIXES else csv_rows)(path))
        rows, places = [row for _, row in numbered], [f"line {number}" for number, _ in numbered]
    return rows, places, pd.DataFrame(rows, dtype=object)


def _read_parquet(path):
    import pyarrow

    known = {pyarrow.bool_(): pd.BooleanDtype()}  # holds missing values without objects
    with contents.parquet(path) as file:
        # Metadata of pandas would turn a column that was the index, named or not, into the index.
        table = file.read().to_pandas(ignore_metadata=True, types_mapper=known.get)
    unnamed = [name for name in table if re.fullmatch(r"__index_level_\d+__", str(name))]
    return table.drop(columns=unnamed)


def _judge(table, judge, called, places) -> None:
    """Turn the scores of a table into outcomes, in place."""
    column = next((name for name in ("passed", "pass_flags") if name in table), None)
    if column is None:
        return  # counts are judged already, and anything else is refused later
    about = f", column {called.get(column, column)!r}"
    outcomes = []
    for value, place in zip(table[column], places, strict=True):
        if column == "pass_flags" and isinstance(value, list | np.ndarray):
            outcomes.append([judge(score, place + about) for score in value])
        else:
            outcomes.append(judge(value, place + about))
    table[column] = pd.Series(outcomes, table.index, dtype=object)


def _warn_of_totals(table, path) -> None:
    """Warn of a row of counts that is the sum of all others: a total rather than a task."""
    if kind(table) != "counts":
        return
    for _, rows in table.groupby(CELL, sort=False):
        largest = rows.loc[rows["n"].idxmax()]
        is_sum = all(2 * largest[name] == rows[name].sum() for name in ("n", "c"))
        if is_sum and len(rows) > 2 and largest["n"]:
            warn(
                f"{path}: the n and c of task {largest['task']!r} ({largest['n']}, {largest['c']}) "
                "are the sums of all others. If the row is their total, delete it."
            )


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a valid table in the format of the path's suffix.

    The file is replaced as a whole: an older one stays until all is written. Equal tables give
    equal bytes. Raises OutcomesError for an unknown suffix.
    """
    path, table = Path(path).resolve(), validate(table)  # a link stays a link
    if not path.name.endswith(SUFFIXES):
        raise OutcomesError(f"{path}: unknown suffix; expected one of {', '.join(SUFFIXES)}.")
    with storage.replacing(path) as part:
        if path.suffix == ".parquet":
            table.to_parquet(part, index=False)
            return
        plain = path.name.removesuffix(".gz")
        if plain.endswith(".jsonl"):
            text = table.to_json(orient="records", lines=True)
        else:
            mark = "\t" if plain.endswith(".tsv") else ","
            safe = table.apply(lambda column: column.map(quoted_formula, na_action="ignore"))
            text = safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC, sep=mark)
        content = text.encode("utf-8")
        # The time would make the bytes of equal tables differ.
        part.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def to_dataset(table: pd.DataFrame):
    """The table as a `datasets.Dataset`."""
    from datasets import Dataset

    return Dataset.from_pandas(validate(table), preserve_index=False)


def from_dataset(dataset, **defaults: str) -> pd.DataFrame:
    """A valid table from a `datasets.Dataset` with columns and defaults as in `read`."""
    from datasets import ClassLabel

    table = dataset.to_pandas()
    for column, feature in dataset.features.items():
        if isinstance(feature, ClassLabel):  # stored as codes of the names
            table[column] = [None if pd.isna(v) else feature.int2str(int(v)) for v in table[column]]
    return validate(table, source="dataset", **defaults)
