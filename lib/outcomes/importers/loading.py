"""Reading a log of any format known here."""

import inspect
from pathlib import Path

from lib.outcomes.errors import OutcomesError
from lib.outcomes.importers.attempts import Imported
from lib.outcomes.importers.formats import FORMATS, module_of

_FORMAT_OF_OPTION = {"columns": "table", "flags": "lists"}
"""Options that only one format has, and that tell the format therefore."""

_SHARED_OPTIONS = ("arm", "pair", "benchmark", "trajectories")


def load(path: str | Path, *, format: str | None = None, **options) -> Imported:
    """Read a log: a file, or a folder if the tool writes folders.

    format: a key of FORMATS; None detects it from content, or from an option that only one format
    has (`columns`: a table, `flags`: lists of verdicts).
    options: `arm`, `pair`, `benchmark` and `trajectories`, as in `attempts.as_outcomes`, and those
    of the format's reader: `scorer`, `filter`, `threshold`, ... None leaves an option out.

    Raises OutcomesError naming file and place. If several scorers or filters could be meant, the
    error lists them with the argument that chooses.
    """
    path = Path(path)
    if not path.exists():
        raise OutcomesError(f"{path}: no such file or folder; expected a log.")
    if format is not None and format not in FORMATS:
        raise OutcomesError(f"Expected a format of {', '.join(FORMATS)}; got {format!r}.")
    format = format or next((f for name, f in _FORMAT_OF_OPTION.items() if options.get(name)), None)
    if format is None:
        from lib.outcomes.importers.detect import detect_format  # imports formats to ask them

        format = detect_format(path)
    if path.is_dir() and not hasattr(module_of(format), "files_in"):
        raise OutcomesError(
            f"{path}: is a folder, but a log of the format {format!r} is one file. Name a file in "
            "it."
        )
    reader = FORMATS[format]
    _check_options(options, reader, format, path)
    return reader(path, **{name: value for name, value in options.items() if value is not None})


def _check_options(options, reader, format, path) -> None:
    own = [
        name
        for name, parameter in inspect.signature(reader).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in _SHARED_OPTIONS
    ]
    unknown = [name for name in options if name not in (*own, *_SHARED_OPTIONS)]
    if unknown:
        raise OutcomesError(
            f"{path}: the format {format!r} has no option {unknown[0]!r}; its own options are "
            f"{', '.join(own) or 'none'}."
        )
