"""Rows of JSON files: one object on each line, or one list of objects."""

import json
from collections.abc import Iterator
from pathlib import Path

from lib.outcomes import contents
from lib.outcomes.csv_rows import warn_of_torn_line
from lib.outcomes.errors import OutcomesError, start_of


def json_list_rows(path: Path) -> list[dict]:
    """The objects of a file that is one JSON list. Raises OutcomesError for any other content."""
    raw = contents.document(path)
    try:
        rows = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=contents.json_object)
        odd = next((i for i, row in enumerate(rows, 1) if not isinstance(row, dict)), None)
        if odd is not None:
            raise ValueError(f"row {odd} is not an object")
        _check_text(raw, rows)
    except (ValueError, RecursionError) as error:
        raise OutcomesError(
            f"{path}: expected one list of JSON objects, got {start_of(raw)} ({error}). Correct "
            "it, or fetch it again if it was cut short."
        ) from error
    return rows


def json_line_rows(path: Path) -> Iterator[tuple[int, dict]]:
    """The objects of a file of JSON lines, with their line numbers.

    A torn last line is dropped with a warning. Raises OutcomesError for any other bad line.
    """
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
                f"{path}, line {number}: expected one JSON object on each line, got "
                f"{start_of(raw)} ({error}). Correct or delete that line."
            )
            if number == 1 or not _looks_torn(raw, error):
                raise torn from error
            continue
        yield number, row
    if torn:
        warn_of_torn_line(path)


def _check_text(raw, content) -> None:
    """Refuse half a surrogate pair: no file could hold it as UTF-8."""
    if rb"\ud" in raw.lower():
        json.dumps(content, ensure_ascii=False).encode("utf-8")


def _looks_torn(raw, error) -> bool:
    """Whether a line stops in the middle, rather than being complete and wrong."""
    if not raw.endswith(b"\n"):
        return True
    return isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    )
