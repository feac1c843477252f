"""Small tables of the lab, made up so that what they come to is known."""

import pandas as pd

from lib.lab import plan

COUNTS = {"base": (2, 6), "fixed": (0, 8), "ptgs": (4, 8), "yoked": (2, 8), "shuffled": (1, 7)}
"""Successes of 8 attempts at two tasks, the same in every seed and at every evaluation."""


def evaluations(seeds=(0, 1, 2), methods=("fixed", "ptgs", "yoked"), counts=COUNTS):
    """Sokoban, GRPO: the base and some methods, evaluated everywhere."""
    rows = []
    for method in ("base", *methods):
        for seed in (0,) if method == "base" else seeds:
            run = plan.Run(
                environment="sokoban", algorithm="grpo", method=method, seed=seed
            ).settings()
            if method == "base":
                run |= {"algorithm": "", "sampler": "", "rate": 0.0}
            for split, temperatures in plan.SPLITS.items():
                for temperature in temperatures:
                    how = {"kind": "base-85" if method == "base" else "post", "split": split}
                    how |= {"temperature": temperature, "cue": False, "parser": "exact", "n": 8}
                    rows += [
                        run | how | {"task": f"t{i}", "c": c} for i, c in enumerate(counts[method])
                    ]
    return pd.DataFrame(rows)


def runs(methods=("fixed", "ptgs", "yoked"), seeds=(0, 1, 2)):
    return [run for run in plan.PRIMARY if run.method in methods and run.seed in seeds]


def steps(methods=("fixed", "ptgs"), seeds=(0, 1), count=30):
    """A step log in which everything is constant."""
    return pd.DataFrame(
        plan.Run(environment="sokoban", algorithm="grpo", method=method, seed=seed).settings()
        | {"step": step, "reward": 0.5 + 0.1 * seed, "entropy_ref": 1.0, "mixed": 0.5}
        | {"temperature_mean": 1.0, "temperature_min": 0.8, "temperature_max": 1.3}
        for method in methods
        for seed in seeds
        for step in range(1, count + 1)
    )
