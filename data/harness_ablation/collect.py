"""Collect the harness ablation, write outcomes.parquet beside this file; `make ablation` does so.

Two small models on the first tasks of BFCL simple_python, in BFCL's published decoding but for at
most 96 new tokens. It takes hours on two cores, may be stopped at any moment, and goes on where it
was; the table is written anew after each condition. Usage: collect.py [--grade FOLDER ...]
"""

import argparse
from pathlib import Path

from lib import ROOT, ablation, outcomes
from lib.__main__ import main as command_line
from lib.benchmarks import open_benchmark

HERE = Path(__file__).parent
CONDITIONS = [
    ("gemma-3-270m", "harness"),
    ("gemma-3-270m", "plain"),
    ("smollm2-135m-instruct", "chat"),
    ("smollm2-135m-instruct", "harness"),
]
TASKS, ATTEMPTS = 40, 32
SETTINGS = ["--temperature", "0.4", "--top-p", "0.95", "--max-new-tokens", "96"]


def collect(model, dialect) -> Path:
    out = ROOT / "build" / "harness_ablation" / f"{model}-{dialect}"
    size = ["-n", str(ATTEMPTS), "--tasks", str(TASKS)]
    names = ["--dialect", dialect, "--pair", model, "--arm", dialect, "-o", str(out)]
    if command_line(["collect", "bfcl:simple_python", model, *size, *SETTINGS, *names]):
        raise SystemExit(f"{out}: not finished; run this again to go on")
    return out


def write(folders) -> None:
    table = ablation.conditions(folders, open_benchmark("bfcl:simple_python"))
    outcomes.write(ablation.whole_tasks(table, ATTEMPTS), HERE / "outcomes.parquet")
    print(f"{len(table)} graded attempts, written to {HERE / 'outcomes.parquet'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grade", nargs="+", type=Path, metavar="FOLDER", help="grade these only")
    given = parser.parse_args().grade
    if given:
        write(given)
    else:
        done = []
        for model, dialect in CONDITIONS:
            done.append(collect(model, dialect))
            write(done)
