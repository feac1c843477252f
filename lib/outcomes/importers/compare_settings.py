"""What two arms differ in besides their training: how they were sampled, and how scored."""

from pathlib import Path

import pandas as pd
from scipy.stats import binom

from lib import outcomes
from lib.outcomes import contents
from lib.outcomes.errors import cut, first_few
from lib.outcomes.importers.attempts import Imported
from lib.outcomes.importers.reports import SETTINGS, same_document


def differing_settings(base: Imported, post: Imported) -> pd.DataFrame:
    """What differs between the logs of two arms and should not: columns setting, base, post.

    Compared are the format, the scoring rule, the decoding settings, the attempts per task, other
    conditions that logs record (shots, versions of tasks, limits), and the documents of the tasks
    that both have. A setting that only one log records has a row, since it may differ.
    One log given for both arms, as one file or as two files with the same outcomes, also has a row,
    since its tax is 0 whatever the models do.
    """
    rows = []
    reports = [log.report for log in (base, post)]
    for name, values in (
        ("format", [report.format for report in reports]),
        ("scored by", [report.scorer or "not recorded" for report in reports]),
        ("threshold", ["none" if r.threshold is None else str(r.threshold) for r in reports]),
    ):
        if values[0] != values[1]:
            rows.append([name, *values])
    if not _holds_two_arms(base, post):
        if _same_files(base, post):
            rows.append(["log", *(_files(log.report.files) for log in (base, post))])
        elif _same_counts(base, post):
            same = "the same successes and attempts at every task: one log, in two files?"
            rows.append(["outcomes", Path(base.report.files[0]).name, same])
    rows += _differing_decoding(*reports)
    rows += _differing_conditions(*reports)
    rows += _differing_documents(*reports)
    if reports[0].tried != reports[1].tried:
        spans = [f"{a} to {b}" if a != b else str(a) for a, b in (r.tried for r in reports)]
        rows.append(["attempts a task", *spans])
    return pd.DataFrame(rows, columns=["setting", "base", "post"])


def _differing_decoding(base, post) -> list[list[str]]:
    rows = []
    for name in SETTINGS:
        values = [sorted(report.settings.get(name, [])) for report in (base, post)]
        if values[0] != values[1]:
            rows.append([name, *(", ".join(map(str, v)) or "not recorded" for v in values)])
    return rows


def _differing_conditions(base, post) -> list[list[str]]:
    """A row for each condition that differs; tasks that differ in the same way share one."""
    groups = {}
    scopes = [{scope for _, scope in report.conditions} for report in (base, post)]
    for name, scope in dict.fromkeys([*base.conditions, *post.conditions]):
        values = [report.conditions.get((name, scope), set()) for report in (base, post)]
        in_both = not scope or (scope in scopes[0] and scope in scopes[1])
        if values[0] != values[1] and in_both:
            texts = tuple(cut("; ".join(sorted(v)) or "not recorded") for v in values)
            groups.setdefault((name, *texts), []).append(scope)
    return [
        [f"{name} ({first_few(tasks)})" if any(tasks) else name, *texts]
        for (name, *texts), tasks in groups.items()
    ]


def _differing_documents(base, post) -> list[list[str]]:
    """A row if tasks of one name hold another document in the other arm."""
    both = base.documents.keys() & post.documents.keys()
    differing = [
        task
        for benchmark, task in base.documents
        if (benchmark, task) in both
        and not same_document(base.documents[benchmark, task], post.documents[benchmark, task])
    ]
    if not differing:
        return []
    names = first_few([repr(task) for task in differing])
    return [["documents", f"those of {len(differing)} of {len(both)} tasks ({names})", "others"]]


def _holds_two_arms(*logs) -> bool:
    """Whether a log holds both arms, and may well be given for both."""
    return any(len(log.outcomes["arm"].unique()) > 1 for log in logs)


def _same_files(base, post) -> bool:
    """Whether all files of one arm, unpacked, are files of the other, too."""
    first, second = (
        {contents.digest(Path(file)) for file in log.report.files} for log in (base, post)
    )
    return first <= second or second <= first


def _same_counts(base, post) -> bool:
    """Whether both arms have the same counts at every task, which two samplings hardly ever do."""
    named = ["benchmark", "task", "n", "c", "missing", "tasks"]
    tables = [outcomes.counts(log.outcomes) for log in (base, post)]
    tables = [table[[name for name in named if name in table]] for table in tables]
    first, second = (table.sort_values(named[:5], ignore_index=True) for table in tables)
    if not first.equals(second):
        return False
    scored = first[first["n"] > 0]
    # The chance that another sampling at these rates gives the same counts; 1 where all rates are
    # 0 or 1.
    by_chance = binom.pmf(scored["c"], scored["n"], scored["c"] / scored["n"]).prod()
    return bool(by_chance < 1e-3)


def _files(files) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"the same content: {Path(files[0]).name}{more}"
