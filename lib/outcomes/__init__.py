"""The one table: what every attempt, or every task, came to.

A table of outcomes is a DataFrame in one of three shapes, told apart by its columns:

- *attempts*: a row per (benchmark, pair, arm, task, attempt); `passed` is True, False or missing,
  and `reason` says why it is missing. Missing is never a failure.
- *counts*: a row per (benchmark, pair, arm, task) with `n` scored attempts, `c` successes and
  `missing` attempts without a score.
- *histogram*: as counts, but a row stands for `tasks` tasks whose names are lost (`task` is null).
  Such rows cannot be paired between arms.

Further columns (`model`, say) are carried along as text. Files are Parquet, CSV (.csv, .tsv) or
JSON lines (.jsonl), text plain or packed (.gz); see `read` for the layouts understood.
"""

from lib.outcomes.files import SUFFIXES, from_dataset, read, to_dataset, write
from lib.outcomes.pairing import (
    LARGEST_DEFAULT_BUDGET,
    Alignment,
    Comparison,
    align,
    comparisons,
    default_budget,
)
from lib.outcomes.table import CELL, OutcomesError, OutcomesWarning, counts, kind, validate, warn

__all__ = [
    "CELL",
    "LARGEST_DEFAULT_BUDGET",
    "SUFFIXES",
    "Alignment",
    "Comparison",
    "OutcomesError",
    "OutcomesWarning",
    "align",
    "comparisons",
    "counts",
    "default_budget",
    "from_dataset",
    "kind",
    "read",
    "to_dataset",
    "validate",
    "warn",
    "write",
]
