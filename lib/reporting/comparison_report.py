"""The report on two arms, a base and what was post-trained from it: an HTML page and Markdown."""

import warnings
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from lib import claims, outcomes, plotting
from lib.reporting import arms, comparison_sections, comparison_tasks, comparison_wording
from lib.reporting.comparison_answer import answer
from lib.reporting.figures import multiples_picture
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
    """Write `report.html`, `report.md` and pictures into the folder `out`; return the HTML page.

    The HTML page holds its pictures itself and needs nothing else; `report.md` shows those beside
    it. base, post: logs as `importers.load` takes them, one for each arm, or one file of outcomes
    with both arms, given twice.  max_k: the largest budget; None takes the largest that every task
    of a comparison allows, up to 1024.  choose, columns: as `arms.options_by_arm` takes them.
    Raises OutcomesError for a log that cannot be read and for arms without a common task,
    ValueError for a `max_k` beyond the attempts; then nothing is written.
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
    studies.sort(key=lambda study: -study.tax.gap.value[-1])  # what lost most coverage comes first
    plotting.use_house_style()
    differing = _differing_settings(logs)
    page = {
        "answer": answer(studies),
        "names": {"base": _name(logs["base"], base), "post": _name(logs["post"], post)},
        "warnings": list(dict.fromkeys(messages)),
        "differing": differing,
        "steps": comparison_tasks.next_steps(studies, unequal=not differing.empty),
        "chances": comparison_wording.many_intervals(studies),
        "sections": comparison_sections.sections(studies),
        "multiples": multiples_picture(studies) if len(studies) > 1 else None,
        "read": {
            arm: [line for line in log.report.lines() if line not in messages]
            for arm, log in logs.items()
        },
        "largest_default": outcomes.LARGEST_DEFAULT_BUDGET,
    }
    return _write(page, out)


def _write(page, out) -> Path:
    """Write both pages and the pictures of the Markdown into the folder `out`."""
    as_html = render("comparison_report.html", **page)
    as_markdown = render("comparison_report.md", **page | _in_markdown(page))
    out.mkdir(parents=True, exist_ok=True)
    for section in page["sections"]:
        for picture in section["pictures"]:
            (out / picture["file"]).write_text(picture["svg"], "utf-8")
    if page["multiples"]:
        (out / comparison_sections.MULTIPLES).write_text(page["multiples"], "utf-8")
    (out / "report.md").write_text(as_markdown, "utf-8", "backslashreplace")
    path = out / "report.html"
    path.write_text(as_html, "utf-8", "backslashreplace")
    return path


def _in_markdown(page) -> dict:
    """What of a page is markup already in its Markdown: tables."""
    differing = page["differing"]
    return {
        "differing": None if differing.empty else _table(differing.map(escape_markdown)),
        "sections": [
            section
            | {
                "headline": [Markup(line) for line in section["headline"]],
                "budgets": _table(section["budgets"]),
                "categories": Markup(section["categories"].to_markdown(index=False)),
            }
            for section in page["sections"]
        ],
    }


def _differing_settings(logs):
    """The settings in which the logs differ: columns setting, base, post."""
    from lib.outcomes import importers

    return importers.differing_settings(*logs.values())


def _name(log, path) -> dict[str, str]:
    """The model of an arm as its log has it, "" if it has none, and the name of the log."""
    return {"model": log.report.model, "file": arms.file_name(path)}


def _table(table) -> Markup:
    """A table whose cells are Markdown already."""
    return Markup(table.to_markdown(index=False, disable_numparse=True))
