"""Pictures in one house style. `plot_x(data, *, ax=None)` draws on the axes and returns them.

Data are arrays and tables whose columns the functions name; nothing here reads or writes files.
Colours differ in lightness, so that they can be distinguished in grey and by the colour-blind;
both arms also differ in line style.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> import pandas as pd
>>> from lib import plotting
>>> rows = pd.DataFrame({"pair": ["small", "large"], "benchmark": "webshop"})
>>> rows = rows.assign(value=[0.10, 0.02], low=[0.05, -0.01], high=[0.15, 0.05])
>>> ax = plotting.plot_tax(rows)
>>> [label.get_text() for label in ax.get_yticklabels()]
['webshop', 'small', 'large']
"""

from lib.plotting.advantage import (
    SELECTORS,
    plot_aggregations,
    plot_auroc_leads,
    plot_board,
    plot_deployable,
    plot_early,
    plot_selection,
    plot_transcript,
    selector_legend,
)
from lib.plotting.attribution import plot_attribution, plot_decisive
from lib.plotting.comparisons import (
    plot_agreement,
    plot_conditions,
    plot_shift,
    plot_sizes_of_pairs,
    plot_task_kinds,
    plot_tax,
)
from lib.plotting.exactness import plot_identity, plot_level, plot_spread
from lib.plotting.sharpening import (
    plot_area,
    plot_consistency,
    plot_coverage,
    plot_success_rates,
)
from lib.plotting.style import (
    COLOURS,
    GREY,
    LABELS,
    MARKERS,
    STYLES,
    apart,
    as_text,
    end_labels,
    not_run,
    panels,
    shared_legend,
    use_house_style,
)
from lib.plotting.tempering import (
    plot_posteriors,
    plot_temperature,
    plot_temperature_ranges,
)
from lib.plotting.training import (
    METHODS,
    method_legend,
    plot_cooling,
    plot_differences,
    plot_method_coverage,
    plot_pilots,
    plot_rates,
    plot_seeds,
    plot_sizes,
    plot_training,
)
from lib.plotting.two_arms import plot_coverage_difference, plot_small_multiples

__all__ = [
    "COLOURS",
    "GREY",
    "LABELS",
    "MARKERS",
    "METHODS",
    "SELECTORS",
    "STYLES",
    "apart",
    "as_text",
    "end_labels",
    "method_legend",
    "not_run",
    "panels",
    "plot_aggregations",
    "plot_agreement",
    "plot_area",
    "plot_attribution",
    "plot_auroc_leads",
    "plot_board",
    "plot_conditions",
    "plot_consistency",
    "plot_cooling",
    "plot_coverage",
    "plot_coverage_difference",
    "plot_decisive",
    "plot_deployable",
    "plot_differences",
    "plot_early",
    "plot_identity",
    "plot_level",
    "plot_method_coverage",
    "plot_pilots",
    "plot_posteriors",
    "plot_rates",
    "plot_seeds",
    "plot_selection",
    "plot_shift",
    "plot_sizes",
    "plot_sizes_of_pairs",
    "plot_small_multiples",
    "plot_spread",
    "plot_success_rates",
    "plot_task_kinds",
    "plot_tax",
    "plot_temperature",
    "plot_temperature_ranges",
    "plot_training",
    "plot_transcript",
    "selector_legend",
    "shared_legend",
    "use_house_style",
]
