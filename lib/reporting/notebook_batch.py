"""Run a list of notebooks in parallel, each with its own parameters.

A batch is a list of entries, in a YAML file or as Python dictionaries::

    - notebook: 02_crossover.ipynb       # relative to the YAML file
      name: crossover_swe                # of the executed notebook; by default the notebook's own
      parameters: {benchmarks: [swe], n_boot: 200}

Everything that can be known to be wrong is refused before the first kernel starts. After that a
failing notebook stops none of the others: its :class:`Result` says which cell failed, and why.
"""

import math
import multiprocessing
import os
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

import nbformat
import papermill
import yaml
from nbconvert import HTMLExporter
from tqdm import tqdm

from lib.reporting.notebook_parameters import known_parameters, literal, parameterised

STARTS = 3
"""How often a notebook is started at most: when its kernel dies at start, its worker is killed."""

RESERVED = {"report", "claims"}
"""Names that no entry may have: they are those of the pages written beside the notebooks."""

LONGEST_NAME = 200
"""Bytes of an entry's name; a file system takes 255, of which the ending needs a few."""


@dataclass(frozen=True)
class Entry:
    """One run of one notebook: where it is, what its results are called, and its parameters."""

    notebook: Path
    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """Why a notebook stopped.

    ``cell`` is the number that Jupyter shows as In [cell], None where no cell was running;
    ``source`` is the first line of that cell; ``kernel_lost`` tells a kernel that died or never
    answered from an exception raised in it.
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
    """What became of an entry: its executed notebook (also where it failed), and how it went."""

    entry: Entry
    notebook: Path
    seconds: float = math.nan
    starts: int = 1
    failure: Failure | None = None


def run_batch(batch, *, out, jobs=None, only=()) -> list[Result]:
    """Run the entries of a batch in parallel processes and return their results, in order.

    ``batch`` is the path of a YAML file or a list of entries, whose notebooks are then relative to
    the working directory. Executed notebooks are written as ``out``/NAME.ipynb and NAME.html.
    ``jobs`` is how many run at once (by default one a core); ``only`` selects entries by name.
    A kernel works in its notebook's folder. Progress goes to standard error: a bar on a terminal,
    and a line for every finished notebook.

    Raises ValueError or FileNotFoundError, before anything runs, for an entry that cannot work:
    see :func:`as_entries`.
    """
    entries = read_batch(batch) if isinstance(batch, str | PurePath) else as_entries(batch)
    entries = _selected(entries, only)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be 1 or more, not {jobs}")
    jobs = min(jobs or os.cpu_count() or 1, len(entries))
    out = Path(out).resolve()
    _check_targets(entries, out)
    out.mkdir(parents=True, exist_ok=True)

    results = {}
    with tqdm(total=len(entries), unit="notebook", disable=None) as bar:
        for result in _results(entries, out, jobs):
            results[result.entry.name] = result
            bar.write(_progress_line(result), file=sys.stderr)
            bar.update()
    return [results[entry.name] for entry in entries]


def _results(entries, out, jobs) -> Iterator[Result]:
    """Run the entries, so many at once, and yield each result as it comes.

    Every run has a worker process of its own: one that is killed (for its memory, say) takes no
    other along, and its notebook is started again after those that wait.
    """
    # Fresh processes, not forks: a fork of a process that has threads may hang.
    context = multiprocessing.get_context("spawn")
    waiting, running, killed = deque(entries), {}, Counter()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                entry = waiting.popleft()
                worker = ProcessPoolExecutor(1, mp_context=context)
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
    finally:  # an interrupt reaches the workers too; those not yet started never are
        for _, worker in running.values():
            worker.shutdown()


# --- what a batch may say -----------------------------------------------------------------------


def read_batch(path) -> list[Entry]:
    """Read the entries of a YAML file; ValueError names the entry that cannot be understood."""
    path = Path(path)
    written = path.read_bytes()
    try:
        listed = yaml.safe_load(written)
    except Exception as error:  # PyYAML passes on whatever a malformed scalar or nesting raises
        raise ValueError(f"{path} is not a YAML file: {error}") from error
    if not isinstance(listed, list):
        raise ValueError(f"{path}: expected a list of entries `- notebook: NAME.ipynb`")
    return as_entries(listed, folder=path.parent, origin=path)


def as_entries(listed: Iterable, *, folder=".", origin="batch") -> list[Entry]:
    """Check a list of entries (dictionaries or :class:`Entry`), without running anything.

    Notebooks are looked up relative to ``folder``. Raises ValueError or FileNotFoundError naming
    ``origin``, the entry, what is wrong with it and what would be right.
    """
    entries = {}
    for number, raw in enumerate(listed, start=1):
        where = f"{origin}, entry {number}"
        entry = raw if isinstance(raw, Entry) else _as_entry(raw, Path(folder), where)
        _check_name(entry.name, where)
        _check_parameters(entry, where)
        same_file = entry.name.casefold()  # where a file system does not tell A from a
        if same_file in entries:
            raise ValueError(
                f"{where}: an entry before it is named {entries[same_file].name!r} too and would "
                "be overwritten; give one of them another `name`"
            )
        entries[same_file] = entry
    if not entries:
        raise ValueError(f"{origin}: there is no entry to run")
    return list(entries.values())


def _as_entry(raw, folder, where):
    if not isinstance(raw, Mapping) or not isinstance(raw.get("notebook"), str | PurePath):
        raise ValueError(f"{where}: expected `notebook: NAME.ipynb`, found {raw!r}")
    if unknown := set(raw) - {"notebook", "name", "parameters"}:
        raise ValueError(
            f"{where}: unknown key {_listed(unknown)}; an entry has notebook, name, parameters"
        )
    notebook = folder / raw["notebook"]
    parameters = raw.get("parameters")
    if not isinstance(parameters, Mapping | None):
        raise ValueError(f"{where}: parameters must map names to values, found {parameters!r}")
    return Entry(notebook, raw.get("name", notebook.stem), dict(parameters or {}))


def _check_name(name, where):
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.+-]*", name):
        raise ValueError(f"{where}: name {name!r} must be a plain file name, without its ending")
    if len(name.encode()) > LONGEST_NAME:
        raise ValueError(f"{where}: name {name!r} is too long; {LONGEST_NAME} bytes are the most")
    if name.casefold() in RESERVED:
        raise ValueError(
            f"{where}: the name {name!r} is kept for the batch's own page; give the entry "
            "another `name`"
        )


def _check_parameters(entry, where):
    if not entry.notebook.is_file():
        raise FileNotFoundError(f"{where}: there is no notebook {entry.notebook}")
    known = known_parameters(entry.notebook)
    if unknown := set(entry.parameters) - set(known):
        raise ValueError(
            f"{where}: {entry.notebook.name} has no parameter {_listed(unknown)}; "
            f"it has {_listed(known) or 'none (no cell is tagged `parameters`)'}"
        )
    for name, value in entry.parameters.items():
        try:
            literal(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: parameter {name}: {error}") from error


def _check_targets(entries, out):
    notebooks = {entry.notebook.resolve() for entry in entries}
    for entry in entries:
        target = out / f"{entry.name}.ipynb"
        if target.resolve() in notebooks:
            raise ValueError(
                f"entry {entry.name!r} would overwrite the notebook {target}; "
                "write to another folder or give it another `name`"
            )


def _selected(entries, only):
    if unknown := set(only) - {entry.name for entry in entries}:
        raise ValueError(
            f"no entry is named {_listed(unknown)}; "
            f"the batch has {_listed(entry.name for entry in entries)}"
        )
    return [entry for entry in entries if entry.name in only] if only else entries


def _listed(names):
    return ", ".join(sorted(map(str, names)))


# --- one notebook -------------------------------------------------------------------------------


def run_notebook(entry: Entry, out: Path) -> Result:
    """Execute one entry into ``out``/NAME.ipynb, render it as NAME.html, and say how it went."""
    target = Path(out).resolve() / f"{entry.name}.ipynb"
    page = target.with_suffix(".html")
    for left_by_an_earlier_run in (target, page):
        left_by_an_earlier_run.unlink(missing_ok=True)
    began = time.perf_counter()
    starts, failure = 1, _execute(entry, target)
    while failure and failure.died_at_start and starts < STARTS:
        starts, failure = starts + 1, _execute(entry, target)
    seconds = time.perf_counter() - began
    page.write_text(HTMLExporter().from_filename(str(target))[0], encoding="utf-8")
    return Result(entry, target, seconds, starts, failure)


def _execute(entry, target):
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
            extra_arguments=["--log-level=CRITICAL"],  # what matters stands in the notebook
            on_cell_execute=lambda cell, cell_index: begun.append(cell),
        )
    except papermill.PapermillExecutionError as error:
        return Failure(error.exec_count, _first_line(error.source), error.ename, error.evalue)
    except RuntimeError as error:  # so nbclient tells of a kernel that died or never answered
        source = _first_line(begun[-1].source) if begun else ""
        return Failure(len(begun) or None, source, type(error).__name__, str(error), True)


def _first_line(source):
    return source.strip().partition("\n")[0]


def _result_of(future, entry, out, killed):
    """The result of a run whose worker was ``killed`` so many times, this one or ones before."""
    try:
        result = future.result()
        return replace(result, starts=result.starts + killed)
    except BrokenProcessPool:
        message = f"the process that ran it was killed {killed} times; has it memory enough?"
        failure = Failure(None, "", "BrokenProcessPool", message)
    # Whatever else happened to a worker is that notebook's result too, never the end of the batch.
    except Exception as error:
        failure = Failure(None, "", type(error).__name__, str(error))
    return Result(entry, out / f"{entry.name}.ipynb", starts=max(killed, 1), failure=failure)


def _progress_line(result):
    outcome = f"FAILED: {result.failure}" if result.failure else "done"
    notes = [] if math.isnan(result.seconds) else [f"{result.seconds:.1f} s"]
    if result.starts > 1:
        notes.append(f"started {result.starts} times")
    return f"{result.entry.name}: {outcome}" + (f" ({', '.join(notes)})" if notes else "")
