"""Sharpening Lab: what post-training pays in coverage, and what progress advantage buys back.

One table of outcomes flows through the rooms of this package; import the room you need, for
example ``from lib import metrics, outcomes``. Nothing heavy is imported here.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout this package was imported from; ``data`` and ``figures`` live beside ``lib``."""


def located(path: str | Path) -> Path:
    """A path that people name: as it is where it exists from here, or else from `ROOT`."""
    here = Path(path)
    return here if here.exists() else ROOT / here
