"""The schema: columns and types of a table of outcomes, checked, and attempts counted."""

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from lib.outcomes.columns import ALIASES, CELL, SHAPES
from lib.outcomes.errors import OutcomesError, shown, warn
from lib.outcomes.values import LARGEST, as_name, as_passed, as_text, as_whole, letters

_MOST_TASKS = 10**7
"""The most tasks in a row of a histogram. No benchmark has as many, so more is another count."""


_ARMS = {"base": "base", "post": "post", "rl": "post", "posttrained": "post"}
"""Names that mean an arm, in small letters and without hyphens -> the arm."""


def kind(table: pd.DataFrame) -> str:
    """`attempts`, `counts` or `histogram`, by the columns of the table."""
    if "passed" in table:
        return "attempts"
    return "histogram" if "tasks" in table else "counts"


def validate(
    table: pd.DataFrame,
    *,
    source: str = "table",
    places: list[str] | None = None,
    called: dict[str, str] | None = None,
    **defaults: str,
) -> pd.DataFrame:
    """Check a table and give it its canonical columns and types. A valid table stays as it is.

    source, places, called: for errors, the name of the table, the place of each row, and the names
    in the file of columns that were renamed.
    defaults: `benchmark`, `pair` and `arm` of a table without such a column.

    The arms "rl", "Post" and "post-trained" are read as "post", and "Base" as "base". Raises
    OutcomesError naming row and column. Issues an OutcomesWarning for repeated attempts, for
    missing attempt numbers, and for names that differ in blanks or in being a number alone.
    """
    unknown = set(defaults) - set(CELL)
    if unknown:
        raise OutcomesError(f"Expected defaults for {', '.join(CELL)} only; got {sorted(unknown)}.")
    check = _Check(source, places, table, called or {})
    table = _with_house_names(table, source)
    if "pass_flags" in table:
        table, check = _flags_as_attempts(table, check)
    table = _with_cell(table, check, defaults)
    shape = _checked_shape(table, check)
    table = {"attempts": _attempts, "counts": _counts, "histogram": _histogram}[shape](table, check)
    known = [*CELL, *SHAPES[shape]]
    further = [column for column in table if column not in known]
    for column in further:
        table[column] = _texts(table[column])
    return table[known + further].reset_index(drop=True)


def _with_house_names(table, source) -> pd.DataFrame:
    """A copy under the house's names of columns, each there once, without categorical types."""
    doubled = table.columns[table.columns.duplicated()]
    if len(doubled):
        raise OutcomesError(f"{source}: column {doubled[0]!r} is there twice; drop one of the two.")
    for other, ours in ALIASES.items():
        if other in table and ours in table:
            raise OutcomesError(
                f"{source}: has both {other!r} and {ours!r}, which mean the same. Drop or rename "
                "one of them."
            )
    table = table.rename(columns=ALIASES).reset_index(drop=True)
    coded = [column for column in table if isinstance(table[column].dtype, pd.CategoricalDtype)]
    return table.astype(dict.fromkeys(coded, object))


def _with_cell(table, check, defaults) -> pd.DataFrame:
    """The table with checked names of benchmark, pair and arm."""
    for column in CELL:
        default = defaults.get(column) or {"benchmark": "default", "pair": "default"}.get(column)
        if column not in table:
            if default is None:
                raise OutcomesError(
                    f"{check.source}: no column {column!r}. Add it, or pass its value: "
                    f'`{column}="base"`.'
                )
            table[column] = default
        table[column] = check.names(table, column)
    names = {
        name: _ARMS[plain] for name in table["arm"].unique() if (plain := _plain(name)) in _ARMS
    }
    for ours in ("base", "post"):
        alike = [name for name, arm in names.items() if arm == ours]
        if len(alike) > 1:
            raise OutcomesError(
                f"{check.source}: has the arms {' and '.join(map(repr, alike))}, which mean the "
                "same. Rename one of them."
            )
    table["arm"] = table["arm"].replace(names)
    return table


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.casefold())


