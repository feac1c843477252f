"""Two logs, one for each arm, as one table of counts."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lib import outcomes

if TYPE_CHECKING:
    from lib.outcomes.importers import Imported

_ENDINGS = (".gz", ".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".eval")


def read_arms(
    base: str | Path,
    post: str | Path,
    choose: Mapping[str, object] | None = None,
    columns: Mapping[str, str] | None = None,
) -> "tuple[dict[str, Imported], pd.DataFrame]":
    """Two logs by arm, and one table of counts that holds both arms of one pair.

    base, post: logs as `importers.load` takes them; one file of outcomes that holds both arms may
    be given twice.  choose, columns: as `options_by_arm` takes them. Raises OutcomesError for a log
    that cannot be read, for an arm that the log does not hold, and for a histogram beside tasks.
    """
    from lib.outcomes import importers  # a module for each format: only who reads logs needs them

    paths = {"base": base, "post": post}
    options = options_by_arm(choose or {}, columns)
    logs = {
        arm: importers.load(path, **{"arm": arm, "pair": label(path)} | options[arm])
        for arm, path in paths.items()
    }
    arms = [_rows_of(outcomes.counts(log.outcomes), paths[arm], arm) for arm, log in logs.items()]
    return logs, _joined(*arms)


def options_by_arm(
    choose: Mapping[str, object], columns: Mapping[str, str] | None = None
) -> dict[str, dict]:
    """The options with which `importers.load` reads each arm's log.

    choose: options of `importers.load` by name. A name such as "base.scorer" or "post.scorer" is
    for that arm alone and overrides "scorer", which is for both.  columns: our names of columns to
    the files' names, for both arms. Raises OutcomesError for a name of another arm.

    >>> options_by_arm({"scorer": "match", "post.scorer": "exact"})
    {'base': {'scorer': 'match'}, 'post': {'scorer': 'exact'}}
    """
    options = {}
    for arm in ("base", "post"):
        for_both = {name: value for name, value in choose.items() if "." not in name}
        for_one = {
            name.removeprefix(f"{arm}."): value
            for name, value in choose.items()
            if name.startswith(f"{arm}.")
        }
        options[arm] = for_both | for_one | ({"columns": dict(columns)} if columns else {})
    unknown = [name for name in choose if "." in name and name.partition(".")[0] not in options]
    if unknown:
        raise outcomes.OutcomesError(
            f"{unknown[0]!r}: expected NAME, base.NAME or post.NAME, where NAME is an option of "
            "the log's format."
        )
    return options


def file_name(path: str | Path) -> str:
    """The last part of a path, of "." too; a link goes by its own name."""
    return os.path.basename(os.path.abspath(path))


def label(path: str | Path) -> str:
    """The name of a log without the endings of its format; dots of a model's name stay.

    >>> label("logs/Qwen2.5-7B.jsonl.gz")
    'Qwen2.5-7B'
    """
    name = file_name(path)
    while (stem := name[: name.rfind(".")]) and name.lower().endswith(_ENDINGS):
        name = stem
    return name or "default"


def _rows_of(table, path, arm) -> pd.DataFrame:
    """The rows of one arm: those that name it, or all rows where the file names no arm."""
    names = list(dict.fromkeys(table["arm"]))
    if arm not in names and (len(names) > 1 or names[0] in ("base", "post")):
        raise outcomes.OutcomesError(
            f"{path}: expected the arm {arm!r}, got {' and '.join(map(repr, names))}. Give the "
            f"base first and the post-trained arm second. Where the file has another name for "
            f"{arm!r}, rename it to {arm!r} in the column 'arm'."
        )
    if arm in names and len(names) > 1:
        others = ", ".join(repr(name) for name in names if name != arm)
        if set(names) != {"base", "post"}:
            outcomes.warn(f"{path}: the file also holds the arms {others}; they are left out.")
        return table[table["arm"] == arm]
    return table.assign(arm=arm)


def _joined(base, post) -> pd.DataFrame:
    """Both arms in one table; where each has one pair, they become one pair."""
    if outcomes.kind(base) != outcomes.kind(post):
        raise outcomes.OutcomesError(
            f"Expected named tasks in both files, or histograms in both, got "
            f"{outcomes.kind(base)} for the base and {outcomes.kind(post)} for the post-trained "
            "arm."
        )
    names = [list(dict.fromkeys(arm["pair"])) for arm in (base, post)]
    if len(names[0]) == len(names[1]) == 1 and names[0] != names[1]:
        pair = f"{names[0][0]} to {names[1][0]}"
        base, post = base.assign(pair=pair), post.assign(pair=pair)
    return pd.concat([base, post], ignore_index=True)
