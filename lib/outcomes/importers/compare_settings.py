"""What tells two arms apart besides their training: how they were sampled, and how scored."""

from pathlib import Path

import pandas as pd
from scipy.stats import binom

from lib import outcomes
from lib.outcomes import contents
from lib.outcomes.importers.attempts import Imported
from lib.outcomes.importers.reports import SETTINGS, one_document
from lib.outcomes.wording import cut, shortened


def differing_settings(base: Imported, post: Imported) -> pd.DataFrame:
    """What differs between two logs and should not: columns setting, base, post; a row a thing.

    Those are the format, the rule that scored, the decoding settings, the attempts a task, other
    conditions that a log tells (shots, versions of tasks, limits), and the documents of tasks that
    both have. One log given for both arms, as one file or as two that tell the same outcomes, has a
    row too, since its tax is 0 whatever the models do.
    What one log records and the other does not may differ, and is shown.
    """
    rows = []
    reports = [log.report for log in (base, post)]
    for name, values in (
        ("format", [one.format for one in reports]),
        ("scored by", [one.scorer or "not recorded" for one in reports]),
        ("threshold", ["none" if one.threshold is None else str(one.threshold) for one in reports]),
    ):
        if values[0] != values[1]:
            rows.append([name, *values])
    if not _two_arms_in(base, post):
        if _one_content(base, post):
            rows.append(["log", *(_shown(log.report.files) for log in (base, post))])
        elif _one_table(base, post):
            same = "the same successes and attempts at every task: one log, in two files?"
            rows.append(["outcomes", Path(base.report.files[0]).name, same])
    rows += _unequal_settings(*reports)
    return pd.DataFrame(rows, columns=["setting", "base", "post"])


def _unequal_settings(base, post) -> list[list[str]]:
    rows = []
    for name in SETTINGS:
        values = [sorted(report.settings.get(name, [])) for report in (base, post)]
        if values[0] != values[1]:
            rows.append([name, *(", ".join(map(str, v)) or "not recorded" for v in values)])
    rows += _unequal_conditions(base, post)
    rows += _other_documents(base, post)
    if base.tried != post.tried:
        spans = [f"{a} to {b}" if a != b else str(a) for a, b in (base.tried, post.tried)]
        rows.append(["attempts a task", *spans])
    return rows


def _unequal_conditions(base, post) -> list[list[str]]:
    """A row for each condition that differs, its tasks together where they differ alike."""
    groups = {}
    ofs = [{of for _, of in report.conditions} for report in (base, post)]
    for name, of in dict.fromkeys([*base.conditions, *post.conditions]):
        values = [report.conditions.get((name, of), set()) for report in (base, post)]
        if values[0] != values[1] and (not of or (of in ofs[0] and of in ofs[1])):
            told = tuple(cut("; ".join(sorted(v)) or "not recorded") for v in values)
            groups.setdefault((name, *told), []).append(of)
    return [
        [f"{name} ({shortened(of)})" if any(of) else name, *told]
        for (name, *told), of in groups.items()
    ]


def _other_documents(base, post) -> list[list[str]]:
    """A row where tasks of one name hold another document in the other arm."""
    both = base.documents.keys() & post.documents.keys()
    other = [
        task
        for benchmark, task in base.documents
        if (benchmark, task) in both
        and not one_document(base.documents[benchmark, task], post.documents[benchmark, task])
    ]
    if not other:
        return []
    named = shortened([repr(task) for task in other])
    return [["documents", f"those of {len(other)} of {len(both)} tasks ({named})", "others"]]


def _two_arms_in(*logs) -> bool:
    """Whether a log holds both arms, so that it may well be given for both."""
    return any(len(log.outcomes["arm"].unique()) > 1 for log in logs)


def _one_content(base, post) -> bool:
    """Whether all files of an arm are the other's too, packed or not."""
    first, second = (
        {contents.digest(Path(file)) for file in log.report.files} for log in (base, post)
    )
    return first <= second or second <= first


def _one_table(base, post) -> bool:
    """Whether both arms have the same counts at every task, as two samplings hardly ever have."""
    named = ["benchmark", "task", "n", "c", "missing", "tasks"]
    tables = [outcomes.counts(log.outcomes) for log in (base, post)]
    tables = [table[[name for name in named if name in table]] for table in tables]
    first, second = (table.sort_values(named[:5], ignore_index=True) for table in tables)
    if not first.equals(second):
        return False
    scored = first[first["n"] > 0]
    # How often attempts of these rates succeed as often again; 1 where all do, or none.
    by_chance = binom.pmf(scored["c"], scored["n"], scored["c"] / scored["n"]).prod()
    return bool(by_chance < 1e-3)


def _shown(files) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"the same content: {Path(files[0]).name}{more}"