def _checked_shape(table, check) -> str:
    """The kind of a table. Raises OutcomesError if it has columns of another kind as well."""
    shape = kind(table)
    if "attempt" in table and shape != "attempts" and not {"n", "c"} <= set(table):
        check.need(table, ["task", "passed"])  # one of n, c and tasks alone counts nothing
    foreign = set(table) & set().union(*SHAPES.values()) - set(SHAPES[shape])
    if shape == "attempts" and not {"n", "c"} <= foreign:
        foreign = set()  # kept as further columns
    if foreign:
        raise OutcomesError(
            f"{check.source}: column {', '.join(map(repr, sorted(foreign)))} in a table of "
            f"{shape}. Expected the columns of attempts (task, attempt, passed), of counts (task, "
            "n, c) or of a histogram (tasks, n, c)."
        )
    return shape


class _Check:
    """Checks of columns. Errors name source, row, column and value, and the remedy."""

    def __init__(self, source: str, places: list[str] | None, in_file: Iterable, called: dict):
        self.source, self.places, self.called = source, places, called
        self.in_file = [called.get(name, name) for name in in_file]

    def refuse(self, bad: pd.Series, column: str, values, expected: str):
        """Raise OutcomesError for the first bad row, if there is any."""
        if bad.any():
            i = int(bad.to_numpy().argmax())
            more = f" ({bad.sum()} rows like this)" if bad.sum() > 1 else ""
            raise OutcomesError(
                f"{self.source}, {self.place(i)}, column {self.called.get(column, column)!r}: "
                f"got {shown(values.iloc[i])}, expected {expected}.{more}"
            )

    def place(self, i: int) -> str:
        return self.places[i] if self.places else f"row {i + 1}"

    def need(self, table, columns):
        """Raise OutcomesError if one of the columns is absent."""
        absent = [column for column in columns if column not in table]
        if absent and not {"passed", "n", "c"} & set(table):
            absent = [*(name for name in absent if name == "task"), "passed"]
        if absent:
            remedy = ", ".join(f'"{name}": "..."' for name in absent)
            raise OutcomesError(
                f"{self.source}: no column {', '.join(map(repr, absent))}; the columns are "
                f"{', '.join(map(repr, self.in_file))}{self._renamed(absent)}. Expected task and "
                "passed (attempts), task_id and pass_flags, task, n and c (counts), or n, c and "
                f"tasks (a histogram). Map columns of other names: `columns={{{remedy}}}`."
            )

    def _renamed(self, absent) -> str:
        """Which of the absent columns are there, but were renamed."""
        renamed = {was: now for now, was in self.called.items() if was in absent}
        return "".join(f" ({was!r} was mapped to {now!r})" for was, now in renamed.items())

    def names(self, table, column) -> pd.Series:
        """A column of names as text, without the blanks around them."""
        values = table[column]
        if isinstance(values.dtype, pd.StringDtype):  # judges each distinct text once
            names = values.map({name: as_name(name) for name in values.dropna().unique()})
        else:
            names = values.astype(object).map(as_name)
        expected = "a name: text that UTF-8 can encode, or a whole number"
        self.refuse(names.isna(), column, values, expected)
        self._warn_of_types(values, names, column)
        names, written = names.astype(str), values.astype(str)
        if not names.equals(written):
            spellings = written.groupby(names, sort=False).unique()
            for name, of in spellings[spellings.map(len) > 1].items():
                warn(
                    f"{self.source}, column {self.called.get(column, column)!r}: "
                    f"{' and '.join(map(repr, of))} differ only in blanks around them, so they "
                    f"were read as one, {name!r}. If they differ, rename them."
                )
        return names

    def _warn_of_types(self, values, names, column) -> None:
        """Warn of a name that is a number in some rows and text in others: may be two tasks."""
        if values.dtype != object:
            return
        of_text = values.map(lambda value: isinstance(value, str))
        both = set(names[of_text]) & set(names[~of_text])
        if both:
            warn(
                f"{self.source}, column {self.called.get(column, column)!r}: {min(both)!r} is text "
                f"in some rows and a number in others ({len(both)} such), read as the same name. "
                "If they differ, rename them."
            )

    def whole(self, table, column, least: int) -> pd.Series:
        """A column of whole numbers from `least` on, as int64."""
        values = table[column]
        if values.dtype.kind not in "iu":  # those are whole numbers already
            values = values.astype(object).map(as_whole).astype(object)
        bad = values.isna() | (values.fillna(least) < least) | (values.fillna(least) > LARGEST)
        expected = f"a whole number of at least {least} (a count up to 2^53, never a rate or blank)"
        self.refuse(bad, column, table[column], expected)
        return values.astype("int64")


