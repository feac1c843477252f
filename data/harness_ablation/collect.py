"""Collect the harness ablation and write its tables beside this file; `make ablation` runs it.

Two small models on the first tasks of BFCL simple_python, in BFCL's published decoding but for at
most 96 new tokens, and on three tasks of multi_turn_base. It takes hours on two cores, may be
stopped at any moment, and goes on where it was; the tables are written when all is collected.
Usage: collect.py [--grade FOLDER ...] [--grade-multi-turn FOLDER ...]
"""

import argparse
from pathlib import Path

from lib import ROOT, outcomes
from lib.claims import harness_rates
from lib.envs import open_environment
from lib.lab import harness_ablation
from lib.rollouts import collection
from lib.rollouts.policies import open_policy

HERE = Path(__file__).parent
CONDITIONS = [
    ("gemma-3-270m", "harness"),
    ("gemma-3-270m", "plain"),
    ("smollm2-135m-instruct", "chat"),
    ("smollm2-135m-instruct", "harness"),
]
NAMES = {"gemma-3-270m": "gemma-3-270m", "smollm2-135m-instruct": "SmolLM2-135M-Instruct"}
TASKS, ATTEMPTS = 40, 32
MULTI_TURN = [("gemma-3-270m", "harness"), ("smollm2-135m-instruct", "chat")]
MULTI_TURN_TASKS, MULTI_TURN_ATTEMPTS = 3, 8
SAMPLING = {"temperature": 0.4, "top_p": 0.95, "max_new_tokens": 96}


def collect(benchmark, model, prompt_format, tasks, attempts) -> Path:
    """Bring the first tasks to so many attempts; return the folder of the collection."""
    out = ROOT / "build" / "harness_ablation" / f"{benchmark}-{model}-{prompt_format}"
    environment = open_environment(f"bfcl:{benchmark}")
    names = {"pair": NAMES[model], "arm": prompt_format}
    policy = open_policy(model, prompt_format=prompt_format, sampling=SAMPLING)
    collection.collect(policy, environment, environment.tasks()[:tasks], attempts, out, **names)
    return out


def write(folders) -> None:
    table = harness_ablation.regraded(folders, open_environment("bfcl:simple_python"))
    _write(harness_rates.whole_tasks(table, ATTEMPTS), "outcomes.parquet")


def write_multi_turn(folders) -> None:
    _write(harness_ablation.as_collected(folders), "multi_turn.parquet")


def _write(table, name) -> None:
    outcomes.write(table, HERE / name)
    print(f"{name}: {len(table)} graded attempts")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--grade", "--grade-multi-turn"):
        parser.add_argument(name, nargs="+", type=Path, metavar="FOLDER", help="grade only")
    given = parser.parse_args()
    if given.grade:
        write(given.grade)
    if given.grade_multi_turn:
        write_multi_turn(given.grade_multi_turn)
    if given.grade or given.grade_multi_turn:
        return
    write([collect("simple_python", *one, TASKS, ATTEMPTS) for one in CONDITIONS])
    size = MULTI_TURN_TASKS, MULTI_TURN_ATTEMPTS
    write_multi_turn([collect("multi_turn_base", *one, *size) for one in MULTI_TURN])


if __name__ == "__main__":
    main()
