"""Figures: saved the same way every time, and the picture of one comparison."""

import re
import textwrap
from collections.abc import Callable, Sequence
from io import StringIO
from operator import attrgetter

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib import ROOT, claims, plotting
from lib.reporting import comparison_answer

LAYOUT = {
    "figure.constrained_layout.use": False,
    "savefig.bbox": None,
    "figure.subplot.left": 0.18,
    "figure.subplot.right": 0.78,
    "figure.subplot.bottom": 0.17,
    "figure.subplot.top": 0.96,
}
"""Where a panel of a page lies in its picture. Numbers and names beside it are as wide in every
comparison, and searching for a layout for each takes longer than drawing it."""


def save_figure(figure: Figure, name: str, figures_dir: str | None) -> None:
    """Save a figure as NAME.png and NAME.svg, the same bytes for the same picture.

    figures_dir: a folder, relative to the root of the checkout; None saves nothing.
    """
    if figures_dir is None:
        return
    folder = ROOT / figures_dir
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None})
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    text = numbered_clip_paths(drawn.getvalue())
    (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def numbered_clip_paths(svg: str) -> str:
    """An SVG whose clip paths are numbered: matplotlib names some after addresses in memory.

    >>> numbered_clip_paths('<clipPath id="pa0"/><g clip-path="url(#pa0)"/>')
    '<clipPath id="clip1"/><g clip-path="url(#clip1)"/>'
    """
    for number, name in enumerate(re.findall(r'<clipPath id="(\w+)"', svg), 1):
        svg = svg.replace(f'<clipPath id="{name}"', f'<clipPath id="clip{number}"')
        svg = svg.replace(f"url(#{name})", f"url(#clip{number})")
    return svg


Draw = Callable[[Axes], object]


def panels_of(study: claims.Study) -> list[tuple[str, Draw]]:
    """The panels that show a comparison: the title, which says what is found, and what draws it.

    Where K is 1 there is only the last, the tasks by observed success.
    """
    comparison, tax = study
    panels = [
        (
            comparison_answer.tasks_title(comparison),
            lambda ax: _success_rates(comparison, ax),
        )
    ]
    if tax.K == 1:
        return panels
    return [
        (comparison_answer.coverage_title(study), lambda ax: plotting.plot_coverage(tax, ax=ax)),
        (
            comparison_answer.crossover_title(tax),
            lambda ax: plotting.plot_coverage_difference(tax.gap, ax=ax),
        ),
        *panels,
    ]


def overview(studies: Sequence[claims.Study]) -> Figure:
    """Coverage, its difference, and the tasks by observed success: a row for each comparison."""
    shown = [panels_of(study) for study in studies]
    rows, across = len(shown), max(map(len, shown))
    figure, axes = plt.subplots(rows, across, figsize=(4.4 * across, 3.6 * rows), squeeze=False)
    for row, panels, study in zip(axes, shown, studies, strict=True):
        for ax in row[len(panels) :]:
            ax.set_axis_off()
        for ax, (title, draw) in zip(row, panels, strict=False):
            draw(ax)
            ax.set_title("\n".join(textwrap.wrap(title, 46)))
        if rows > 1:
            title = f"{study.comparison.label}\n{row[0].get_title(loc='left')}"
            row[0].set_title(plotting.as_text(title))
    return figure


def panel_picture(draw: Draw) -> str:
    """One panel as the text of an SVG picture, in the layout of `LAYOUT`."""
    with plt.rc_context(LAYOUT):
        figure = plt.figure(figsize=(3.8, 2.9))
        draw(figure.gca())
        return _as_svg(figure)


def multiples_picture(studies: Sequence[claims.Study]) -> str:
    """Coverage of many comparisons as small panels, as the text of one SVG picture."""
    name = attrgetter("benchmark" if comparison_answer.one_pair(studies) else "label")
    curves = [
        (name(study.comparison), study.tax.coverage_base.value, study.tax.coverage_post.value)
        for study in studies
    ]
    rows = -(-len(curves) // 3)
    with plt.rc_context({"figure.constrained_layout.use": False, "savefig.bbox": None}):
        figure = plt.figure(figsize=(5.2, 0.2 + 0.95 * rows))
        figure.add_axes((0.01, 0.0, 0.98, 1.0))
        plotting.plot_small_multiples(curves, ax=figure.gca())
        return _as_svg(figure)


def _as_svg(figure) -> str:
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    plt.close(figure)
    return numbered_clip_paths(drawn.getvalue())


def _success_rates(comparison, ax) -> None:
    plotting.plot_success_rates(comparison.base, comparison.post, ax=ax)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.93), ncols=2)