def _texts(values: pd.Series) -> pd.Series:
    if isinstance(values.dtype, pd.StringDtype):
        texts = {text: as_text(text) for text in values.dropna().unique()}
        same = all(text == plain for text, plain in texts.items())
        return (values if same else values.map(texts)).astype("str")
    return values.astype(object).map(as_text).astype("str")


def _flags_as_attempts(table, check):
    """Turn each list of `pass_flags` into rows of attempts, numbered from 0."""
    both = {"attempt", "passed"} & set(table)
    if both:
        raise OutcomesError(
            f"{check.source}: has {sorted(both)[0]!r} beside 'pass_flags'. Expected one row for "
            "each task, with all its attempts in pass_flags, or one row for each attempt."
        )
    flags = table["pass_flags"].map(lambda v: list(v) if hasattr(v, "__array__") else v)
    check.refuse(
        flags.map(lambda v: not isinstance(v, list) or not v).astype(bool), "pass_flags", flags,
        "a list with true, false or null for each attempt",
    )  # fmt: skip
    for column, of_flags in (("n", len), ("c", lambda v: sum(as_passed(f) is True for f in v))):
        if column in table:
            wrong = check.whole(table, column, 0) != flags.map(of_flags)
            check.refuse(wrong, column, table[column], "the sum of the row's pass_flags")
    table = table.assign(passed=flags).drop(columns=["pass_flags", "n", "c"], errors="ignore")
    table = table.explode("passed")
    table["attempt"] = table.groupby(level=0).cumcount()
    places = [check.place(i) for i in table.index]
    return table.reset_index(drop=True), _Check(check.source, places, check.in_file, check.called)


def _attempts(table, check):
    check.need(table, ["task", "passed"])
    table["task"] = check.names(table, "task")
    if table["passed"].dtype != "boolean":
        table["passed"] = _outcomes(table, check)
    if "attempt" in table:
        table["attempt"] = check.whole(table, "attempt", 0)
        repeated = table.duplicated([*CELL, "task", "attempt"], keep="last")
    else:
        repeated = table.duplicated([*CELL, "task"])
    hint = _hint_on_mixed_columns(table) if repeated.any() else ""
    if "attempt" not in table:
        warn(
            f"{check.source}: no column 'attempt'. Attempts were numbered in the order of their "
            f"rows, so repeated rows would count as further attempts.{hint}"
        )
        table["attempt"] = table.groupby([*CELL, "task"]).cumcount()
        repeated = table.duplicated([*CELL, "task", "attempt"])
    if repeated.any():
        n = repeated.sum()
        warn(
            f"{check.source}: {n} {'row repeats' if n == 1 else 'rows repeat'} the (task, attempt) "
            f"of a later one; the last one counts.{hint}"
        )
    reason = table["reason"] if "reason" in table else pd.Series(None, table.index, dtype=object)
    reason = _texts(reason)
    table["reason"] = reason.mask(table["passed"].isna() & reason.isna(), "no reason given")
    return table[~repeated]


