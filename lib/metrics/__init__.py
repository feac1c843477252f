"""Coverage, consistency and the Sharpening Tax from counts of successes, and what scores are worth.

A *cell* is one policy on one benchmark: for each task, `n` independent rollouts at one decoding
setting and `c` successes. Arrays go in, arrays come out; axes are named in brackets. Equations are
those of "Sharpening Tax in Post-Training" (arXiv 2610.01509), with the per-task estimators of
Chen et al. 2021 (arXiv 2107.03374, equation 1). How well a score picks attempts, separates
successes from failures and finds the decisive step is measured as in "Progress Advantage for LLM
Agents" (arXiv 2606.26080).

    >>> from lib import metrics
    >>> base = metrics.Counts(c=[1, 2, 1, 2, 1, 2, 1, 2, 1, 2], n=[8] * 10)
    >>> post = metrics.Counts(c=[0, 8, 0, 8, 0, 8, 0, 8, 0, 8], n=[8] * 10)
    >>> metrics.coverage_curve(post, 2).round(2).tolist()
    [0.5, 0.5]
    >>> tax = metrics.sharpening_tax(base, post, K=8, n_boot=200)
    >>> round(tax.tax_A.at(8).value, 2), tax.crossover.value
    (2.75, 3.0)
"""

from lib.metrics.attribution import (
    RULES,
    Attribution,
    Rule,
    attribution,
    attribution_lead,
    predict_step,
)
from lib.metrics.bootstrap import (
    FEWEST_RESAMPLES,
    FEWEST_SEEDS,
    FEWEST_TASKS,
    UNDEFINED,
    Band,
    cluster_resamples,
    percentile_interval,
    t_interval,
)
from lib.metrics.discrimination import (
    auroc_band,
    auroc_difference,
    auroc_replicates,
    spearman_band,
)
from lib.metrics.estimators import (
    Categories,
    Counts,
    consistency_curve,
    coverage_curve,
    pass_at_k,
    pass_hat_k,
    task_categories,
)
from lib.metrics.prediction import SplitTaxes, few_rollout_taxes, split_rollouts
from lib.metrics.ranks import auroc, partial_spearman, spearman
from lib.metrics.selection import Selection, best_of_k, selection, share_of_gain
from lib.metrics.tax import (
    MARGIN,
    Crossover,
    Scalability,
    SharpeningTax,
    crossover,
    scalability,
    sharpening_tax,
)

__all__ = [
    "FEWEST_RESAMPLES",
    "FEWEST_SEEDS",
    "FEWEST_TASKS",
    "MARGIN",
    "RULES",
    "UNDEFINED",
    "Attribution",
    "Band",
    "Categories",
    "Counts",
    "Crossover",
    "Rule",
    "Scalability",
    "Selection",
    "SharpeningTax",
    "SplitTaxes",
    "attribution",
    "attribution_lead",
    "auroc",
    "auroc_band",
    "auroc_difference",
    "auroc_replicates",
    "best_of_k",
    "cluster_resamples",
    "consistency_curve",
    "coverage_curve",
    "crossover",
    "few_rollout_taxes",
    "partial_spearman",
    "pass_at_k",
    "pass_hat_k",
    "percentile_interval",
    "predict_step",
    "scalability",
    "selection",
    "share_of_gain",
    "sharpening_tax",
    "spearman",
    "spearman_band",
    "split_rollouts",
    "t_interval",
    "task_categories",
]
