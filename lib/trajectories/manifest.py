"""The manifest of a collection: the settings that decide its content, which no rerun may change."""

import hashlib
import json
import platform
import warnings
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from lib.trajectories import storage

VERSION = 2
PACKAGES = ("sharpening-lab", "torch", "transformers", "tokenizers")


class CollectionError(ValueError):
    """A folder cannot be collected into or read: says which setting differs, or what is wrong."""


def agree(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the manifest of a new collection, or compare these settings with those it has.

    settings: nested JSON values. The versions of Python and of `PACKAGES` are stored with them.

    Raises CollectionError if a setting differs or `refuse_lost` does, and warns if only a version
    differs.
    """
    refuse_lost(path)
    wanted = _flat({"version": VERSION, **settings})
    versions = _versions()
    text = json.dumps(wanted | {"versions": versions}, indent=1, sort_keys=True) + "\n"
    there = _parse(path, storage.write_once(path, text))
    then = there.pop("versions", {})
    _refuse_other(path, there, wanted, wanted.keys() | there.keys())
    # Another version of a package should compute the same, up to rounding; to refuse it would
    # leave no way to finish a collection after an upgrade. Whatever else an upgrade may change (a
    # template, weights, the words of the harness) is among the settings, as a hash.
    changed = [
        f"{name} {then.get(name)}, now {versions.get(name)}"
        for name in sorted(versions.keys() | then.keys())
        if versions.get(name) != then.get(name)
    ]
    if changed:
        warnings.warn(
            f"{path.parent} was begun with {'; '.join(changed)}: it will hold attempts of both",
            stacklevel=3,
        )


def check(path: Path, settings: Mapping[str, Any]) -> None:
    """Raise CollectionError if one of these settings, which need not be all, differs.

    Nothing is written. A folder without a manifest accepts any settings unless it holds attempts.
    """
    refuse_lost(path)
    if path.exists():
        wanted = _flat({"version": VERSION, **settings})
        _refuse_other(path, _parse(path, _read(path)), wanted, wanted)


def refuse_lost(path: Path) -> None:
    """Raise CollectionError if attempts lie beside a manifest that is not there."""
    attempts = sorted(path.parent.glob("rollouts-*.jsonl"))  # looked for first: it is written later
    if attempts and not path.exists():
        raise CollectionError(
            f"{path.parent} holds attempts ({attempts[0].name}) but no {path.name}, which says "
            "under which settings they were collected. Put it back, or choose another folder."
        )


def settings(folder: Path) -> dict[str, Any]:
    """The settings of a collection by their dotted names; {} if it has no manifest."""
    path = folder / "manifest.json"
    return _parse(path, _read(path)) if path.exists() else {}


def key(folder: Path) -> str:
    """A short key of the settings of a collection, whatever the versions; "" without a manifest."""
    there = settings(folder)
    there.pop("versions", None)
    text = json.dumps(there, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16] if there else ""


def _refuse_other(path: Path, there: dict, wanted: dict, names: Iterable[str]) -> None:
    for name in sorted(names, key=lambda name: (name != "version", name)):
        if wanted.get(name) != there.get(name):
            raise CollectionError(
                f"{path.parent} was collected with {name} = {there.get(name)!r}, now it is "
                f"{wanted.get(name)!r}. Attempts under different settings must not be mixed: "
                "choose another folder, or set it back."
            )


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CollectionError(
            f"{path}: not UTF-8 ({error}). Repair it, or choose another folder."
        ) from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        there = json.loads(text)
        if isinstance(there, dict):
            return there
        error = f"it holds a {type(there).__name__}"
    except ValueError as reason:
        error = reason
    raise CollectionError(f"{path}: not JSON ({error}). Repair it, or choose another folder.")


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as JSON values under dotted names, so that each difference has a name."""
    flat = {}
    for name, value in json.loads(json.dumps(settings)).items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
