"""Files of a folder that a tool wrote, links to other folders followed."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from lib.outcomes import OutcomesError


def files_below(folder: Path, pattern: str) -> list[Path]:
    """The files below a folder whose names fit a pattern, in a fixed order.

    Links to folders are followed, and no folder is read twice, whatever leads to it (`met_again`
    has those ways).
    Raises OutcomesError for a folder that may not be read, and for a link that leads nowhere.
    """
    found = [here / name for here, names in _walk(folder) for name in names or ()]
    found = [path for path in found if fnmatch(path.name, pattern)]
    for path in found:
        if not path.exists():
            raise OutcomesError(f"{path}: a link that leads nowhere. Mend or delete it.")
    return found


def met_again(folder: Path) -> list[Path]:
    """The ways below a folder to one that `files_below` reads by another: links, as a rule."""
    return [here for here, names in _walk(folder) if names is None]


def _walk(folder) -> Iterator[tuple[Path, list[str] | None]]:
    """Folders with the names of their files, or with None for one that was met before."""
    met = set()
    for here, folders, names in os.walk(folder, followlinks=True, onerror=_refuse):
        again = os.path.realpath(here) in met
        met.add(os.path.realpath(here))
        # Real folders before links, so that a run goes by its own name.
        folders[:] = sorted(folders, key=lambda name: (Path(here, name).is_symlink(), name))
        if again:
            folders.clear()
        yield Path(here), None if again else sorted(names)


def _refuse(error):
    raise OutcomesError(f"{error.filename}: cannot be read ({error.strerror}).") from error
