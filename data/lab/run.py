"""Run the lab and write its tables beside this file; `make lab` runs it.

It takes hours on two cores, may be stopped at any moment, and goes on where it was. Work whose name
is in done.json here is not done again: README.md says how to repeat it.
Usage: run.py [--workers N] [--only TEXT]
"""

import argparse
import contextlib
import gc
import multiprocessing
import sys

import torch
from transformers.utils import logging

from lib.cli.arguments import positive
from lib.lab import runner
from lib.lab.plan import LAB


def worker(only: str) -> None:
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    gc.freeze()  # what was imported stays: looking through it took a quarter of an evaluation
    wanted = [work for work in LAB.work if only in work.name]
    # A worker outlives the command that started it only to the end of its piece of work.
    with contextlib.suppress(KeyboardInterrupt):
        runner.do_all(wanted, go_on=multiprocessing.parent_process().is_alive, done=report)


def report(work, seconds: float) -> None:
    print(f"{work.name}: done, {seconds:.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--workers", type=positive, default=2, help="processes, one thread each (2)"
    )
    parser.add_argument("--only", default="", help="only work whose name holds this, and its needs")
    given = parser.parse_args()
    if not any(given.only in work.name for work in LAB.work):
        parser.error(
            f"--only {given.only}: expected a part of the name of a piece of work, such as "
            f"{LAB.work[0].name}"
        )
    left = [work for work in LAB.work if not runner.is_done(work)]
    print(f"{len(left)} of {len(LAB.work)} pieces of work are left", flush=True)
    if not left:
        runner.gather()  # a kill may have come before the last piece's results were written here
        return 0
    print("This may be stopped at any moment: make lab goes on where it was", flush=True)
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=worker, args=(given.only,)) for _ in range(given.workers)]
    for process in workers:
        process.start()
    try:
        for process in workers:
            process.join()
    except KeyboardInterrupt:
        print("Stopped: make lab goes on where it was")
        return 130
    runner.gather()
    left = [work.name for work in LAB.work if not runner.is_done(work)]
    print(f"{len(left)} pieces of work are left: {', '.join(left)}" if left else "All is done.")
    return max(abs(process.exitcode) for process in workers)


if __name__ == "__main__":
    sys.exit(main())
