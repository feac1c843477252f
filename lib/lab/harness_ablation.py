"""The harness ablations: of real models on BFCL, and of the lab's own models on its desk.

On BFCL two prompts are collected, the text harness (cue on) and a plain prompt (cue off), and for a
post-trained model its chat template; two parsers then read the very same completions.

On the desk the cue is one word that asks for native calls, and the lenient reading takes calls in
every form that the corpora have. There another reading is another run, since what the environment
answers depends on it. The arms of the tables of outcomes are the conditions.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from lib import ROOT, claims, outcomes
from lib.envs import Environment
from lib.lab import plan, results
from lib.lab.plan import Run
from lib.rollouts.regrading import has_valid_call, regrade
from lib.trajectories.store import read_collection

CUES = {"harness": "cue on", "plain": "cue off", "chat": "chat template"}
"""Prompt format of a collection -> what the condition is called."""

PARSERS = {"exact": "exact", "robust": "lenient"}
"""Parser -> what the condition is called."""

READINGS = {
    "native": (False, "exact"),
    "cue": (True, "exact"),
    "lenient": (False, "lenient"),
    "both": (True, "lenient"),
}
"""Condition -> whether the cue is given, and the parser of the replies."""

BASES = {"base-35": "base, 35 % native calls", "base-85": "base, 85 % native calls"}
"""Kind of a base -> what it is called, by the share of native calls in what it was trained on."""

PLANNED = "desk"
"""The environment that was planned for the ablation; others are exploratory."""

TRAINED = "post-trained"
"""What the trained model is called; it comes from the base with 85 % native calls."""


def trained(environment: str = PLANNED) -> Run:
    """The run whose model is in the ablation of an environment."""
    return Run(environment=environment, algorithm="grpo", method="fixed", seed=0)


def conditions(evaluations: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The table of outcomes of a run and of the bases of its environment, held-out tasks at T = 1.

    Counts; pair is the model, arm the condition. What was not evaluated yet is not there; see
    `absent`.
    """
    table = results.select(
        evaluations, world=run.environment, size=run.size, split="test", temperature=1.0
    )
    models = {name: results.select(table, kind=kind) for kind, name in BASES.items()}
    models[TRAINED] = results.select(table, kind="post", **run.settings())
    rows = [
        results.select(cell, cue=cue, parser=parser)[["task", "n", "c"]].assign(
            benchmark=run.environment, pair=name, arm=condition, missing=0
        )
        for name, cell in models.items()
        for condition, (cue, parser) in READINGS.items()
    ]
    table = pd.concat(rows, ignore_index=True)
    return outcomes.validate(table, source="the lab") if len(table) else table


def read(run: Run, folder: str | Path | None = None) -> pd.DataFrame:
    """The `conditions` in the tables of a folder (`results.read`); no rows where there are none."""
    try:
        return conditions(results.read("evaluations", folder), run)
    except FileNotFoundError:
        return pd.DataFrame(columns=["task", "n", "c", "benchmark", "pair", "arm", "missing"])


def absent(table: pd.DataFrame) -> list[str]:
    """The models and conditions that a table of `conditions` does not have."""
    there = set(zip(table["pair"], table["arm"], strict=True))
    return [
        f"{name}: {condition}"
        for name in (*BASES.values(), TRAINED)
        for condition in READINGS
        if (name, condition) not in there
    ]


def prototype(folder: str | Path | None = None) -> pd.DataFrame:
    """What a prototype of the lab measured before it was built: pair, condition, pass@1, pass@32.

    Two seeds at most, on 64 tasks of Sokoban with 128 rollouts each; the prototype had no desk.
    """
    return pd.read_csv(Path(folder or plan.DATA) / "prototype.csv")


# --------------------------------------------------------------------------- collections on BFCL


def contrasts(base: str, post: str) -> list[claims.Contrast]:
    """What is compared of a base and of a post-trained model, which may be unrelated."""
    return [
        claims.Contrast(base, "base", "cue off, exact", "cue on, lenient"),
        claims.Contrast(post, "post-trained", "chat template, lenient", "cue on, lenient"),
    ]


def regraded(folders: Iterable[str | Path], environment: Environment) -> pd.DataFrame:
    """The table of outcomes of collections, each read by both parsers, an arm a condition.

    The arm of each collection is its prompt format. Beside `passed` stands `valid_call`: "True"
    where the attempt called an offered tool with all required arguments, right or wrong.
    """
    rows = [
        _row(rollout, reading)
        for folder in folders
        for parser, reading in PARSERS.items()
        for rollout in regrade(read_collection(folder), environment, parser)
    ]
    return outcomes.validate(pd.DataFrame(rows), source="collections")


def as_collected(folders: Iterable[str | Path]) -> pd.DataFrame:
    """As `regraded`, but only read leniently, as they were collected: for tasks of several turns.

    There the turns that follow depend on how the first was read, so another reading is another run.
    """
    rows = [
        _row(rollout, PARSERS["robust"])
        for folder in folders
        for rollout in read_collection(folder)
    ]
    return outcomes.validate(pd.DataFrame(rows), source="collections")


def _row(rollout, reading) -> dict:
    return {
        "benchmark": rollout.benchmark,
        "pair": rollout.pair,
        "arm": f"{CUES[rollout.arm]}, {reading}",
        "task": rollout.task,
        "attempt": rollout.attempt,
        "passed": rollout.passed,
        "reason": rollout.reason if rollout.passed is None else None,
        "valid_call": has_valid_call(rollout),
    }


def live(model: str = "smollm2-135m-instruct", tasks: int = 2, n: int = 2) -> pd.DataFrame:
    """The conditions of a small collection made here and now.

    Needs `make benchmarks models`; three minutes on two cores.
    """
    import tempfile

    from lib.envs import open_environment
    from lib.generation import Engine, Sampling, load
    from lib.generation.models import find_model
    from lib.rollouts.collection import collect
    from lib.rollouts.policies import LocalPolicy
    from lib.rollouts.prompts import ChatTemplate, Harness, Plain

    environment, cache = open_environment("bfcl:simple_python"), ROOT / "build" / "models"
    weights, tokenizer = load(find_model(model, cache), cache=cache)
    prompt_formats = {"harness": Harness(), "plain": Plain()}
    if tokenizer.chat_template:
        prompt_formats["chat"] = ChatTemplate(tokenizer, parser="robust")
    sampling = Sampling(temperature=0.4, top_p=0.95, max_new_tokens=48)
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder) / name for name in prompt_formats]
        for out, (name, prompt_format) in zip(folders, prompt_formats.items(), strict=True):
            policy = LocalPolicy(Engine(weights, tokenizer), prompt_format, sampling, name=model)
            few = environment.tasks()[:tasks]
            collect(policy, environment, few, n, out, pair=model, arm=name)
        return regraded(folders, environment)