def _outcomes(table, check) -> pd.Series:
    """The column `passed` as booleans, missing where an outcome is."""
    passed = table["passed"].astype(object)
    if meaning := letters(passed):
        passed = passed.map(lambda v: meaning.get(v.strip(), v) if isinstance(v, str) else v)
    passed = passed.astype(object).map(as_passed).astype(object)
    check.refuse(
        passed.map(lambda v: v is None).astype(bool), "passed", table["passed"],
        "true, false (or 1, 0; yes, no; pass, fail; correct, incorrect; C, I), or null for a "
        "missing outcome. For scores, tell importers.load the lowest score of a success: "
        "`threshold=0.5`",
    )  # fmt: skip
    return passed.astype("boolean")


def _hint_on_mixed_columns(table) -> str:
    """What to do about columns that may mix models or runs: most tasks have several values."""
    hint, tasks = "", table["task"].nunique()
    for column in table.columns.difference([*CELL, *SHAPES["attempts"]], sort=False):
        having = table["task"].groupby(_texts(table[column])).nunique()
        if tasks > 1 and len(having) > 1 and (having > tasks / 2).all():
            values = ", ".join(map(repr, having.index[:3])) + ", ..." * (len(having) > 3)
            hint += (
                f" The column {column!r} has several values at one task ({values}). If they are "
                f'data sets, map the column to the benchmark: `columns={{"benchmark": "{column}"}}`'
                f'; if models, to the pair: `columns={{"pair": "{column}"}}`; if numbers of '
                f'attempts: `columns={{"attempt": "{column}"}}`. If they are settings, attempts '
                "under different ones cannot be pooled: make a file of each."
            )
    return hint


def _counts(table, check):
    check.need(table, ["task", "n", "c"])
    table["task"] = check.names(table, "task")
    table = _checked_n_c(table, check)
    check.refuse(
        table.duplicated([*CELL, "task"]), "task", table["task"],
        "one row of counts for each task and arm (blanks around a task's name are ignored). Add up "
        "the counts of disjoint runs, or delete a row",
    )  # fmt: skip
    return table


def _histogram(table, check):
    check.need(table, ["n", "c", "tasks"])
    names = _texts(table["task"]) if "task" in table else pd.Series(None, table.index, dtype="str")
    expected = "no task name in a row of a histogram, which stands for many tasks"
    check.refuse(names.notna(), "task", names, expected)
    table["task"] = names
    table["tasks"] = check.whole(table, "tasks", 0)
    check.refuse(table["tasks"] > _MOST_TASKS, "tasks", table["tasks"], f"at most {_MOST_TASKS}")
    return _checked_n_c(table, check)


def _checked_n_c(table, check):
    written = table["c"]
    for column in ("n", "c"):
        table[column] = check.whole(table, column, 0)
    if len(table) > 1 and table["c"].max() == 1 < table["n"].min():
        check.refuse(
            written.map(_has_decimals).astype(bool), "c", written,
            "counts of successes, but every value here is 0.0 or 1.0 while n is larger, as if they "
            "were rates. Write whole numbers (1 success as 1), or multiply the rates by n",
        )  # fmt: skip
    check.refuse(
        table["c"] > table["n"], "c", table["c"],
        "at most n, since successes cannot outnumber the scored attempts",
    )  # fmt: skip
    table["missing"] = check.whole(table, "missing", 0) if "missing" in table else 0
    return table


def _has_decimals(value) -> bool:
    """Whether a number is written with decimals: 1.0, as a float or as text."""
    return isinstance(value, float | np.floating) or (isinstance(value, str) and "." in value)


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count attempts: a row per (benchmark, pair, arm, task) with `n`, `c` and `missing`.

    Only scored attempts enter n. Tables of counts and histograms come back as they are.
    """
    table = validate(table)
    if kind(table) != "attempts":
        return table
    attempts = table.assign(
        n=table["passed"].notna(),
        c=table["passed"].fillna(False),
        missing=table["passed"].isna(),
    )
    by_task = attempts.groupby([*CELL, "task"], sort=False)[["n", "c", "missing"]]
    return by_task.sum().astype("int64").reset_index()
