"""Attempts at many tasks, scored by one policy and its reference: what selection works on."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib.advantage.scores import Scored, as_scored

MADE_BY_ARM = {"base": "base", "post": "post-trained"}
"""Arm of a collection -> what made its attempts, as pictures call it."""


@dataclass(frozen=True)
class ScoredAttempts:
    """Attempts of one model, scored by one policy and its reference; use `ScoredAttempts.of`.

    label: its name in figures and tables.  policy: names the policy that scores.
    made_by: what made the attempts: "base", "post-trained", or another name.
    attempt_set: names the attempts: where two policies score the same ones, it is the same.
    table: a row for each attempt, with the columns of `lib.advantage.scores`, and others.
    scored: the same attempts as arrays.
    left_out: number of attempts that are not here, since they lack an outcome or a score.
    other_scorers: name of a selector -> column of `table` with its scores of trajectories.
    other_references: name of a reference -> column with progress advantage against it.
    """

    label: str
    policy: str
    made_by: str
    attempt_set: str
    table: pd.DataFrame
    scored: Scored
    left_out: int
    other_scorers: Mapping[str, str] = field(default_factory=dict)
    other_references: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: pd.DataFrame, **names) -> "ScoredAttempts":
        """The attempts of a table that have an outcome and a score of every step.

        names: the other fields.
        """
        whole = table["passed"].notna() & (table["missing"] == 0) & (table["turns"] > 0)
        kept = table[whole].reset_index(drop=True)
        return cls(table=kept, scored=as_scored(kept), left_out=int((~whole).sum()), **names)

    @property
    def passed(self) -> NDArray[np.float64]:
        """1 for a success, 0 for a failure, [attempts]."""
        return self.table["passed"].to_numpy(float)

    @property
    def tasks(self) -> NDArray:
        """The task of each attempt, [attempts]."""
        return self.table["task"].to_numpy()

    @property
    def strata(self) -> dict[str, NDArray | None]:
        """Among which attempts scores are compared: all, the same task's, equally long ones."""
        return {"pooled": None, "within task": self.tasks, "equal length": self.scored.steps}


def by_arm(table: pd.DataFrame, benchmarks: Sequence[str] | None = None) -> list[ScoredAttempts]:
    """The attempts of each benchmark, pair and arm of a table, in the order of the table.

    table: as `store.read_table` reads it.  benchmarks: some of its benchmarks; None takes all.

    Raises TypeError for a name in the place of a list, ValueError for a benchmark that the table
    does not have.
    """
    table = table_of(
        table, "benchmark", benchmarks, "benchmarks", list(table["benchmark"].unique())
    )
    return [
        ScoredAttempts.of(
            part,
            label=": ".join(filter(None, (benchmark, f"{pair} {arm}".strip()))),
            policy=": ".join(filter(None, (benchmark, pair))),
            made_by=MADE_BY_ARM.get(arm, arm),
            attempt_set=f"{benchmark} {pair} {arm}",
        )
        for (benchmark, pair, arm), part in table.groupby(["benchmark", "pair", "arm"], sort=False)
    ]


def table_of(
    table: pd.DataFrame, column: str, wanted: Sequence[str] | None, name: str, known: Sequence[str]
) -> pd.DataFrame:
    """The rows whose column has one of the wanted values; None takes all.

    name: of the parameter, for errors.  known: the values that there are.
    """
    if isinstance(wanted, str):
        raise TypeError(f"{name} is {wanted!r}: expected a list, [{wanted!r}]")
    unknown = [value for value in wanted or () if value not in known]
    if unknown:
        raise ValueError(f"{name} has {unknown[0]!r}: expected some of {', '.join(known)}")
    return table if wanted is None else table[table[column].isin(wanted)]


def sets_in_words(settings: Sequence[ScoredAttempts]) -> str:
    """How many sets of attempts the settings are of, and which settings share one."""
    sets: dict[str, list[str]] = {}
    for setting in settings:
        sets.setdefault(setting.attempt_set, []).append(setting.label)
    shared = [" and ".join(labels) for labels in sets.values() if len(labels) > 1]
    plural = ["s" * (number != 1) for number in (len(settings), len(sets))]
    text = f"{len(settings)} setting{plural[0]} of {len(sets)} set{plural[1]} of attempts"
    return text + "".join(
        f"; the same attempts, scored by several policies: {labels}" for labels in shared
    )


def by_policy(settings: Sequence[ScoredAttempts]) -> dict[str, dict[str, ScoredAttempts]]:
    """The settings that one policy scores: what their labels share -> what made the attempts."""
    grouped: dict[str, list[ScoredAttempts]] = {}
    for setting in settings:
        grouped.setdefault(setting.policy, []).append(setting)
    return {
        _shared_label([setting.label for setting in group]): {
            setting.made_by: setting for setting in group
        }
        for group in grouped.values()
    }


def _shared_label(labels: Sequence[str]) -> str:
    """The words that labels begin with; the first label where they share none, or it is alone."""
    if len(labels) == 1:
        return labels[0]
    columns = zip(*(label.split(" ") for label in labels), strict=False)
    shared = itertools.takewhile(lambda words: len(set(words)) == 1, columns)
    return " ".join(words[0] for words in shared).rstrip(":") or labels[0]


def one_a_set(settings: Sequence[ScoredAttempts]) -> list[ScoredAttempts]:
    """The first setting of each set of attempts: what is true of the attempts needs no policy."""
    first: dict[str, ScoredAttempts] = {}
    for setting in settings:
        first.setdefault(setting.attempt_set, setting)
    return list(first.values())


def transcript(
    attempts: ScoredAttempts, row: int, words: Mapping[int, str] | None = None
) -> list[dict]:
    """The steps of one attempt: of each its "words", and both scores of its tokens by name.

    words: token id -> text; an id without one is shown as a number.
    """
    attempt = attempts.table.iloc[row]
    ends = np.cumsum(attempt["counts"])[:-1]
    policy, reference = (np.asarray(attempt[name], float) for name in ("policy", "reference"))
    columns = {
        "words": [(words or {}).get(int(token), str(token)) for token in attempt["tokens"]],
        "policy log-prob": policy,
        "progress advantage": policy - reference,
    }
    parts = {name: np.split(np.asarray(values), ends) for name, values in columns.items()}
    return [{name: part[i] for name, part in parts.items()} for i in range(len(ends) + 1)]


def two_attempts(attempts: ScoredAttempts) -> tuple[int, int]:
    """Rows of a success and of a failure of one task: of the task with most of both, the first."""
    both = attempts.table.groupby("task")["passed"].agg(
        lambda passed: min(passed.sum(), (~passed).sum())
    )
    rows = attempts.table[attempts.table["task"] == both.idxmax()]
    return int(rows.index[rows["passed"]][0]), int(rows.index[~rows["passed"]][0])
