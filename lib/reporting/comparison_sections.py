"""What the page on two arms shows of each comparison, as plain data for its templates."""

import re
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from lib import claims, metrics
from lib.metrics.formatting import with_interval
from lib.reporting import comparison_tasks, comparison_wording, tables
from lib.reporting.comparison_answer import answer, certainty, one_pair, percents
from lib.reporting.figures import panel_picture, panels_of

MANY, OPEN = 6, 3
"""More comparisons than MANY are folded, and only the first OPEN of them have large panels."""
LISTED, FOLDED = 10, 500
"""Tasks of a list that are shown, and those after them that can be unfolded."""
MULTIPLES = "00-all.svg"
"""The file of the picture with all comparisons as small panels."""


def sections(studies: Sequence[claims.Study]) -> list[dict]:
    """What the page shows of each comparison, in this order; pictures are SVG texts."""
    drawn = len(studies) if len(studies) <= MANY else OPEN
    name = attrgetter("benchmark" if one_pair(studies) and len(studies) > 1 else "label")
    same_K = len({study.tax.K for study in studies}) == 1
    return [
        _section(study, number, number <= drawn)
        | {"name": name(study.comparison), "summary": _summary(study, same_K)}
        for number, study in enumerate(studies, 1)
    ]


def _section(study, number, drawn) -> dict:
    comparison, tax = study
    size = len(comparison.base.c)
    moved = comparison_tasks.moved_tasks(comparison)
    return {
        "number": number,
        "label": comparison.label,
        "answer": answer([study]),
        "drawn": drawn,
        "named": tax.paired,
        "headline": comparison_wording.headline(tax),
        "tasks": f"{size} task{'s' if size > 1 else ''}" if tax.paired else "A histogram of tasks",
        "intervals": bool(np.isfinite(tax.gap.at(1).low)),
        "pictures": _pictures(study, number) if drawn else [],
        "coverage": _coverage_rows(tax),
        "budgets": tables.budget_table(tax),
        "categories": tables.category_table([study]).drop(columns=["benchmark", "pair"]),
        "moved": {kind: _listed(rows) for kind, rows in moved.items()},
        "by_chance": comparison_tasks.lost_by_chance(comparison),
        "remarks": comparison_wording.remarks([study]),
    }


def _summary(study, same_K) -> dict[str, str]:
    """The row of a comparison in the table of all of them."""
    tax = study.tax
    gap = tax.gap.at(tax.K)
    return {
        "coverage": _change(tax, tax.K) + ("" if same_K else f" at {tax.K}"),
        "difference": _points(gap),
        "sure": certainty(gap),
        "one": _change(tax, 1),
    }


def _change(tax, k) -> str:
    base, post = percents(tax.coverage_base.at(k).value, tax.coverage_post.at(k).value)
    return f"{base} → {post}"


def _points(gap) -> str:
    """A difference in percentage points, with its interval."""
    return with_interval(metrics.Band(*(100 * part for part in gap)), 1)


def _coverage_rows(tax) -> list[dict[str, str]]:
    """A row a budget, 1, 2, 4 ... K: both arms' coverage and the difference in points."""
    rows = []
    for k in sorted({2**i for i in range(tax.K.bit_length()) if 2**i <= tax.K} | {tax.K}):
        base, post = percents(tax.coverage_base.at(k).value, tax.coverage_post.at(k).value)
        rows.append({"k": k, "base": base, "post": post, "difference": _points(tax.gap.at(k))})
    return rows


def _pictures(study, number) -> list[dict[str, str]]:
    # Names may hold any character, so the number is what tells pictures apart.
    stem = f"{number:02}-" + re.sub(r"[^\w.-]+", "-", study.comparison.label)[:60]
    pictures = []
    for place, (title, draw) in enumerate(panels_of(study), 1):
        svg = panel_picture(draw)
        pictures.append({"title": title, "file": f"{stem}-{place}.svg", "svg": svg})
    return pictures


def _listed(rows) -> dict:
    """The tasks of a list: those shown, those folded, and how many are not even there."""
    listed = rows.assign(chance=[_small(value) for value in rows["chance"]]).to_dict("records")
    return {
        "count": len(listed),
        "shown": listed[:LISTED],
        "folded": listed[LISTED : LISTED + FOLDED],
        "rest": max(len(listed) - LISTED - FOLDED, 0),
    }


def _small(chance) -> str:
    return "< 0.001" if chance < 0.001 else f"{chance:.3f}"
