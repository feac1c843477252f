"""The entries of a batch: which notebooks run, under which names and with which parameters.

A batch is a list of entries, in a YAML file or as Python dictionaries::

    - notebook: 02_crossover.ipynb       # beside the YAML file, or else in notebooks/
      name: crossover_swe                # of the executed notebook; by default the notebook's own
      parameters: {benchmarks: [swe], n_boot: 200}

Whatever can be checked is checked before the first kernel starts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import yaml

from lib import ROOT
from lib.reporting.notebook_parameters import known_parameters, literal

NOTEBOOKS = ROOT / "notebooks"

RESERVED = {"report", "claims"}
"""Names that no entry may have: the pages beside the notebooks have them."""

LONGEST_NAME = 200
"""Bytes of an entry's name; a file system takes 255, of which the ending needs a few."""


@dataclass(frozen=True)
class Entry:
    """One run of one notebook: where it is, what its results are called, and its parameters."""

    notebook: Path
    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)


def read_batch(path: str | Path) -> list[Entry]:
    """The entries of a YAML file, checked as `as_entries` does.

    Raises ValueError or FileNotFoundError naming the file and the entry that is wrong.
    """
    path = Path(path)
    text = path.read_bytes()
    try:
        # An alias repeats a part without writing it, and a few may stand for gigabytes.
        aliases = [event for event in yaml.parse(text) if isinstance(event, yaml.AliasEvent)]
        listed = None if aliases else yaml.safe_load(text)
    except Exception as error:  # PyYAML passes on whatever a malformed scalar or nesting raises
        raise ValueError(f"{path} is not a YAML file: {error}") from error
    if aliases:
        raise ValueError(
            f"{path}, line {aliases[0].start_mark.line + 1}: has the alias *{aliases[0].anchor}, "
            "expected a list without aliases: write out what it stands for"
        )
    if not isinstance(listed, list):
        raise ValueError(f"{path}: expected a list of entries `- notebook: NAME.ipynb`")
    return as_entries(listed, folder=path.parent, origin=path)


def as_entries(
    listed: Iterable, *, folder: str | Path = ".", origin: str | Path = "batch"
) -> list[Entry]:
    """Check a list of entries (dictionaries or `Entry`), without running anything.

    Notebooks are looked up in `folder`, then in `NOTEBOOKS`. Raises ValueError or FileNotFoundError
    naming `origin`, the entry, what is wrong with it and what would be right.
    """
    entries = {}
    for number, raw in enumerate(listed, start=1):
        where = f"{origin}, entry {number}"
        entry = raw if isinstance(raw, Entry) else _as_entry(raw, Path(folder), where)
        _check_name(entry.name, where)
        _check_parameters(entry, where)
        file_name = entry.name.casefold()  # some file systems do not tell A from a
        if file_name in entries:
            raise ValueError(
                f"{where}: an entry before it is named {entries[file_name].name!r} too and would "
                "be overwritten; give one of them another `name`"
            )
        entries[file_name] = entry
    if not entries:
        raise ValueError(f"{origin}: there is no entry to run")
    return list(entries.values())


def select_entries(entries: Sequence[Entry], names: Iterable[str]) -> list[Entry]:
    """The entries with these names, in their own order; all of them for no names.

    Raises ValueError for a name that no entry has.
    """
    names = set(names)
    if unknown := names - {entry.name for entry in entries}:
        raise ValueError(
            f"no entry is named {_listed(unknown)}; "
            f"the batch has {_listed(entry.name for entry in entries)}"
        )
    return [entry for entry in entries if entry.name in names] if names else list(entries)


def check_targets(entries: Iterable[Entry], out: Path) -> None:
    """Raise ValueError where the result of an entry would overwrite a notebook of the batch."""
    notebooks = {entry.notebook.resolve() for entry in entries}
    for entry in entries:
        target = out / f"{entry.name}.ipynb"
        if target.resolve() in notebooks:
            raise ValueError(
                f"entry {entry.name!r} would overwrite the notebook {target}; "
                "write to another folder or give it another `name`"
            )


def _as_entry(raw, folder, where) -> Entry:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("notebook"), str | PurePath):
        raise ValueError(f"{where}: expected `notebook: NAME.ipynb`, got {raw!r}")
    if unknown := set(raw) - {"notebook", "name", "parameters"}:
        raise ValueError(
            f"{where}: unknown key {_listed(unknown)}; an entry has notebook, name, parameters"
        )
    notebook = folder / raw["notebook"]
    if not notebook.exists() and (NOTEBOOKS / raw["notebook"]).exists():
        notebook = NOTEBOOKS / raw["notebook"]
    parameters = raw.get("parameters")
    if not isinstance(parameters, Mapping | None):
        raise ValueError(f"{where}: parameters must map names to values, got {parameters!r}")
    name = raw.get("name", re.sub(r"\s+", "_", notebook.stem))
    return Entry(notebook, name, dict(parameters or {}))


def _check_name(name, where):
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.+-]*", name):
        raise ValueError(f"{where}: name {name!r} must be a plain file name, without its ending")
    if len(name.encode()) > LONGEST_NAME:
        raise ValueError(
            f"{where}: name {name!r} is too long; it may have at most {LONGEST_NAME} bytes"
        )
    if name.casefold() in RESERVED:
        raise ValueError(
            f"{where}: the name {name!r} is kept for the batch's own page; give the entry "
            "another `name`"
        )


def _check_parameters(entry, where):
    if not entry.notebook.is_file():
        raise FileNotFoundError(f"{where}: there is no notebook {entry.notebook}")
    known = known_parameters(entry.notebook)
    if unknown := set(entry.parameters) - set(known):
        raise ValueError(
            f"{where}: {entry.notebook.name} has no parameter {_listed(unknown)}; "
            f"it has {_listed(known) or 'none (no cell is tagged `parameters`)'}"
        )
    for name, value in entry.parameters.items():
        try:
            literal(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: parameter {name}: {error}") from error


def _listed(names) -> str:
    return ", ".join(sorted(map(str, names)))
