"""Formats of logs, a module each: its reader, and what it recognises its own logs by.

The module of a format has `read_<format>(path, **options)`, and one or both of:

- `matches(head)`: whether a file with this `Head` is a log of the format.
- `files_in(folder)`: the files by which a folder is a log of the format; none if it is not.

A format is imported when it is first needed.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType

_MODULES = {
    "lm_eval": "lm_eval",
    "inspect": "inspect_log",
    "tau": "tau",
    "bfcl": "bfcl",
    "human_eval": "human_eval",
    "evalplus": "evalplus",
    "verifiers": "verifiers",
    "lists": "verdict_lists",
    "table": "tables",
    "collection": "collection",
}


def module_of(format: str) -> ModuleType:
    """The module of a format."""
    return import_module(f"{__name__}.{_MODULES[format]}")


class _Readers(Mapping):
    """The reader of each format, by its name."""

    def __getitem__(self, format: str) -> Callable:
        return getattr(module_of(format), f"read_{format}")

    def __contains__(self, format: object) -> bool:
        return format in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


FORMATS = _Readers()
"""The reader of each format, by its name."""
