"""Run the notebooks of a batch in parallel, each with its own parameters.

What is wrong with a batch is refused before the first kernel starts (`batch_entries`). After that a
failing notebook stops none of the others: its `Result` says which cell failed, and why.
"""

import math
import multiprocessing
import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing.connection import wait as wait_for
from pathlib import Path, PurePath

import nbformat
import papermill
from tqdm import tqdm

from lib import ROOT
from lib.reporting.batch_entries import (
    Entry,
    as_entries,
    check_targets,
    read_batch,
    select_entries,
)
from lib.reporting.notebook_page import render_notebook
from lib.reporting.notebook_parameters import parameterised

STARTS = 3
"""How often a notebook is started at most: a kernel may die at start, a worker may be killed."""


@dataclass(frozen=True)
class Failure:
    """Why a notebook stopped.

    cell: the number that Jupyter shows as In [cell], None where no cell was running.  source: the
    first line of that cell.  error, message: the exception.  kernel_lost: True where the kernel
    died or never answered, False where the cell raised an exception.
    """

    cell: int | None
    source: str
    error: str
    message: str
    kernel_lost: bool = False

    @property
    def died_at_start(self) -> bool:
        """Whether the kernel was lost before it had finished a single cell."""
        return self.kernel_lost and self.cell in (None, 1)

    def __str__(self):
        where = f"cell In [{self.cell}] `{self.source}`" if self.cell else "outside the cells"
        return f"{where}: {self.error}: {self.message}"


@dataclass(frozen=True)
class Result:
    """What became of an entry: its executed notebook, even a failed one, and how it went."""

    entry: Entry
    notebook: Path
    seconds: float = math.nan
    starts: int = 1
    failure: Failure | None = None


def run_batch(
    batch: str | Path | Iterable,
    *,
    out: str | Path,
    jobs: int | None = None,
    only: Iterable[str] = (),
) -> list[Result]:
    """Run the entries of a batch in parallel processes and return their results, in order.

    batch: the path of a YAML file, or a list of entries, whose notebooks are then relative to the
    working directory.  out: the folder of the executed notebooks, NAME.ipynb and NAME.html.
    jobs: how many run at once; None takes one per core.  only: names of the entries to run; empty
    runs all. A kernel works in its notebook's folder. Progress goes to standard error: a bar on a
    terminal, and a line for every finished notebook.

    Raises ValueError or FileNotFoundError, before anything runs, for an entry that cannot work:
    see `as_entries`.
    """
    entries = read_batch(batch) if isinstance(batch, str | PurePath) else as_entries(batch)
    entries = select_entries(entries, only)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs = {jobs}: expected at least 1, or None for one per core")
    jobs = min(jobs or os.cpu_count() or 1, len(entries))
    out = Path(out).resolve()
    check_targets(entries, out)
    out.mkdir(parents=True, exist_ok=True)

    results = {}
    with tqdm(total=len(entries), unit="notebook", disable=None) as bar:
        for result in _results(entries, out, jobs):
            results[result.entry.name] = result
            bar.write(_progress_line(result), file=sys.stderr)
            bar.update()
    return [results[entry.name] for entry in entries]


def _results(entries, out, jobs) -> Iterator[Result]:
    """Run the entries, `jobs` at once, and yield each result as soon as it is there.

    Every run has a worker process of its own. One that is killed (for its memory, say) takes no
    other with it, and its notebook is started again after those that wait.
    """
    # Fresh processes, not forks: a fork of a process that has threads may hang.
    context = multiprocessing.get_context("spawn")
    waiting, running, killed = deque(entries), {}, Counter()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                entry = waiting.popleft()
                worker = ProcessPoolExecutor(1, mp_context=context, initializer=_prepare_worker)
                running[worker.submit(run_notebook, entry, out)] = entry, worker
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                entry, worker = running.pop(future)
                worker.shutdown()
                if isinstance(future.exception(), BrokenProcessPool):
                    killed[entry.name] += 1
                    if killed[entry.name] < STARTS:
                        waiting.append(entry)
                        continue
                yield _result_of(future, entry, out, killed[entry.name])
    finally:  # an interrupt reaches the running workers too; waiting entries never start
        for _, worker in running.values():
            worker.shutdown()


def _prepare_worker() -> None:
    """Let kernels use this checkout's library, and end them all if the batch is killed."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    wait_for([multiprocessing.parent_process().sentinel])
    os._exit(1)  # a kernel ends by itself once its worker is gone


def run_notebook(entry: Entry, out: str | Path) -> Result:
    """Execute one entry into `out`/NAME.ipynb, render it as NAME.html, and report how it went."""
    target = Path(out).resolve() / f"{entry.name}.ipynb"
    page = target.with_suffix(".html")
    for left_by_an_earlier_run in (target, page):
        left_by_an_earlier_run.unlink(missing_ok=True)
    began = time.perf_counter()
    starts, failure = 1, _execute(entry, target)
    while failure and failure.died_at_start and starts < STARTS:
        starts, failure = starts + 1, _execute(entry, target)
    seconds = time.perf_counter() - began
    page.write_text(render_notebook(target), encoding="utf-8")
    return Result(entry, target, seconds, starts, failure)


def _execute(entry, target) -> Failure | None:
    nbformat.write(parameterised(entry.notebook, entry.parameters), target)
    path = str(target).replace("{", "{{").replace("}", "}}")  # papermill formats its paths
    begun = []
    try:
        papermill.execute_notebook(
            path,
            path,
            kernel_name="python3",  # this environment's, whatever the notebook was last saved with
            cwd=entry.notebook.parent,
            progress_bar=False,
            extra_arguments=["--log-level=CRITICAL"],  # the notebook itself shows what failed
            on_cell_execute=lambda cell, cell_index: begun.append(cell),
        )
    except papermill.PapermillExecutionError as error:
        return Failure(error.exec_count, _first_line(error.source), error.ename, error.evalue)
    except RuntimeError as error:  # nbclient's error for a kernel that died or never answered
        source = _first_line(begun[-1].source) if begun else ""
        return Failure(len(begun) or None, source, type(error).__name__, str(error), True)
    return None


def _first_line(source) -> str:
    return source.strip().partition("\n")[0]


def _result_of(future, entry, out, killed) -> Result:
    """The result of a run; `killed` counts the workers that its notebook lost so far."""
    try:
        result = future.result()
        return replace(result, starts=result.starts + killed)
    except BrokenProcessPool:
        message = f"the process that ran it was killed {killed} times; is there enough memory?"
        failure = Failure(None, "", "BrokenProcessPool", message)
    # Any other error of a worker is that notebook's result too, never the end of the batch.
    except Exception as error:
        failure = Failure(None, "", type(error).__name__, str(error))
    return Result(entry, out / f"{entry.name}.ipynb", starts=max(killed, 1), failure=failure)


def _progress_line(result) -> str:
    outcome = f"FAILED: {result.failure}" if result.failure else "done"
    notes = [] if math.isnan(result.seconds) else [f"{result.seconds:.1f} s"]
    if result.starts > 1:
        notes.append(f"started {result.starts} times")
    return f"{result.entry.name}: {outcome}" + (f" ({', '.join(notes)})" if notes else "")
