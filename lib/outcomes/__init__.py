"""The one table: what came of every attempt, or of every task.

A table of outcomes is a DataFrame in one of three shapes, recognised by its columns:

- *attempts*: a row per (benchmark, pair, arm, task, attempt); `passed` is True, False or missing,
  and `reason` says why it is missing. Missing is never a failure.
- *counts*: a row per (benchmark, pair, arm, task) with `n` scored attempts, `c` successes and
  `missing` attempts without a score.
- *histogram*: as counts, but a row stands for `tasks` tasks without names (`task` is null). Its
  tasks cannot be paired between arms.

Further columns (`model`, say) are kept as text. Files are Parquet, CSV (.csv, .tsv) or JSON lines
(.jsonl), text plain or packed (.gz); see `read` for the layouts understood. Logs of other tools are
read by `lib.outcomes.importers`.

    >>> import pandas as pd
    >>> from lib import outcomes
    >>> attempts = pd.DataFrame({"task": ["a", "a"], "attempt": [0, 1], "passed": [True, None]})
    >>> base = outcomes.validate(attempts, arm="base")
    >>> post = outcomes.validate(pd.DataFrame({"task": ["a"], "n": [2], "c": [2]}), arm="post")
    >>> outcomes.counts(base)[["task", "n", "c", "missing"]].to_dict("records")
    [{'task': 'a', 'n': 1, 'c': 1, 'missing': 1}]
    >>> (comparison,) = outcomes.comparisons(pd.concat([outcomes.counts(base), post]))
    >>> comparison.max_k, comparison.missing
    (1, {'base': 1, 'post': 0})
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["importers"],
    submod_attrs={
        "columns": ["CELL"],
        "errors": ["OutcomesError", "OutcomesWarning", "warn"],
        "files": ["SUFFIXES", "from_dataset", "read", "to_dataset", "write"],
        "pairing": [
            "LARGEST_DEFAULT_BUDGET",
            "Alignment",
            "Comparison",
            "align",
            "comparisons",
            "default_budget",
        ],
        "table": ["counts", "kind", "validate"],
    },
)
