"""How long a page takes, on one core: python tests/bench/report.py, nothing else running.

Times a page of 30 benchmarks of 200 tasks, and a page of a histogram of 10^6 tasks. Each stands
beside the slower way: large panels for every benchmark, and resamples drawn task by task (some of
them, scaled up).
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before numpy starts its threads

import json
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from lib.reporting import compare, comparison_sections

BENCHMARKS, TASKS, ROLLOUTS, MANY, N_BOOT, DRAWN = 30, 200, 64, 10**6, 1000, 50
SHAPES = {"base": (0.3, 0.5), "post": (0.2, 0.2)}


def seconds(work) -> float:
    start = time.process_time()  # of this process alone, whatever else is running
    work()
    return time.process_time() - start


def successes(rng, arm, tasks):
    return rng.binomial(ROLLOUTS, rng.beta(*SHAPES[arm], size=tasks)).tolist()


def of_benchmarks(rng, arm):
    for name in range(BENCHMARKS):
        for task, c in enumerate(successes(rng, arm, TASKS)):
            yield {"benchmark": f"b{name}", "task": f"t{task}", "n": ROLLOUTS, "c": c}


def of_many_tasks(rng, arm):
    for c, tasks in zip(*np.unique(successes(rng, arm, MANY), return_counts=True), strict=True):
        yield {"tasks": int(tasks), "n": ROLLOUTS, "c": int(c)}


def page_of(rows) -> float:
    """Seconds for the page about the logs that `rows` makes of each arm."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{arm}.jsonl" for arm in SHAPES]
        for arm, file in zip(SHAPES, files, strict=True):
            file.write_text("".join(json.dumps(row) + "\n" for row in rows(rng, arm)))
        return seconds(lambda: compare(*files, out=Path(folder) / "out"))


def by_task() -> float:
    """Seconds to draw the resamples of both arms task by task, from a list of all tasks."""
    rng = np.random.default_rng(0)
    listed = np.array(successes(rng, "base", MANY))

    def draw():
        for _ in range(DRAWN):
            np.bincount(listed[rng.integers(MANY, size=MANY)])

    return 2 * seconds(draw) * N_BOOT / DRAWN


def main():
    page_of(of_many_tasks)  # the first page also searches for fonts
    pages = page_of(of_benchmarks)
    with mock.patch.object(comparison_sections, "MANY", BENCHMARKS):
        before = page_of(of_benchmarks)
    histogram, listed = page_of(of_many_tasks), by_task()
    print(f"machine load over the last minute: {os.getloadavg()[0]:.1f}")
    print(f"{BENCHMARKS} benchmarks: {pages:6.1f} s; large panels for every one {before:6.1f} s")
    print(f"histogram of {MANY} tasks: {histogram:6.1f} s; task by task {listed:6.1f} s more")


if __name__ == "__main__":
    main()
