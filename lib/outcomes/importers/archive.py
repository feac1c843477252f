"""Members of a zip archive, read in memory and within limits: archives are not trusted."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from lib.outcomes.contents import LARGEST_RATIO, SMALL
from lib.outcomes.errors import OutcomesError

LARGEST_MEMBER = 2**28
"""Bytes of a member, unpacked: as Python objects, JSON takes up to twenty times as much."""

LARGEST_TOTAL = 2**34
"""Bytes of all members, unpacked."""

_ZSTD = 93


@contextmanager
def opened(path: Path) -> Iterator["Archive"]:
    """The archive. Raises OutcomesError for a zip bomb and for members with paths outside of it."""
    with _whole(path):
        try:
            file = zipfile.ZipFile(path)
        except NotImplementedError as error:  # a version that no tool writes
            raise zipfile.BadZipFile(str(error)) from error
    with file:
        yield Archive(path, file)


@contextmanager
def _whole(place):
    try:
        yield
    except OutcomesError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, OSError, ValueError) as error:
        raise OutcomesError(
            f"{place}: not a whole zip archive ({error}). If it was cut short, fetch it again."
        ) from error


class Archive:
    """Names and contents of the members of an open zip file."""

    def __init__(self, path, file):
        self.path, self._file = path, file
        self._infos = {info.filename: info for info in file.infolist()}
        total = sum(info.file_size for info in file.infolist())
        if total > max(SMALL, LARGEST_RATIO * path.stat().st_size) or total > LARGEST_TOTAL:
            raise OutcomesError(
                f"{path}: would unpack to {total} bytes, like a zip bomb. Expected at most "
                f"{LARGEST_RATIO} times its size, and {LARGEST_TOTAL} in all. If it is a log, "
                "convert it to JSON (inspect log convert --to json) and read that."
            )
        for info in file.infolist():
            name = PurePosixPath(info.filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts or ":" in info.filename[:2]:
                raise OutcomesError(
                    f"{path}: member {info.filename!r} has a path outside of the archive."
                )
            if info.file_size > LARGEST_MEMBER:
                raise OutcomesError(
                    f"{path}: member {info.filename!r} has {info.file_size} bytes. Expected at "
                    f"most {LARGEST_MEMBER}."
                )

    @property
    def names(self) -> list[str]:
        return list(self._infos)

    @property
    def repeated(self) -> int:
        """The number of members that a later one of the same name replaces."""
        return len(self._file.infolist()) - len(self._infos)

    def read(self, name: str) -> bytes:
        """The content of a member, of the size that the archive lists."""
        info = self._infos[name]
        place = f"{self.path}, {name}"
        try:
            with _whole(place):
                if info.compress_type == _ZSTD:
                    content = _unpacked_zstd(self._raw(info), info.file_size)
                else:
                    with self._file.open(info) as member:
                        content = member.read(info.file_size + 1)
        except (NotImplementedError, RuntimeError, OverflowError) as error:
            raise OutcomesError(f"{place}: cannot be unpacked ({error}).") from error
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise OutcomesError(
                f"{place}: differs from the size or checksum in the archive. Fetch it again."
            )
        return content

    def _raw(self, info) -> bytes:
        """The packed bytes of a member, which follow its local header."""
        file = self._file.fp
        file.seek(info.header_offset)
        header = file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile(f"no header of {info.filename!r} at its offset")
        file.seek(sum(struct.unpack("<HH", header[26:30])), 1)
        return file.read(info.compress_size)


def _unpacked_zstd(packed, size) -> bytes:
    """Zstandard through pyarrow: zipfile supports it only from Python 3.14 on."""
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
        return stream.read(size + 1)
