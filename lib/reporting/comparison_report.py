"""The one-page report on two arms, and figures saved the same way every time."""

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lib import ROOT, claims, metrics, outcomes, plotting
from lib.outcomes import importers
from lib.reporting import tables

_KINDS = (".gz", ".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".eval")

_PLACES = {
    "figure.constrained_layout.use": False,
    "savefig.bbox": None,
    "figure.subplot.left": 0.058,
    "figure.subplot.right": 0.905,
    "figure.subplot.bottom": 0.14,
    "figure.subplot.top": 0.9,
    "figure.subplot.wspace": 0.58,
}
"""Where the panels of a page's pictures are. Beside them stand numbers and names of arms, as wide
in every comparison: seeking a layout for each takes longer than drawing it."""


def save_figure(figure: Figure, name: str, figures_dir: str | None) -> None:
    """Save a figure as NAME.png and NAME.svg, the same bytes for the same picture.

    figures_dir: a folder, relative to the root of the checkout; None saves nothing.
    """
    if figures_dir is None:
        return
    folder = ROOT / figures_dir
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def write_report(
    base: str | Path,
    post: str | Path,
    *,
    max_k: int | None = None,
    out: str | Path,
    options: dict[str, dict] | None = None,
) -> Path:
    """Write `report.md` and a figure for each comparison into the folder `out`; return the page.

    base, post: logs as `importers.load` takes them, one an arm (or one file of outcomes with both
    arms, given twice). max_k: the largest budget; None takes the largest that every task allows.
    options: for each arm, what `importers.load` is to be told, {"base": {"scorer": "match"}}.
    Raises OutcomesError for input that cannot be read, or has no task in common.
    """
    out = Path(out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", outcomes.OutcomesWarning)
        logs, table = read_arms(base, post, options)
        found = outcomes.comparisons(table)
    told = [str(w.message) for w in caught if issubclass(w.category, outcomes.OutcomesWarning)]
    told = list(dict.fromkeys(told))
    studies = [
        claims.Study(one, one.tax(_largest(one) if max_k is None else max_k)) for one in found
    ]
    out.mkdir(parents=True, exist_ok=True)
    plotting.use_house_style()
    sections = []
    with plt.rc_context(_PLACES):
        for number, one in enumerate(studies, 1):
            # Names may hold anything, so the number is what tells pictures apart.
            name = f"{number:02}-" + re.sub(r"[^\w.-]+", "-", one.comparison.label)[:60] + ".png"
            figure = overview([one])
            figure.savefig(out / name, metadata={"Software": None})
            plt.close(figure)
            sections.append(_section(one, name))
    page = out / "report.md"
    names = [_text(_name(path)) for path in (base, post)]
    heading = f"# Sharpening Tax: {names[0]} against {names[1]}\n"
    about = [*_list("Warnings", told), *_unlike(importers.unlike(*logs.values()))]
    for arm, name in (("base", "base"), ("post", "post-trained arm")):
        lines = [line for line in logs[arm].report.lines() if line not in told]
        sections += _list(f"What was read: {name}", lines)
    sections.append(_HOW_TO_READ)
    page.write_text("\n".join([heading, *about, *sections]) + "\n", "utf-8")
    return page


def arm_options(
    choose: Mapping[str, object], columns: Mapping[str, str] | None = None
) -> dict[str, dict]:
    """Choices as `read_arms` and `write_report` take them: what each arm's log is to be told.

    choose: options of `importers.load` by name; one named "base.NAME" or "post.NAME" is of that arm
    alone, and goes before one of both.  columns: our names to the files', in both arms.

    >>> arm_options({"scorer": "match", "post.scorer": "exact"})
    {'base': {'scorer': 'match'}, 'post': {'scorer': 'exact'}}
    """
    arms = {}
    for arm in ("base", "post"):
        of_both = {name: value for name, value in choose.items() if "." not in name}
        of_one = {
            name.removeprefix(f"{arm}."): value
            for name, value in choose.items()
            if name.startswith(f"{arm}.")
        }
        arms[arm] = of_both | of_one | ({"columns": dict(columns)} if columns else {})
    unknown = [n for n in choose if "." in n and n.partition(".")[0] not in arms]
    if unknown:
        raise outcomes.OutcomesError(
            f"{unknown[0]!r}: expected NAME, base.NAME or post.NAME, of what is to be chosen."
        )
    return arms


def read_arms(
    base: str | Path, post: str | Path, options: dict[str, dict] | None = None
) -> tuple[dict[str, importers.Imported], pd.DataFrame]:
    """Two logs by arm, and the table of counts in which both arms are, of one pair.

    base, post, options: as `write_report` takes them. Raises OutcomesError as it does.
    """
    paths = {"base": base, "post": post}
    logs = {arm: _log(path, arm, options or {}) for arm, path in paths.items()}
    arms = [_one_arm(outcomes.counts(log.outcomes), paths[arm], arm) for arm, log in logs.items()]
    return logs, _joined(*arms)


def label(path: str | Path) -> str:
    """The name of a log without what tells its kind: a model's name may have dots of its own."""
    name = _name(path)
    while (stem := name[: name.rfind(".")]) and name.lower().endswith(_KINDS):
        name = stem
    return name or "default"


def _name(path) -> str:
    """The last part of a path, of "." too; a link goes by its own name."""
    return os.path.basename(os.path.abspath(path))


def _largest(comparison) -> int:
    return min(comparison.max_k, claims.LARGEST_DEFAULT_K)


def _log(path, arm, options) -> importers.Imported:
    cell = {"arm": arm, "pair": label(path)}
    return importers.load(path, **cell | options.get(arm, {}))


def _unlike(unequal) -> list[str]:
    """The warning that the arms were sampled or scored unalike."""
    if unequal.empty:
        return []
    table = unequal.map(_text).to_markdown(index=False, disable_numparse=True)
    warning = (
        "**Warning: unequal settings.** What the logs record of how they were sampled and scored "
        "differs between the arms, or is one log twice, and then a tax is not a tax. Sample and "
        "score both alike, or give the difference wherever the tax is given:\n"
    )
    return [warning, table + "\n"]


def _one_arm(table, path, arm) -> pd.DataFrame:
    """The rows of one arm in a table of counts: those named so, or all where none is named."""
    names = list(dict.fromkeys(table["arm"]))
    if arm not in names and (len(names) > 1 or names[0] in ("base", "post")):
        raise outcomes.OutcomesError(
            f"{path}: its arm is {' and '.join(map(repr, names))}, and it was given as {arm!r}. "
            f"Give the base first, and the post-trained arm second; where {arm!r} has another name "
            f"in the file, rename it to {arm!r} in the column 'arm'."
        )
    if arm in names and len(names) > 1:
        others = ", ".join(repr(name) for name in names if name != arm)
        if set(names) != {"base", "post"}:
            outcomes.warn(f"{path}: arms {others} are in the file and are not the {arm} arm.")
        return table[table["arm"] == arm]
    return table.assign(arm=arm)


def _joined(base, post) -> pd.DataFrame:
    """Both arms in one table; where each has one pair, they are the same, whatever their names."""
    if outcomes.kind(base) != outcomes.kind(post):
        raise outcomes.OutcomesError(
            f"the base holds {outcomes.kind(base)} and the post-trained arm {outcomes.kind(post)}: "
            "expected tasks with names in both files, or histograms in both."
        )
    names = [list(dict.fromkeys(arm["pair"])) for arm in (base, post)]
    if len(names[0]) == len(names[1]) == 1 and names[0] != names[1]:
        pair = f"{names[0][0]} to {names[1][0]}"
        base, post = base.assign(pair=pair), post.assign(pair=pair)
    return pd.concat([base, post], ignore_index=True)


def overview(studies: Sequence[claims.Study]) -> Figure:
    """A row a comparison: coverage, consistency, and the tasks by observed success."""
    rows = len(studies)
    figure, axes = plt.subplots(rows, 3, figsize=(12.5, 3.6 * rows), squeeze=False)
    for row, (comparison, tax) in zip(axes, studies, strict=True):
        about = "" if rows == 1 else f"{comparison.label}\n"
        plotting.plot_coverage(tax, ax=row[0]).set_title(f"{about}Coverage, 95 % bands")
        plotting.plot_consistency(tax, ax=row[1]).set_title("Consistency, 95 % bands")
        plotting.plot_success_rates(comparison.base, comparison.post, ax=row[2])
        row[2].set_title("Tasks by observed success")
        row[2].legend(loc="center left", bbox_to_anchor=(1, 0.5))  # beside, over no bar or word
    return figure


def _section(study, picture) -> str:
    comparison, tax = study
    size = len(comparison.base.c)
    tasks = f"{size} task{'s' if size > 1 else ''}" if tax.paired else "A histogram of tasks"
    categories = tables.category_table([study]).drop(columns=["benchmark", "pair"])
    return "\n".join(
        [
            f"## {_text(comparison.label)}\n",
            *(f"- {line}" for line in _headline(tax)),
            f"- {tasks}{_brackets(tax)}.\n",
            f"![coverage, consistency and success rates of both arms]({picture})\n",
            tables.budget_table(tax).to_markdown(index=False, disable_numparse=True) + "\n",
            categories.to_markdown(index=False) + "\n",
            *_list("To know", [*tables.remarks([study]), *_advice(tax)]),
        ]
    )


def _headline(tax) -> list[str]:
    """What happened: to pass@1, to coverage at K, and by the tax; lines in Markdown."""
    K, (lack, low, high) = tax.K, tax.gap.at(1)
    rise = metrics.Band(-lack, -high, -low)
    lines = [f"pass@1 {_moved(rise, 'rose', 'fell')}: {tables.shown(rise)}, post minus base."]
    if K == 1:
        return [*lines, "With one attempt a task there is no coverage gap, crossover or tax."]
    gap = tax.gap.at(K)
    lines.append(
        f"Coverage pass@{K} {_moved(metrics.Band(-gap.value, -gap.high, -gap.low), 'rose', 'fell')}"
        f": the gap, base minus post, is {tables.shown(gap)}. {_crossing(tax)}."
    )
    taxes = (
        f"Tax_S({K}) = {tables.shown(tax.tax_S.at(K), 4)}, "
        f"Tax_A({K}) = {tables.shown(tax.tax_A.at(K), 2)}"
    )
    return [*lines, f"{taxes}: {'; '.join([_verdict(tax), *_meaning(tax)])}."]


def _moved(change, up, down) -> str:
    """What a change is called: surely only where its interval says so."""
    if change.value == 0:
        return "is the same"
    word = up if change.value > 0 else down
    if np.isnan(change.low):
        return f"{word}, without an interval"
    sure = claims.verdict(change.low, change.high, 0) != "undecided"
    return word if sure else f"{word}, within chance"


def _verdict(tax) -> str:
    """What the interval of Tax_S says: it compares how two curves rise, not how high they are."""
    value, low, high = tax.tax_S.at(tax.K)
    if np.isnan(value):
        return "Tax_S is undefined, for the reason below"
    if np.isnan(low):
        return "Tax_S has no interval, for the reason below"
    return {
        "holds": "by Tax_S, more attempts buy the post-trained arm less than the base (positive)",
        "contradicted": "by Tax_S, more attempts buy the post-trained arm more than the base "
        "(negative)",
        "undecided": "by Tax_S undecided, since its interval includes zero",
    }[claims.verdict(low, high, 0)]


def _meaning(tax) -> list[str]:
    """What a tax above or below zero comes to, given both arms' pass@1 and coverage."""
    value, gap, found = tax.tax_S.at(tax.K).value, tax.gap, []
    if value > 0 and (gap.value <= metrics.MARGIN).all():
        found.append(
            "positive only because its curve is flatter: it covers at least as much at every k"
        )
    if value < 0 and (gap.value >= -metrics.MARGIN).all():
        found.append("negative only because its curve is steeper: it covers no more at any k")
    if value > 0 and gap.at(1).value >= -metrics.MARGIN:
        found.append("pass@1 did not rise, so nothing was bought")
    lost = claims.verdict(*gap.at(tax.K)[1:], 0) == "holds"
    if value > 0 and lost and claims.verdict(*gap.at(1)[1:], 0) == "contradicted":
        found.append("post-training paid for pass@1 with coverage")
    return found


def _crossing(tax) -> str:
    k, share = tax.crossover[0], tax.crossover.probability
    if k == 1:
        found = tables.shown_crossover(tax.crossover)
        return (
            f"The base is ahead from the first attempt on, k\\* = {found}: the post-trained arm is "
            "worse from the start, and nothing to overtake"
        )
    often = "" if np.isnan(share) else f" (in {share:.0%} of resamples it does)"
    if not np.isfinite(k):
        return f"The base does not overtake within {tax.K} attempts{often}"
    return f"The base is ahead from k\\* = {tables.shown_crossover(tax.crossover)} on{often}"


def _brackets(tax) -> str:
    """What brackets are, where there are some."""
    shown = np.isfinite(tax.tax_A.at(tax.K).low)
    return "; brackets are 95 % intervals from a task bootstrap" if shown else ""


def _advice(tax) -> list[str]:
    """What to do where nothing could be measured."""
    if tax.K > 1:
        return []
    return [
        "coverage needs several attempts at every task, in both arms: in lm-evaluation-harness "
        "`repeats` with the filter take_first_k, in Inspect `epochs`, in tau2 trials, in BFCL a "
        "folder a run; and at a temperature above 0, so that they differ"
    ]


_HOW_TO_READ = f"""\
## How to read this

- *Coverage*, pass@k, is the chance that at least one of k attempts at a task succeeds;
  *consistency*, pass^k, the chance that all k do. Both are means over tasks.
- A(K) adds up, over budgets k, how much coverage is still missing at k compared with K attempts.
  S(K) is its share of the most it could be, given pass@1, and it is undefined where pass@1 is 1.
- The *gap* is the coverage of the base minus that of the post-trained arm at the same k: positive
  means that fewer tasks are within reach of k attempts than before.
- The tax, Tax_A or Tax_S, is that of the base minus that of the post-trained arm: positive means
  that more attempts buy it less. It compares how the curves rise from pass@1, not how high they
  are: post-training paid for pass@1 with coverage only where pass@1 rose *and* the gap is positive.
  It changes with K: compare it at one K only, and K = 1 has none. Where none was chosen, K is the
  fewest scored attempts of a task, in both arms ({claims.LARGEST_DEFAULT_K} at most).
- k\\* is the budget from which the base's coverage stays ahead, *none* where it does not within K:
  [1, none] is an interval from the first attempt on to beyond K. Where it is 1, the post-trained
  arm is worse from the start, and is not overtaken.
- Intervals come from a thousand resamples: as many tasks drawn from the tasks, with repetition, and
  everything measured again. "In N% of resamples" says in how many the base overtakes. "Within
  chance" is what has zero in its interval.
- A dash is what is undefined: a tax at k = 1, S where pass@1 is 1, an interval of few tasks.
- *Never*, *sometimes* and *always* count tasks by the attempts observed, of which none, some or all
  succeeded; that is not what is impossible or certain. *At the extremes* is the share of tasks that
  are never or always.
"""


def _list(title, lines) -> list[str]:
    return [f"**{title}**\n", *(f"- {_text(line)}" for line in lines), ""] if lines else []


def _text(text: str) -> str:
    """Names and messages as text: nothing in them is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>|&$])", r"\\\1", text.replace("\n", " "))
