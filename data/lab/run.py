"""Run the lab and write its tables beside this file; `make lab` runs it.

It takes hours on two cores, may be stopped at any moment, and goes on where it was. Work that is
named in done.json here is not done again: README.md says how to repeat it.
Usage: run.py [--workers N] [--only TEXT]
"""

import argparse
import gc
import multiprocessing
import sys
import time

import torch
from transformers.utils import logging

from lib.cli.arguments import positive
from lib.lab import plan, runner


def worker(only: str) -> None:
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    gc.freeze()  # what was imported stays: looking through it took a quarter of an evaluation
    wanted = runner.with_needs(one for one in plan.WORK if only in one.name)
    try:
        # A worker outlives the command that started it only to the end of its piece of work.
        while multiprocessing.parent_process().is_alive():
            waiting = [one for one in wanted if not runner.is_done(one)]
            if not waiting:
                return
            for one in waiting:
                began = time.monotonic()
                if runner.ready(one) and runner.do(one, progress=False):
                    print(f"{one.name}: done, {time.monotonic() - began:.0f} s", flush=True)
                    break
            else:
                time.sleep(2)
    except KeyboardInterrupt:
        return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--workers", type=positive, default=2, help="processes, one thread each (2)"
    )
    parser.add_argument("--only", default="", help="only work whose name holds this, and its needs")
    given = parser.parse_args()
    if not any(given.only in one.name for one in plan.WORK):
        parser.error(
            f"--only {given.only}: no piece of work has this in its name, as "
            f"{plan.WORK[0].name} has its own"
        )
    left = [one for one in plan.WORK if not runner.is_done(one)]
    print(f"{len(left)} of {len(plan.WORK)} pieces of work are left", flush=True)
    if not left:
        runner.gather()  # a kill may have come before the last piece's results were written here
        return 0
    print("This may be stopped at any moment: make lab goes on where it was", flush=True)
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=worker, args=(given.only,)) for _ in range(given.workers)]
    for one in workers:
        one.start()
    try:
        for one in workers:
            one.join()
    except KeyboardInterrupt:
        print("Stopped: make lab goes on where it was")
        return 130
    runner.gather()
    left = [one.name for one in plan.WORK if not runner.is_done(one)]
    print(f"{len(left)} pieces of work are left: {', '.join(left)}" if left else "All is done.")
    return max(abs(one.exitcode) for one in workers)


if __name__ == "__main__":
    sys.exit(main())
