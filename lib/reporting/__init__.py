"""Reports: tables for people, the page on two arms, and batches of notebooks with their page.

`compare` writes the page on a base model and what was post-trained from it. `run_batch` runs a list
of notebooks, and `write_pages` writes the page about them.

>>> from lib import claims, reporting
>>> outcomes = claims.load("published", pairs=["gemma-4-31B"], benchmarks=["webshop"])
>>> studies = claims.study(outcomes, n_boot=0)
>>> reporting.tables.crossover_table(studies)[["benchmark", "gap at 128", "k*"]]
  benchmark gap at 128 k*
0   webshop      0.316  3
>>> print(*reporting.headline(studies[0].tax)[:1])
pass@1 rose, without an interval: base minus post is -0.168.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "arms",
        "figure_rows",
        "figure_titles",
        "figures",
        "harness_tables",
        "method_wording",
        "notebook_parameters",
        "prediction",
        "selection_tables",
        "selection_wording",
        "tables",
    ],
    submod_attrs={
        "arms": ["options_by_arm", "read_arms"],
        "batch_entries": ["Entry", "read_batch"],
        "batch_report": ["write_pages"],
        "comparison_report": ["compare"],
        "comparison_answer": ["answer"],
        "comparison_tasks": ["lost_by_chance", "moved_tasks", "next_steps"],
        "comparison_wording": ["headline", "remarks"],
        "figures": ["overview", "save_figure"],
        "folding": ["folded"],
        "front_page": ["make_thumbnails", "opening_picture"],
        "notebook_batch": ["Failure", "Result", "run_batch"],
        "notebook_claims": ["collect_claims", "with_claims", "with_findings"],
    },
)
