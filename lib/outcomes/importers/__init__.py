"""Other tools' logs as outcomes, with a report on what was read and what was not.

    from lib import importers

    imported = importers.load("logs/2026-01-01_task.eval")
    print(imported.report)                   # files, tasks, attempts, missing and why, skipped
    imported.outcomes                        # the one table

`load` recognises the format from content; `read_<format>` takes it for granted. A module a format;
each says which version of the tool it was checked against. Logs are data: nothing in them is
evaluated or unpickled, and an archive cannot reach outside of itself.
"""

import inspect
from pathlib import Path

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Imported
from lib.outcomes.importers.compare_settings import differing_settings
from lib.outcomes.importers.detect import detect_format
from lib.outcomes.importers.formats.bfcl import read_bfcl
from lib.outcomes.importers.formats.collection import read_collection
from lib.outcomes.importers.formats.evalplus import read_evalplus
from lib.outcomes.importers.formats.human_eval import read_human_eval
from lib.outcomes.importers.formats.inspect_log import read_inspect
from lib.outcomes.importers.formats.lm_eval import read_lm_eval
from lib.outcomes.importers.formats.tables import read_table
from lib.outcomes.importers.formats.tau import read_tau
from lib.outcomes.importers.formats.tau_export import to_tau2
from lib.outcomes.importers.formats.verdict_lists import read_lists
from lib.outcomes.importers.formats.verifiers import read_verifiers
from lib.outcomes.importers.reports import ImportReport

FORMATS = {
    "lm_eval": read_lm_eval,
    "inspect": read_inspect,
    "tau": read_tau,
    "bfcl": read_bfcl,
    "human_eval": read_human_eval,
    "evalplus": read_evalplus,
    "verifiers": read_verifiers,
    "lists": read_lists,
    "table": read_table,
    "collection": read_collection,
}
"""The reader of each format, by name."""

_OF_FOLDERS = ("collection", "inspect", "lm_eval", "tau", "bfcl", "verifiers")
_OF_OPTIONS = {"columns": "table", "flags": "lists"}

__all__ = [
    "FORMATS",
    "ImportReport",
    "Imported",
    "detect_format",
    "differing_settings",
    "load",
    "read_bfcl",
    "read_collection",
    "read_evalplus",
    "read_human_eval",
    "read_inspect",
    "read_lists",
    "read_lm_eval",
    "read_table",
    "read_tau",
    "read_verifiers",
    "to_tau2",
]


def load(path: str | Path, *, format: str | None = None, **options) -> Imported:
    """Read a log of any format known here: a file, or a folder where the tool writes folders.

    format: a key of FORMATS; None recognises it from content, or from options that only a table
    (`columns`) or lists of verdicts (`flags`) have.
    options: `arm`, `pair`, `benchmark` and `trajectories`, as `log.collect` takes them, and what
    the reader of the format takes besides: `scorer`, `filter`, `threshold`, ...
    Raises OutcomesError naming file and place; where several scorers or filters could be meant,
    it lists them with the argument that chooses.
    """
    path = Path(path)
    if not path.exists():
        raise OutcomesError(f"{path}: no such file or folder; expected a log.")
    if format is not None and format not in FORMATS:
        raise OutcomesError(f"format {format!r}: expected one of {', '.join(FORMATS)}.")
    told = [kind for name, kind in _OF_OPTIONS.items() if options.get(name)]
    format = format or (told[0] if told else detect_format(path))
    reader = FORMATS[format]
    if path.is_dir() and format not in _OF_FOLDERS:
        raise OutcomesError(
            f"{path}: is a folder, and a log of the format {format!r} is one file. Name a file in "
            "it."
        )
    own = [
        name
        for name, parameter in inspect.signature(reader).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    shared = ["arm", "pair", "benchmark", "trajectories"]
    unknown = [name for name in options if name not in [*own, *shared]]
    if unknown:
        takes = [name for name in own if name not in shared]
        raise OutcomesError(
            f"{path}: {unknown[0]!r} is no option of the format {format!r}, which takes "
            f"{', '.join(takes) or 'none of its own'}."
        )
    return reader(path, **{name: value for name, value in options.items() if value is not None})
