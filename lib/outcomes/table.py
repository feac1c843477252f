"""The schema: columns and types of a table of outcomes, checked, and attempts counted."""

import itertools
import warnings
from collections import Counter
from collections.abc import Iterable

import pandas as pd

from lib.outcomes.values import LARGEST, as_name, as_passed, as_text, as_whole, letters, shown

CELL = ["benchmark", "pair", "arm"]
_ALIASES = {"task_id": "task", "rollouts": "n", "successes": "c"}
_SHAPES = {
    "attempts": ["task", "attempt", "passed", "reason"],
    "counts": ["task", "n", "c", "missing"],
    "histogram": ["task", "tasks", "n", "c", "missing"],
}


FIELDS = frozenset(
    {*CELL, *_ALIASES, *itertools.chain(*_SHAPES.values()), "pass_flags"} - {"reason"}
)
"""Names that decide how a row counts."""


def aside(named: set[str], table: pd.DataFrame) -> list[str]:
    """Columns that would be taken for what other columns were named as: one of ours, `named`.

    These are columns of a name that was given to another, and those of other shapes.
    """
    shapes = [*map(set, _SHAPES.values()), {"task", "pass_flags", "n", "c"}]
    possible = [shape for shape in shapes if named <= {*CELL, *shape}]
    taken = named | (set().union(*shapes) - set().union(*possible) if possible else set())
    return [column for column in table if _ALIASES.get(column, column) in taken]


def spelled(columns: Iterable[str], keep: Iterable[str] = ()) -> dict[str, str]:
    """Names to ours, where they are so but for capitals and blanks (" Passed") and for one alone.

    keep: names that are meant as they are.
    """
    columns, keep = list(columns), set(keep)
    plain = {name: name.strip().casefold() for name in columns if isinstance(name, str)}
    ours = FIELDS | {"reason"}
    if {"passed", "pass_flags"} & set(plain.values()):
        ours -= {"n", "c", "tasks", "missing"}  # which would be something else there
    often = Counter(_ALIASES.get(one, one) for one in plain.values())
    return {
        name: one
        for name, one in plain.items()
        if name != one and one in ours and name not in keep and often[_ALIASES.get(one, one)] == 1
    }


class OutcomesError(ValueError):
    """Bad input: says where it is, what was expected there, and what to do."""


class OutcomesWarning(UserWarning):
    """Input that could be read, but not all of it or not without doubt."""


def kind(table: pd.DataFrame) -> str:
    """`attempts`, `counts` or `histogram`, by the columns of the table."""
    if "passed" in table:
        return "attempts"
    return "histogram" if "tasks" in table else "counts"


def validate(
    table: pd.DataFrame,
    *,
    source: str = "table",
    where: list[str] | None = None,
    called: dict[str, str] | None = None,
    **defaults: str,
) -> pd.DataFrame:
    """Check a table and bring it into its canonical columns and types.

    source, where, called: what to call the table, each row of it, and columns (those whose names
    were others in the file), in errors.
    defaults: values for `benchmark`, `pair`, `arm` where the table has no such column.
    Raises OutcomesError; warns as `read` does. A valid table comes back as it is.
    """
    unknown = set(defaults) - set(CELL)
    if unknown:
        raise OutcomesError(f"{sorted(unknown)}: expected defaults for {', '.join(CELL)} only.")
    check = _Check(source, where, table, called or {})
    table = _named(table, source)
    if "pass_flags" in table:
        table, check = _one_row_an_attempt(table, check)
    for column in CELL:
        given = defaults.get(column) or {"benchmark": "default", "pair": "default"}.get(column)
        if column not in table:
            if given is None:
                raise OutcomesError(
                    f"{source}: no column {column!r}, and no default was given for it. Add the "
                    f'column, or say it when reading: read(path, {column}="base").'
                )
            table[column] = given
        table[column] = check.names(table, column)
    if {"rl", "post"} <= set(table["arm"].unique()):
        raise OutcomesError(
            f"{source}: has the arms 'rl' and 'post', which mean the same. Rename one of them."
        )
    table["arm"] = table["arm"].replace({"rl": "post"})
    shape = kind(table)
    if "attempt" in table and shape != "attempts" and not {"n", "c"} <= set(table):
        check.need(table, ["task", "passed"])  # one of n, c and tasks alone counts nothing
    foreign = set(table) & set().union(*_SHAPES.values()) - set(_SHAPES[shape])
    if shape == "attempts" and not {"n", "c"} <= foreign:
        foreign = set()  # which is carried along
    if foreign:
        raise OutcomesError(
            f"{source}: column {', '.join(map(repr, sorted(foreign)))} in a table of {shape}; "
            "expected attempts (task, attempt, passed), counts (task, n, c) or a histogram (tasks, "
            "n, c)."
        )
    table = {"attempts": _attempts, "counts": _counts, "histogram": _histogram}[shape](table, check)
    known = [*CELL, *_SHAPES[shape]]
    further = [column for column in table if column not in known]
    for column in further:
        table[column] = _texts(table[column])
    return table[known + further].reset_index(drop=True)


