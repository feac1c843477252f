"""What a file begins with, for formats to recognise it by."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, shown
from lib.outcomes.files import SPREADSHEETS
from lib.outcomes.importers.records import json_document, parsed


class Head(NamedTuple):
    """What a file begins with.

    kind: "parquet", "zip", "sheet" (CSV or a spreadsheet) or "json".
    record: the first Parquet row or JSON object; empty if there is none.
    is_list: whether the JSON is a single list.
    """

    path: Path
    kind: str
    record: dict[str, Any] = {}  # noqa: RUF012 - read only
    is_list: bool = False

    def has(self, *fields: str) -> bool:
        """Whether this is a JSON object, or JSON lines, with these fields."""
        return self.kind == "json" and not self.is_list and set(fields) <= set(self.record)


def read_head(path: Path) -> Head:
    """The head of a file. Raises OutcomesError for an empty file and for one of unknown kind."""
    with path.open("rb") as file:
        start = file.read(4)
    suffix = contents.suffix(path)
    if start == b"PAR1":
        return Head(path, "parquet", _first_row(path))
    if start == b"PK\x03\x04" and suffix not in SPREADSHEETS:
        return Head(path, "zip")
    if suffix in (".csv", ".tsv", *SPREADSHEETS):
        return Head(path, "sheet")
    if not start:
        raise OutcomesError(f"{path}: the file is empty; expected a log.")
    content = _first_json(path, suffix)
    if isinstance(content, list):
        first = content[0] if content and isinstance(content[0], dict) else {}
        return Head(path, "json", first, is_list=True)
    return Head(path, "json", content)


def _first_json(path, suffix) -> dict | list:
    """The object of the first line, or the whole document if no object fills that line."""
    line = _first_line(path)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None  # a document of several lines, or no JSON
        if suffix in (".jsonl", ".ndjson"):
            parsed(line, f"{path}, line 1")
        if not line.lstrip().startswith((b"{", b"[")):
            raise OutcomesError(
                f"{path}: unknown format; the file begins with {shown(line[:60])[1:]}. Expected "
                "JSON or JSON lines, a Parquet file, an .eval archive, or a table whose name ends "
                "in .csv or .tsv."
            ) from None
    return value if isinstance(value, dict) else json_document(path)


def _first_line(path) -> bytes:
    for _, line in contents.lines(path):
        if line.strip():
            return line.removeprefix(b"\xef\xbb\xbf")
    raise OutcomesError(f"{path}: the file is empty; expected a log.")


def _first_row(path) -> dict:
    with contents.parquet(path) as file:
        batch = next(file.iter_batches(batch_size=1), None)
        return batch.to_pylist()[0] if batch is not None and len(batch) else {}
