"""How reports and errors of the importers say things."""

import shlex
from typing import Any


def cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def shortened(files: list[str]) -> str:
    return ", ".join(files[:3]) + (f", and {len(files) - 3} more" if len(files) > 3 else "")


def option(name: str, value: Any) -> str:
    """How a reader of logs is told to choose something, in Python and on the command line."""
    spelled = f'"{value}"' if isinstance(value, str) else value
    typed = shlex.quote(f"{name}={value}")
    return f"{name}={spelled} (on the command line: --choose {typed})"
