"""Pictures in one house style. `plot_x(data, *, ax=None)` draws on the axes, and returns them.

Nothing here reads or writes files. Colours are told apart by the colour-blind and, being of
different lightness, in grey; arms also differ in line style. Lines are labelled where they end.
"""

from lib.plotting.advantage import (
    SELECTORS,
    plot_aggregations,
    plot_attribution,
    plot_auroc,
    plot_early,
    plot_selection,
    plot_transcript,
    selector_legend,
)
from lib.plotting.exactness import plot_identity, plot_level, plot_spread
from lib.plotting.lab import (
    ARMS,
    arm_legend,
    not_run,
    plot_arm_coverage,
    plot_cooling,
    plot_differences,
    plot_heat,
    plot_heat_ranges,
    plot_pilots,
    plot_posteriors,
    plot_seeds,
    plot_sizes,
    plot_training,
)
from lib.plotting.sharpening import (
    plot_agreement,
    plot_area,
    plot_conditions,
    plot_consistency,
    plot_coverage,
    plot_success_rates,
    plot_tax,
)
from lib.plotting.style import (
    COLOURS,
    GREY,
    LABELS,
    MARKERS,
    STYLES,
    as_text,
    panels,
    use_house_style,
)

__all__ = [
    "ARMS",
    "COLOURS",
    "GREY",
    "LABELS",
    "MARKERS",
    "SELECTORS",
    "STYLES",
    "arm_legend",
    "as_text",
    "not_run",
    "panels",
    "plot_aggregations",
    "plot_agreement",
    "plot_area",
    "plot_arm_coverage",
    "plot_attribution",
    "plot_auroc",
    "plot_conditions",
    "plot_consistency",
    "plot_cooling",
    "plot_coverage",
    "plot_differences",
    "plot_early",
    "plot_heat",
    "plot_heat_ranges",
    "plot_identity",
    "plot_level",
    "plot_pilots",
    "plot_posteriors",
    "plot_seeds",
    "plot_selection",
    "plot_sizes",
    "plot_spread",
    "plot_success_rates",
    "plot_tax",
    "plot_training",
    "plot_transcript",
    "selector_legend",
    "use_house_style",
]
