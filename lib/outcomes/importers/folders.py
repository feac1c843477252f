"""Files below a folder, with links to other folders followed."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from lib.outcomes.errors import OutcomesError


def files_below(folder: Path, pattern: str) -> list[Path]:
    """The files below a folder whose names match a pattern, in a fixed order.

    Links to folders are followed, but no folder is read twice; `repeated_folders` lists the links
    to folders read already.
    Raises OutcomesError for a folder that may not be read, and for a broken link.
    """
    paths = [here / name for here, names in _walk(folder) for name in names or ()]
    paths = [path for path in paths if fnmatch(path.name, pattern)]
    for path in paths:
        if not path.exists():
            raise OutcomesError(f"{path}: a broken link. Repair or delete it.")
    return paths


def repeated_folders(folder: Path) -> list[Path]:
    """Paths below a folder to folders that `files_below` reads by another path: mostly links."""
    return [here for here, names in _walk(folder) if names is None]


def _walk(folder) -> Iterator[tuple[Path, list[str] | None]]:
    """Folders with the names of their files, or with None if the folder was visited before."""
    visited = set()
    for here, folders, names in os.walk(folder, followlinks=True, onerror=_refuse):
        again = os.path.realpath(here) in visited
        visited.add(os.path.realpath(here))
        # Real folders before links, so that each folder is listed under its own name.
        folders[:] = sorted(folders, key=lambda name: (Path(here, name).is_symlink(), name))
        if again:
            folders.clear()
        yield Path(here), None if again else sorted(names)


def _refuse(error):
    raise OutcomesError(f"{error.filename}: cannot be read ({error.strerror}).") from error
