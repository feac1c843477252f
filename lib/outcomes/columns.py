"""Names of columns: those of the table of outcomes, and how those of a file are matched to them."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lib.outcomes.errors import OutcomesError

CELL = ["benchmark", "pair", "arm"]
ALIASES = {"task_id": "task", "rollouts": "n", "successes": "c"}
SHAPES = {
    "attempts": ["task", "attempt", "passed", "reason"],
    "counts": ["task", "n", "c", "missing"],
    "histogram": ["task", "tasks", "n", "c", "missing"],
}

FIELDS = frozenset({*CELL, *ALIASES, *itertools.chain(*SHAPES.values()), "pass_flags"} - {"reason"})
"""Names of columns that decide how a row counts."""


def renamed(table: pd.DataFrame, columns: Mapping[str, str], path: Path) -> pd.DataFrame:
    """The table of a file under the house's names of columns.

    columns: house name to the file's name, where they differ. Raises OutcomesError for a house name
    that does not exist and for a column that the file lacks.
    """
    _check_house_names(columns, path)
    columns = {ours: _as_written(theirs, table) for ours, theirs in columns.items()}
    in_file = list(table)
    table = table.rename(columns=_respelled(table, keep=columns.values()))
    absent = [theirs for theirs in columns.values() if theirs not in table]
    if absent:
        raise OutcomesError(
            f"{path}: no column {absent[0]!r}; the file has {', '.join(map(repr, in_file))}."
        )
    meant = {theirs: ours for ours, theirs in columns.items()}
    stray = _strays(set(columns), table) if columns else []
    strays = {name: f"{name} (in the file)" for name in stray if name not in meant}
    return table.rename(columns=strays | meant)


def check_same_fields(
    rows: Sequence[Mapping],
    places: Sequence[str],
    in_file: Iterable[str],
    columns: Mapping[str, str],
    path: Path,
) -> None:
    """Refuse rows whose fields that count differ from those of the first row.

    A field that only some rows have was misspelled or lost. in_file: all columns of the file.
    columns: as in `renamed`.
    """
    in_file = list(in_file)
    names = {_as_written(theirs, in_file) for theirs in columns.values()} | FIELDS
    names |= {name for name, ours in _respelled(in_file).items() if ours in FIELDS}
    expected = rows[0].keys() & names
    for row, place in zip(rows, places, strict=True):
        fields = row.keys() & names
        if fields != expected:
            name = sorted(fields ^ expected)[0]
            having, lacking = (place, places[0]) if name in fields else (places[0], place)
            raise OutcomesError(
                f"{path}, {lacking}: no {name!r}, which {having} has. Expected it in all rows or "
                "in none. Correct its spelling if it is misspelled; write null for a missing "
                "outcome."
            )


def _check_house_names(columns, path) -> None:
    known = FIELDS | {"reason"}
    unknown = [ours for ours in columns if ours not in known]
    if unknown:
        raise OutcomesError(
            f"{path}: expected a column of outcomes, one of {', '.join(sorted(known))}; got "
            f"{unknown[0]!r}. Name columns as in " + '`columns={"task": "Problem"}`.'
        )


def _as_written(name, in_file) -> str:
    """The file's column of this name, or the only one that differs in case and blanks alone."""
    if name in in_file:
        return name
    similar = [
        column for column in in_file if str(column).strip().casefold() == name.strip().casefold()
    ]
    return similar[0] if len(similar) == 1 else name


def _respelled(in_file: Iterable[str], keep: Iterable[str] = ()) -> dict[str, str]:
    """The house's names of columns that differ from them in case and blanks alone (" Passed").

    Only names that a single column can mean. keep: columns that are not to be renamed.
    """
    in_file, keep = list(in_file), set(keep)
    plain = {name: name.strip().casefold() for name in in_file if isinstance(name, str)}
    ours = FIELDS | {"reason"}
    if {"passed", "pass_flags"} & set(plain.values()):
        ours -= {"n", "c", "tasks", "missing"}  # columns that mean something else in a log
    uses = Counter(ALIASES.get(name, name) for name in plain.values())
    return {
        name: known
        for name, known in plain.items()
        if name != known
        and known in ours
        and name not in keep
        and uses[ALIASES.get(known, known)] == 1
    }


def _strays(named: set[str], table: pd.DataFrame) -> list[str]:
    """Columns that would be mistaken for a column of the table, given the names set explicitly.

    They have a house name that was given to another column, or that belongs to another shape.
    """
    shapes = [*map(set, SHAPES.values()), {"task", "pass_flags", "n", "c"}]
    possible = [shape for shape in shapes if named <= {*CELL, *shape}]
    taken = named | (set().union(*shapes) - set().union(*possible) if possible else set())
    return [column for column in table if ALIASES.get(column, column) in taken]
