"""Pictures in one house style. `plot_x(data, *, ax=None)` draws on the axes, and returns them.

Nothing here reads or writes files. Colours are told apart by the colour-blind and, being of
different lightness, in grey; arms also differ in line style. Lines are labelled where they end.
"""

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
    "COLOURS",
    "GREY",
    "LABELS",
    "MARKERS",
    "STYLES",
    "as_text",
    "panels",
    "plot_agreement",
    "plot_area",
    "plot_conditions",
    "plot_consistency",
    "plot_coverage",
    "plot_success_rates",
    "plot_tax",
    "use_house_style",
]
