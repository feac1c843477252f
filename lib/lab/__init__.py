"""The reproduction itself: base and post-trained pairs made here, and what was measured of them.

`plan` says what is run, `work` what kinds of work there are, `runner` does it (`make lab`),
`results` and `tables` read what came out. Nothing else in `lib` imports this room.

>>> from lib import lab
>>> run = lab.plan.runs(["sokoban"], ["grpo"], ["yoked"], [0])[0]
>>> run.name
'sokoban-0.25M-grpo-yoked-0.0003-0'
>>> [work.name for work in run.needs]
['sokoban-0.25M-base-85', 'sokoban-0.25M-grpo-ptgs-0.0003-0']
>>> evaluations = lab.results.read("evaluations")
>>> usual = {"world": run.environment, "algorithm": "grpo", "size": run.size, "rate": run.rate}
>>> scores = lab.results.scores(evaluations, **usual)
>>> scores.groupby("sampler")["pass@1"].mean().round(2).to_dict()
{'fixed': 0.59, 'ptgs': 0.59, 'shuffled': 0.56, 'yoked': 0.59}
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "attribution",
        "batches",
        "claims",
        "comparisons",
        "evaluation",
        "exactness",
        "fading_lake",
        "gathering",
        "harness_ablation",
        "live",
        "making",
        "pilots",
        "plan",
        "results",
        "reward_model",
        "runner",
        "scores",
        "smoke",
        "tables",
        "work",
    ],
)
