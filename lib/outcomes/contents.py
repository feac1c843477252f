"""What files hold, within limits: text, plain or packed by gzip, JSON, and rows of Parquet."""

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lib.outcomes.table import OutcomesError

LONGEST_LINE = 2**28
"""Bytes of a line, unpacked."""

LARGEST_DOCUMENT = 2**30
"""Bytes of a file that is read whole: as Python objects, JSON takes up to twenty times as much."""

LARGEST_RATIO = 100
"""Bytes unpacked for a byte of a file; logs of chats reach some dozens."""

SMALL = 2**22
"""Bytes unpacked that are harmless at any ratio, which a log of a few like samples can reach."""

_AT_ONCE = 2**17
"""Bytes read at once: many lines of logs are longer than what is usual."""

_PACKED = b"\x1f\x8b"


def suffix(path: Path) -> str:
    """The kind of file that a name tells: ".csv" of runs.CSV.gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is packed, whatever its name says.

    Raises OutcomesError for a gzip file that is none, or not whole, and for text in UTF-16.
    """
    try:
        with gzip.open(path) if _is_packed(path) else path.open("rb", _AT_ONCE) as file:
            if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                raise OutcomesError(
                    f"{path}: text in UTF-16; expected UTF-8. Save it so (spreadsheets call it "
                    '"CSV UTF-8").'
                )
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OutcomesError(
            f"{path}: not a whole gzip file ({error}). Drop .gz from the name if it is plain text, "
            "or fetch it again if it was cut short."
        ) from error


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1, one at a time, unpacked.

    Raises OutcomesError for a line beyond the limits, before much of it is unpacked.
    """
    longest = _limit(path, LONGEST_LINE)
    with opened(path) as file:
        number = 1
        while raw := file.readline(longest + 1):
            if len(raw) > longest:
                raise OutcomesError(
                    f"{path}, line {number}: longer than {longest} bytes; refused"
                    f"{_as_bomb(path)}. Expected a record a line."
                )
            yield number, raw
            number += 1


def document(path: Path) -> bytes:
    """The whole content of a file, unpacked; OutcomesError where it is beyond the limits."""
    largest = _limit(path, LARGEST_DOCUMENT)
    with opened(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OutcomesError(
            f"{path}: holds more than {largest} bytes; refused{_as_bomb(path)}. Expected a "
            "document that fits into memory; split it, or turn it into JSON lines."
        )
    return content


def digest(path: Path) -> str:
    """What two files have in common only where they hold the same, packed or not."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def starts_with(path: Path, mark: bytes) -> bool:
    """Whether the first of a file that is not blank, unpacked, is this mark."""
    with opened(path) as file:
        while start := file.read(4096).removeprefix(codecs.BOM_UTF8):
            if not start.isspace():
                return start.lstrip().startswith(mark)
            if file.tell() > SMALL:
                break
    return False


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict, for `json.loads`; ValueError for one that says a thing twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return row


@contextmanager
def parquet(path: Path):
    """The `pyarrow.parquet.ParquetFile`; what is wrong in it is an OutcomesError."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except OutcomesError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError) as error:
        said = str(error) or type(error).__name__
        raise OutcomesError(
            f"{path}: not a Parquet file that can be read ({said}). Rename it to what it holds, or "
            "write it again."
        ) from error


def _is_packed(path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _PACKED or path.name.lower().endswith(".gz")


def _limit(path, largest) -> int:
    """`largest`, or less where a packed file would be out of all proportion to its size."""
    if not _is_packed(path):
        return largest
    return min(largest, max(SMALL, LARGEST_RATIO * path.stat().st_size))


def _as_bomb(path) -> str:
    return ", as a gzip bomb would be" if _is_packed(path) else ""
