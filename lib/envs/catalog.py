"""Which environments there are, and how one is opened by its name.

A module of `lib.envs` is imported only when its environment is opened: a benchmark's package may
be missing, and is slow to import.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from lib.envs.protocol import Environment

ENVIRONMENTS = {
    "frozenlake": ("lib.envs.frozenlake", "FrozenLake"),
    "sokoban": ("lib.envs.sokoban", "Sokoban"),
    "desk": ("lib.envs.desk", "Desk"),
}
"""The lab's own environments: name to module and class."""

BENCHMARKS = {"bfcl": ("lib.envs.benchmarks.bfcl", "BFCL")}
"""The real benchmarks: name to module and class."""

SPLITS = ("train", "test")
"""The parts of an environment of the lab."""

COUNT = 200
"""Tasks of an environment of the lab if no count is given; it can draw as many as are wanted."""


MOST = 10**6
"""The most tasks of an environment of the lab: their names alone take 100 MB."""


class MissingBenchmark(ImportError):
    """A benchmark's package or data is missing; the message gives the command that installs it."""


def require(package: str, expected: str) -> None:
    """Raise MissingBenchmark unless exactly version ``expected`` of ``package`` is installed."""
    try:
        installed = version(package)
    except PackageNotFoundError:
        installed = "not installed"
    if installed != expected:
        raise MissingBenchmark(
            f"{package} {expected} is needed, it is {installed}; run: make benchmarks"
        )


def open_environment(name: str, split: str | None = None, count: int | None = None) -> Environment:
    """Open an environment of the lab or a benchmark by its name, in its default size.

    name : "sokoban", or with a split "sokoban:test"; "bfcl:multi_turn_base" for a part of BFCL.
    split : "train" (default) or "test", for an environment of the lab whose name has none. The two
        share no level.
    count : number of tasks, for an environment of the lab (default: `COUNT`). A benchmark has its
        own number, and must have at least this many.

    Raises ValueError if the name, split or count fits none, `MissingBenchmark` if the package of a
    benchmark is not installed.
    """
    base, colon, part = name.partition(":")
    if base not in ENVIRONMENTS and base not in BENCHMARKS:
        known = ", ".join([*ENVIRONMENTS, *BENCHMARKS])
        raise ValueError(f"there is no environment {name!r}: expected one of {known}")
    if split is not None and (colon or base in BENCHMARKS):
        raise ValueError(
            f"`split` is {split!r}, but {name!r} names its part already: give only one"
        )
    if part:
        _check_part(base, part)
    if base in ENVIRONMENTS and not 1 <= (COUNT if count is None else count) <= MOST:
        raise ValueError(f"`count` is {count}: expected 1 to {MOST} tasks of {base}")
    if base in ENVIRONMENTS:
        return _new(ENVIRONMENTS[base], split or part or "train", COUNT if count is None else count)
    environment = _new(BENCHMARKS[base], *[part] if part else [])
    available = len(environment.tasks())
    if count is not None and available < count:
        raise ValueError(
            f"`count` is {count}, but {environment.name} has {available} tasks: give no more, or "
            "leave it out"
        )
    return environment


def _check_part(base: str, part: str) -> None:
    own = base in ENVIRONMENTS
    parts = SPLITS if own else import_module(BENCHMARKS[base][0]).PARTS
    if part not in parts:
        raise ValueError(
            f"there is no environment '{base}:{part}': expected {base}: with one of "
            f"{', '.join(parts)}"
        )


def _new(entry, *options) -> Environment:
    module, name = entry
    return getattr(import_module(module), name)(*options)