def _named(table, source) -> pd.DataFrame:
    """A copy with our names of columns, each there once, its values as plain objects or numbers."""
    doubled = table.columns[table.columns.duplicated()]
    if len(doubled):
        raise OutcomesError(f"{source}: column {doubled[0]!r} is there twice; drop one of the two.")
    for other, ours in _ALIASES.items():
        if other in table and ours in table:
            raise OutcomesError(
                f"{source}: has both {other!r} and {ours!r}, which mean the same here. Drop or "
                "rename the one that is not meant."
            )
    table = table.rename(columns=_ALIASES).reset_index(drop=True)
    coded = [column for column in table if isinstance(table[column].dtype, pd.CategoricalDtype)]
    return table.astype(dict.fromkeys(coded, object))


class _Check:
    """Checks columns, and words the errors: which source, line, column, value, and the remedy."""

    def __init__(self, source: str, where: list[str] | None, has: Iterable[str], called: dict):
        self.source, self.where, self.called = source, where, called
        self.has = [called.get(name, name) for name in has]

    def refuse(self, bad: pd.Series, column: str, values, expected: str):
        if bad.any():
            i = int(bad.to_numpy().argmax())
            more = f" ({bad.sum()} rows like this)" if bad.sum() > 1 else ""
            raise OutcomesError(
                f"{self.source}, {self.place(i)}, column {self.called.get(column, column)!r}: got "
                f"{shown(values.iloc[i])}, expected {expected}.{more}"
            )

    def place(self, i: int) -> str:
        return self.where[i] if self.where else f"row {i + 1}"

    def need(self, table, columns):
        absent = [column for column in columns if column not in table]
        if absent and not {"passed", "n", "c"} & set(table):
            absent = [*(name for name in absent if name == "task"), "passed"]
        if absent:
            named = ", ".join(f'"{name}": "..."' for name in absent)
            told = " ".join(f"--column {name}=..." for name in absent)
            raise OutcomesError(
                f"{self.source}: no column {', '.join(map(repr, absent))}; it has "
                f"{', '.join(map(repr, self.has))}{self._given(absent)}. Expected task with passed "
                "(attempts), task_id with pass_flags, task with n and c (counts), or n, c and "
                f"tasks (a histogram). If it has other names, say them: columns={{{named}}} (on "
                f"the command line: {told})."
            )

    def _given(self, absent) -> str:
        """Which of the absent columns are there and were given another name."""
        given = {was: now for now, was in self.called.items() if was in absent}
        return "".join(f" ({was!r} was named as {now!r})" for was, now in given.items())

    def names(self, table, column) -> pd.Series:
        """A column of names as text; those that differ in blanks around them are one."""
        values = table[column]
        if isinstance(values.dtype, pd.StringDtype):  # equal texts are equally good names
            names = values.map({name: as_name(name) for name in values.dropna().unique()})
        else:
            names = values.astype(object).map(as_name)
        expected = "a name: text that UTF-8 can write, or a whole number"
        self.refuse(names.isna(), column, values, expected)
        names, written = names.astype(str), values.astype(str)
        if not names.equals(written):
            spellings = written.groupby(names, sort=False).unique()
            for name, of in spellings[spellings.map(len) > 1].items():
                warn(
                    f"{self.source}, column {self.called.get(column, column)!r}: "
                    f"{' and '.join(map(repr, of))} differ only in blanks around them, and were "
                    f"read as one, {name!r}. If they are not, give them names of their own."
                )
        return names

    def whole(self, table, column, least: int) -> pd.Series:
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


def _one_row_an_attempt(table, check):
    """`pass_flags`, a list a task, becomes one row an attempt, numbered from 0."""
    both = {"attempt", "passed"} & set(table)
    if both:
        raise OutcomesError(
            f"{check.source}: {sorted(both)[0]!r} beside pass_flags; expected a row a task with "
            "all its attempts in pass_flags, or a row an attempt."
        )
    flags = table["pass_flags"].map(lambda v: list(v) if hasattr(v, "__array__") else v)
    check.refuse(
        flags.map(lambda v: not isinstance(v, list) or not v).astype(bool), "pass_flags", flags,
        "a list of true, false or null, one an attempt",
    )  # fmt: skip
    for column, of_flags in (("n", len), ("c", lambda v: sum(as_passed(f) is True for f in v))):
        if column in table:
            wrong = check.whole(table, column, 0) != flags.map(of_flags)
            check.refuse(wrong, column, table[column], "what the pass_flags of the row add up to")
    table = table.assign(passed=flags).drop(columns=["pass_flags", "n", "c"], errors="ignore")
    table = table.explode("passed")
    table["attempt"] = table.groupby(level=0).cumcount()
    check = _Check(check.source, [check.place(i) for i in table.index], check.has, check.called)
    return table.reset_index(drop=True), check


