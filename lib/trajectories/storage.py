"""Files that survive a kill: written whole or not at all, by one process at a time.

A replaced file is written beside its target, flushed to the disk, and renamed over it, so that a
reader, or whoever comes after a kill, sees the old file or the new one. A lock belongs to a process
(`flock`): the system releases it however the process ends.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path


class LockedError(RuntimeError):
    """Another process, or another part of this one, holds the lock."""


def check_folder(path: str | Path, name: str = "out") -> None:
    """Raise ValueError if no folder can be at `path` because a file is there, or above it.

    name: of the parameter, for the error.
    """
    path = Path(path)
    there = next((place for place in (path, *path.parents) if place.exists()), path)
    if there.exists() and not there.is_dir():
        where = "it" if there == path else str(there)
        raise ValueError(
            f"{name} is {str(path)!r}: expected a folder, but {where} is a file. Choose another."
        )


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield the path of a new file beside `path`, which replaces `path` when the block ends.

    The new file is removed if the block raises; the old one then stays as it was.
    """
    path = Path(path)
    part = _part_of(path)
    try:
        yield part
        _flush_to_disk(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """Yield a new folder beside `path`, which replaces the folder at `path` when the block ends.

    The block only writes: whatever a library raises there, on a full disk, is raised as an OSError
    that names `path`. The new folder is removed if the block raises. A kill leaves it behind as
    `part-NAME-PID`, which `remove_parts` removes.
    """
    path = Path(path)
    part = path.with_name(f"part-{path.name}-{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        shutil.rmtree(path, ignore_errors=True)
        os.replace(part, path)
    except OSError:
        raise
    except Exception as error:  # safetensors and torch have errors of their own for a full disk
        raise OSError(f"{path} cannot be written: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_parts(folder: str | Path) -> None:
    """Remove the folders that killed processes left half written in a folder."""
    for part in Path(folder).glob("part-*"):
        shutil.rmtree(part)


def write_text(path: str | Path, text: str, errors: str = "strict") -> None:
    """Write a UTF-8 text file in place of the one at `path`: whole, or not at all.

    errors: what to do with characters that UTF-8 cannot encode, as for `str.encode`.
    """
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", errors=errors)


def write_once(path: str | Path, text: str) -> str:
    """Write a new UTF-8 text file and return what the file holds.

    If the file exists, or another process creates it first, it stays as it is.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        part = _part_of(path)
        try:
            part.write_text(text, encoding="utf-8")
            _flush_to_disk(part)
            _move_to_new(part, path)
        finally:
            part.unlink(missing_ok=True)
    return path.read_text(encoding="utf-8")


@contextlib.contextmanager
def lock(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on a file or folder, which need not exist, for the length of the block.

    wait: wait until the lock is free, in place of raising LockedError.

    The lock is the hidden file `.NAME.lock` beside `path`. It is removed at the end; a killed
    process leaves it behind, unlocked.
    """
    import filelock  # takes longer to import than all of this room

    path = Path(path).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    held = filelock.FileLock(
        path.with_name(f".{path.name}.lock"),
        blocking=wait,
        thread_local=False,  # so that another thread may release it
        fallback_to_soft=False,  # a soft lock would outlive a killed process
    )
    try:
        held.acquire()
    except filelock.Timeout as error:
        raise LockedError(f"{path} is in use by another process") from error
    try:
        yield
    finally:
        # Removed while it is held: a process that waits for the removed file sees that it has no
        # name any more, and opens a new one.
        Path(held.lock_file).unlink(missing_ok=True)
        held.release()


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _move_to_new(part: Path, path: Path) -> None:
    """Give a finished file its name, unless another file has it."""
    try:
        os.link(part, path)  # unlike a rename, it replaces nothing
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        with lock(path, wait=True):
            if not path.exists():
                os.replace(part, path)
