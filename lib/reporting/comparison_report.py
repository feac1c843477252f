"""The one-page report on two arms: a base and what was post-trained from it."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from markupsafe import Markup

from lib import claims, outcomes, plotting
from lib.reporting import arms, comparison_wording, tables
from lib.reporting.figures import save_overview
from lib.reporting.templates import escape_markdown, render


def compare(
    base: str | Path,
    post: str | Path,
    *,
    out: str | Path,
    max_k: int | None = None,
    choose: Mapping[str, object] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Path:
    """Write `report.md` and a figure for each comparison into the folder `out`; return the page.

    base, post: logs as `importers.load` takes them, one for each arm, or one file of outcomes with
    both arms, given twice.  max_k: the largest budget; None takes the largest that every task of a
    comparison allows, up to 1024.  choose, columns: as `arms.options_by_arm` takes them. Raises
    OutcomesError for a log that cannot be read and for arms without a common task, ValueError for
    a `max_k` beyond the attempts; then nothing is written.
    """
    out = Path(out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", outcomes.OutcomesWarning)
        logs, table = arms.read_arms(base, post, choose, columns)
        comparisons = outcomes.comparisons(table)
    messages = [str(w.message) for w in caught if issubclass(w.category, outcomes.OutcomesWarning)]
    studies = [
        claims.Study(
            comparison,
            comparison.tax(outcomes.default_budget([comparison]) if max_k is None else max_k),
        )
        for comparison in comparisons
    ]
    out.mkdir(parents=True, exist_ok=True)
    text = render(
        "comparison_report.md",
        base=arms.file_name(base),
        post=arms.file_name(post),
        warnings=list(dict.fromkeys(messages)),
        differing=_differing_settings(logs),
        sections=_sections(studies, out),
        read={
            arm: [line for line in log.report.lines() if line not in messages]
            for arm, log in logs.items()
        },
        largest_default=outcomes.LARGEST_DEFAULT_BUDGET,
    )
    page = out / "report.md"
    page.write_text(text, "utf-8")
    return page


def _differing_settings(logs) -> Markup | None:
    """The settings in which the logs differ as a table; None where they agree."""
    from lib.outcomes import importers

    differing = importers.differing_settings(*logs.values())
    return None if differing.empty else _markdown_table(differing.map(escape_markdown))


def _sections(studies, out) -> list[dict]:
    """Draw each comparison into the folder `out`; return what the page shows of each."""
    plotting.use_house_style()
    sections = []
    for number, study in enumerate(studies, 1):
        # Names may hold any character, so the number is what tells pictures apart.
        name = f"{number:02}-" + re.sub(r"[^\w.-]+", "-", study.comparison.label)[:60] + ".png"
        save_overview(study, out / name)
        sections.append(_section(study, name))
    return sections


def _section(study, picture) -> dict:
    comparison, tax = study
    size = len(comparison.base.c)
    categories = tables.category_table([study]).drop(columns=["benchmark", "pair"])
    return {
        "label": comparison.label,
        "headline": [Markup(line) for line in comparison_wording.headline(tax)],
        "tasks": f"{size} task{'s' if size > 1 else ''}" if tax.paired else "A histogram of tasks",
        "intervals": np.isfinite(tax.tax_A.at(tax.K).low),
        "picture": Markup(picture),
        "budgets": _markdown_table(tables.budget_table(tax)),
        "categories": Markup(categories.to_markdown(index=False)),
        "remarks": [*comparison_wording.remarks([study]), *comparison_wording.advice(tax)],
    }


def _markdown_table(table) -> Markup:
    """A table whose cells are Markdown already."""
    return Markup(table.to_markdown(index=False, disable_numparse=True))