def _attempts(table, check):
    check.need(table, ["task", "passed"])
    table["task"] = check.names(table, "task")
    if table["passed"].dtype != "boolean":
        passed = table["passed"].astype(object)
        if meaning := letters(passed):
            passed = passed.map(lambda v: meaning.get(v.strip(), v) if isinstance(v, str) else v)
        passed = passed.astype(object).map(as_passed).astype(object)
        check.refuse(
            passed.map(lambda v: v is None).astype(bool), "passed", table["passed"],
            "true, false (or 1, 0; yes, no; pass, fail; correct, incorrect; C, I), or null for a "
            "missing outcome; if it is a score, say to importers.load from which on it is a "
            "success: threshold=0.5 (on the command line: --choose threshold=0.5)",
        )  # fmt: skip
        table["passed"] = passed.astype("boolean")
    if "attempt" in table:
        table["attempt"] = check.whole(table, "attempt", 0)
        repeated = table.duplicated([*CELL, "task", "attempt"], keep="last")
    else:
        repeated = table.duplicated([*CELL, "task"])
    crossed = _crossed(table) if repeated.any() else ""
    if "attempt" not in table:
        warn(
            f"{check.source}: no column 'attempt'; attempts are numbered in the order of their "
            f"rows, and a repeated one cannot be told from a new one.{crossed}"
        )
        table["attempt"] = table.groupby([*CELL, "task"]).cumcount()
        repeated = table.duplicated([*CELL, "task", "attempt"])
    if repeated.any():
        n = repeated.sum()
        warn(
            f"{check.source}: {n} {'row repeats' if n == 1 else 'rows repeat'} the (task, attempt) "
            f"of a later one; the last one wins.{crossed}"
        )
    reason = table["reason"] if "reason" in table else pd.Series(None, table.index, dtype=object)
    reason = _texts(reason)
    table["reason"] = reason.mask(table["passed"].isna() & reason.isna(), "no reason given")
    return table[~repeated]


def _crossed(table) -> str:
    """What to know of columns with values that most tasks have each: models or runs, mixed."""
    told, tasks = "", table["task"].nunique()
    for column in table.columns.difference([*CELL, *_SHAPES["attempts"]], sort=False):
        having = table["task"].groupby(_texts(table[column])).nunique()
        if tasks > 1 and len(having) > 1 and (having > tasks / 2).all():
            values = ", ".join(map(repr, having.index[:3])) + ", ..." * (len(having) > 3)
            told += (
                f" The column {column!r} has several values at one task ({values}). If those are "
                f'data sets, name it as the benchmark, columns={{"benchmark": "{column}"}} (on '
                f"the command line: --column benchmark={column}); if models, as the pair, --column "
                f"pair={column}; if they number the attempts, --column attempt={column}. If they "
                "are settings, attempts under unlike ones cannot be pooled: make a file of each."
            )
    return told


def _counts(table, check):
    check.need(table, ["task", "n", "c"])
    table["task"] = check.names(table, "task")
    table = _checked_n_c(table, check)
    repeated = table.duplicated([*CELL, "task"])
    check.refuse(
        repeated, "task", table["task"],
        "one row of counts a task (blanks around its name are no part of it) in each arm; add up "
        "the counts of disjoint runs, or delete one",
    )  # fmt: skip
    return table


_MOST_TASKS = 10**7
"""Tasks in a row of a histogram; no benchmark has as many, so more are a count of other things."""


def _histogram(table, check):
    check.need(table, ["n", "c", "tasks"])
    names = _texts(table["task"]) if "task" in table else pd.Series(None, table.index, dtype="str")
    expected = "no task name in a histogram row, which stands for many"
    check.refuse(names.notna(), "task", names, expected)
    table["task"] = names
    table["tasks"] = check.whole(table, "tasks", 0)
    check.refuse(table["tasks"] > _MOST_TASKS, "tasks", table["tasks"], f"at most {_MOST_TASKS}")
    return _checked_n_c(table, check)


def _checked_n_c(table, check):
    for column in ("n", "c"):
        table[column] = check.whole(table, column, 0)
    check.refuse(
        table["c"] > table["n"], "c", table["c"],
        "at most n: successes cannot outnumber the scored attempts (a rate above 1)",
    )  # fmt: skip
    table["missing"] = check.whole(table, "missing", 0) if "missing" in table else 0
    return table


def warn(message: str) -> None:
    """Say what could not be read without doubt, as an OutcomesWarning."""
    warnings.warn(message, OutcomesWarning, stacklevel=4)


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
