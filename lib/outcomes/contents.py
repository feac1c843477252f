"""Contents of files, within limits: text, plain or packed by gzip, JSON, and rows of Parquet."""

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lib.outcomes.errors import OutcomesError

LONGEST_LINE = 2**28
"""Bytes of a line, unpacked."""

LARGEST_DOCUMENT = 2**30
"""Bytes of a file that is read whole: as Python objects, JSON takes up to twenty times as much."""

LARGEST_RATIO = 100
"""Unpacked bytes allowed for each byte of a file; logs of chats reach a few dozen."""

SMALL = 2**22
"""Unpacked bytes allowed at any ratio: a log of a few similar samples can exceed the ratio."""

_READ_SIZE = 2**17
"""Bytes read at once. Many lines of logs are longer than Python's default buffer."""

_PACKED = b"\x1f\x8b"


def suffix(path: Path) -> str:
    """The suffix of a name in lower case, without .gz: ".csv" for runs.CSV.gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if it is packed, whatever its name.

    Raises OutcomesError for a gzip file that is damaged or incomplete, and for text in UTF-16.
    """
    try:
        with gzip.open(path) if _is_packed(path) else path.open("rb", _READ_SIZE) as file:
            if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                raise OutcomesError(
                    f"{path}: expected text in UTF-8, got UTF-16. Save it as UTF-8 (in a "
                    'spreadsheet, as "CSV UTF-8").'
                )
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OutcomesError(
            f"{path}: not a whole gzip file ({error}). If it is plain text, drop .gz from its "
            "name; if it was cut short, fetch it again."
        ) from error


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, unpacked, with their numbers from 1.

    Raises OutcomesError for a line beyond the limits before much of it is unpacked.
    """
    longest = _limit(path, LONGEST_LINE)
    with opened(path) as file:
        number = 1
        while raw := file.readline(longest + 1):
            if len(raw) > longest:
                raise OutcomesError(
                    f"{path}, line {number}: longer than {longest} bytes, so it was not read"
                    f"{_like_a_bomb(path)}. Expected one record on each line."
                )
            yield number, raw
            number += 1


def document(path: Path) -> bytes:
    """The whole content of a file, unpacked. Raises OutcomesError if it is beyond the limits."""
    largest = _limit(path, LARGEST_DOCUMENT)
    with opened(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OutcomesError(
            f"{path}: larger than {largest} bytes, so it was not read{_like_a_bomb(path)}. "
            "Expected a document that fits into memory. Split it, or convert it to JSON lines."
        )
    return content


def digest(path: Path) -> str:
    """A hash of the unpacked content."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def starts_with(path: Path, mark: bytes) -> bool:
    """Whether the unpacked content begins with this mark, after any blanks."""
    with opened(path) as file:
        while start := file.read(4096).removeprefix(codecs.BOM_UTF8):
            if not start.isspace():
                return start.lstrip().startswith(mark)
            if file.tell() > SMALL:
                break
    return False


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict, for `json.loads`. Raises ValueError for a repeated name."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is there twice")
    return row


@contextmanager
def parquet(path: Path):
    """The file as a `pyarrow.parquet.ParquetFile`. Raises OutcomesError if it is damaged."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except OutcomesError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError) as error:
        raise OutcomesError(
            f"{path}: not a readable Parquet file ({str(error) or type(error).__name__}). Give it "
            "the suffix of what it holds, or write it again."
        ) from error


def _is_packed(path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _PACKED or path.name.lower().endswith(".gz")


def _limit(path, largest) -> int:
    """`largest`, or less for a packed file, in proportion to its size."""
    if not _is_packed(path):
        return largest
    return min(largest, max(SMALL, LARGEST_RATIO * path.stat().st_size))


def _like_a_bomb(path) -> str:
    return " (it unpacks like a gzip bomb)" if _is_packed(path) else ""
