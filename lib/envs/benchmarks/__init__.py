"""Real benchmarks behind the protocol of :mod:`lib.envs`, one adapter a file."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

_ADAPTERS = {"bfcl": ("lib.envs.benchmarks.bfcl", "BFCL")}
NAMES = tuple(_ADAPTERS)


class MissingBenchmark(ImportError):
    """A benchmark's package or data is not there; the message gives the command that gets it."""


def require(package: str, expected: str) -> None:
    """Raise MissingBenchmark unless ``package`` is installed in just the version ``expected``."""
    try:
        found = version(package)
    except PackageNotFoundError:
        found = "not installed"
    if found != expected:
        raise MissingBenchmark(
            f"{package} {expected} is needed, it is {found}; run: make benchmarks"
        )


def open_benchmark(name: str):
    """The environment called NAME, or NAME:PART for a part of it, such as bfcl:multi_turn_base."""
    name, _, part = name.partition(":")
    if name not in _ADAPTERS:
        raise ValueError(f"there is no benchmark {name!r}; there are {', '.join(_ADAPTERS)}")
    module, adapter = _ADAPTERS[name]
    return getattr(import_module(module), adapter)(*[part] if part else [])
