"""The harness ablation: completions with and without the cue, read exactly and leniently.

Two prompts are collected, the text harness (cue on) and a plain prompt (cue off), and for a
post-trained model its chat template; both parsers then read the very same completions. The arms of
the table of outcomes are the conditions.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from lib import ROOT, metrics, outcomes
from lib.envs import Environment
from lib.rollouts.collection import read_collection
from lib.rollouts.regrading import has_valid_call, regrade

CUES = {"harness": "cue on", "plain": "cue off", "chat": "chat template"}
"""Prompt format of a collection -> what the condition is called."""

PARSERS = {"exact": "exact", "robust": "lenient"}


def conditions(folders: Iterable[str | Path], environment: Environment) -> pd.DataFrame:
    """The table of outcomes of collections (`lib.rollouts`), an arm a condition.

    The arm of each collection is its prompt format. Beside `passed` stands `valid_call`: "True"
    where the attempt called a tool on offer with all required arguments, right or wrong.
    """
    rows = [
        _row(one, reading)
        for folder in folders
        for parser, reading in PARSERS.items()
        for one in regrade(read_collection(folder), environment, parser)
    ]
    return outcomes.validate(pd.DataFrame(rows), source="collections")


def as_collected(folders: Iterable[str | Path]) -> pd.DataFrame:
    """As `conditions`, read as they were when collected (leniently), for tasks of several turns.

    There the turns that follow depend on how the first was read, so another reading is another run.
    """
    rows = [_row(one, PARSERS["robust"]) for folder in folders for one in read_collection(folder)]
    return outcomes.validate(pd.DataFrame(rows), source="collections")


def _row(one, reading) -> dict:
    return {
        "benchmark": one.benchmark,
        "pair": one.pair,
        "arm": f"{CUES[one.arm]}, {reading}",
        "task": one.task,
        "attempt": one.attempt,
        "passed": one.passed,
        "reason": one.reason if one.passed is None else None,
        "valid_call": has_valid_call(one),
    }


def whole_tasks(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """The tasks with n attempts in every condition of their pair: an unfinished run lacks some."""
    attempts = table.groupby(["pair", "task", "arm"]).size().rename("attempts").reset_index()
    whole = attempts[attempts["attempts"] >= n].groupby(["pair", "task"])["arm"].nunique()
    arms = table.groupby("pair")["arm"].nunique()
    kept = whole[whole == arms.reindex(whole.index.get_level_values("pair")).to_numpy()]
    return table[pd.MultiIndex.from_frame(table[["pair", "task"]]).isin(kept.index)]


def valid_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The same attempts, where passing means to have made a valid call."""
    called = (table["valid_call"] == "True").astype("boolean")
    return table.assign(passed=called.mask(table["passed"].isna())).drop(columns="valid_call")


def rates(table: pd.DataFrame, K: int, *, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """A row a pair and condition: tasks, and `metrics.Band`s of valid calls, pass@1 and pass@K.

    Valid calls are left out where the table does not tell them.
    """
    rows, told = [], "valid_call" in table
    for (pair, arm), cell in table.groupby(["pair", "arm"], sort=False):
        passed, valid = (_counts(each) for each in (cell, valid_calls(cell) if told else cell))
        tax = metrics.sharpening_tax(passed, valid, K, n_boot=n_boot, rng=seed)
        rows.append(
            {"pair": pair, "condition": arm, "tasks": len(passed.c)}
            | ({"valid calls": tax.coverage_post.at(1)} if told else {})
            | {"pass@1": tax.coverage_base.at(1), f"pass@{K}": tax.coverage_base.at(K)}
        )
    columns = ["pair", "condition", "tasks", *["valid calls"] * told, "pass@1", f"pass@{K}"]
    return pd.DataFrame(rows, columns=columns)


def lift(
    table: pd.DataFrame, pair: str, without: str, having: str, k: int, *, n_boot=1000, seed=0
) -> metrics.Band:
    """How much higher pass@k is in one condition of a pair than in another, tasks paired."""
    cells = [table[(table["pair"] == pair) & (table["arm"] == arm)] for arm in (without, having)]
    aligned = outcomes.align(*(cell.drop(columns="valid_call", errors="ignore") for cell in cells))
    lower, upper = (_counts(each) for each in (aligned.base, aligned.post))
    gap = metrics.sharpening_tax(lower, upper, k, n_boot=n_boot, rng=seed).gap.at(k)
    return metrics.Band(0 - gap.value, 0 - gap.high, 0 - gap.low)


def lifts(
    table: pd.DataFrame, without: str, K: int, *, n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """`lift` of every other condition of a pair: `metrics.Band`s of pass@1 and pass@K."""
    rows = []
    for pair, cells in table.groupby("pair", sort=False):
        arms = list(dict.fromkeys(cells["arm"]))
        for arm in arms if without in arms else []:
            if arm != without:
                found = {
                    f"pass@{k}": lift(cells, pair, without, arm, k, n_boot=n_boot, seed=seed)
                    for k in (1, K)
                }
                rows.append({"pair": pair, "condition": arm} | found)
    return pd.DataFrame(rows, columns=["pair", "condition", "pass@1", f"pass@{K}"])


def largest_unseen(tasks: int, level: float = 0.95) -> float:
    """The largest share of tasks that may be solvable though none of n was: 1 - 0.05^(1/n).

    A bootstrap cannot see beyond tasks that all failed; this bound (Clopper and Pearson) can.

    >>> round(largest_unseen(40), 3)
    0.072
    """
    return 1 - (1 - level) ** (1 / tasks)


def _counts(cell: pd.DataFrame) -> metrics.Counts:
    table = outcomes.counts(cell).sort_values("task")
    return metrics.Counts(np.asarray(table["c"]), np.asarray(table["n"]), names=list(table["task"]))


def live(model: str = "smollm2-135m-instruct", tasks: int = 2, n: int = 2) -> pd.DataFrame:
    """The conditions of a small collection made here and now.

    Needs `make benchmarks models`; three minutes on two cores.
    """
    import tempfile

    from lib.envs import open_environment
    from lib.generation import Engine, Sampling, load
    from lib.generation.packaged_models import find_model
    from lib.rollouts.collection import collect
    from lib.rollouts.policies import ChatTemplate, Harness, LocalPolicy, Plain

    environment, cache = open_environment("bfcl:simple_python"), ROOT / "build" / "models"
    weights, tokenizer = load(find_model(model, cache), cache=cache)
    prompt_formats = {"harness": Harness(), "plain": Plain()}
    if tokenizer.chat_template:
        prompt_formats["chat"] = ChatTemplate(tokenizer)
    sampling = Sampling(temperature=0.4, top_p=0.95, max_new_tokens=48)
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder) / name for name in prompt_formats]
        for out, (name, prompt_format) in zip(folders, prompt_formats.items(), strict=True):
            policy = LocalPolicy(Engine(weights, tokenizer), prompt_format, sampling, name=model)
            few = environment.tasks()[:tasks]
            collect(policy, environment, few, n, out, pair=model, arm=name)
        return conditions(folders, environment)
