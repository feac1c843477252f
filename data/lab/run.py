"""Run the lab and write its tables beside this file; `make lab` runs it.

It takes hours on two cores, may be stopped at any moment, and goes on where it was. Work that is
named in done.json here is not done again: to repeat the lab from nothing, remove data/lab/done.json
and data/lab/models. Usage: run.py [--workers N] [--only TEXT]
"""

import argparse
import multiprocessing
import time

import torch

from lib.lab import plan, work


def worker(only: str) -> None:
    torch.set_num_threads(1)
    wanted = [one for one in plan.WORK if only in one.name]
    while True:
        waiting = [one for one in wanted if not work.is_done(one)]
        if not waiting:
            return
        for one in waiting:
            began = time.monotonic()
            if work.ready(one) and work.do(one, progress=False):
                print(f"{one.name}: done, {time.monotonic() - began:.0f} s", flush=True)
                break
        else:
            time.sleep(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes, one thread each (2)")
    parser.add_argument("--only", default="", help="only work whose name holds this")
    given = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=worker, args=(given.only,)) for _ in range(given.workers)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    work.gather()
    left = [one.name for one in plan.WORK if not work.is_done(one)]
    print(f"{len(left)} pieces of work are left: {', '.join(left)}" if left else "All is done.")


if __name__ == "__main__":
    main()
