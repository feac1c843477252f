"""Real benchmarks behind the protocol of :mod:`lib.envs`, one adapter a file."""

from importlib.metadata import PackageNotFoundError, version


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
