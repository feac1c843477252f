"""Damage example logs, and read a large one: python tests/bench/importers.py [copies] [megabytes].

Prints what became of 1,000 damaged copies of the example logs (none may differ silently, or crash),
then how fast, and in how much memory, a generated file of JSON lines (1,000 MB by default) is read
on one core.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before numpy starts its threads

import json
import random
import resource
import runpy
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from lib.outcomes import importers

DAMAGE = runpy.run_path(str(Path(__file__).parents[1] / "damage.py"))


def damaged(copies):
    tally = Counter()
    for seed in range(copies):
        rng = random.Random(seed)
        log = rng.choice(list(DAMAGE["LOGS"]))
        with tempfile.TemporaryDirectory() as folder:
            kind, became, details = DAMAGE["outcome_of"](rng, Path(folder), log)
        tally[kind, became] += 1
        if became in ("silent", "crash"):
            print(f"{became.upper()}, seed {seed}: {log}, {kind}: {details}")
    for kind, became in sorted(tally):
        print(f"{kind:9} {became:7} {tally[kind, became]}")
    return sum(n for (_, became), n in tally.items() if became in ("silent", "crash"))


def large(megabytes):
    """A file like those of the harness: 16 responses of some 500 characters a document."""
    text = "so the answer is what one gets by adding both, which is more than each of them. " * 6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples_large_2026-01-01T00-00-00.jsonl"
        number = 0
        with path.open("w") as file:
            while file.tell() < megabytes * 1e6:
                for doc in range(number, number + 1000):
                    kept = [str((doc + i) % 3) for i in range(16)]
                    row = {
                        "doc_id": doc,
                        "doc": {"question": text, "answer": "1"},
                        "target": "1",
                        "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"temperature": 0.7}}},
                        "resps": [[f"{text}{i} {doc}" for i in range(16)]],
                        "filtered_resps": [kept],
                        "filter": "all",
                        "metrics": ["exact_match"],
                        "exact_match": kept.count("1") / 16,
                    }
                    file.write(json.dumps(row) + "\n")
                number += 1000
        size = path.stat().st_size / 1e6
        began = time.process_time()  # of this process alone, whatever else is running
        report = importers.load(path).report
        took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{size:.0f} MB, {report.attempts} attempts: {size / took:.0f} MB/s, peak {peak:.0f} MB")


if __name__ == "__main__":
    copies, megabytes = [*map(int, sys.argv[1:]), *(1000, 1000)[len(sys.argv) - 1 :]]
    bad = damaged(copies)
    print(f"{copies} damaged copies, {bad} silent or crashed")
    if megabytes:
        large(megabytes)
    sys.exit(bad > 0)
