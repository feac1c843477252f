r"""Other tools' logs as outcomes, with a report on what was read and what was left out.

`load` detects the format from content; `read_<format>` is for logs of a known format. Each format
is a module under `formats/`, which names the version of the tool that it was checked against. Logs
are data: nothing in them is evaluated or unpickled, and an archive cannot reach outside of itself.

    >>> import json, tempfile
    >>> from lib.outcomes import importers
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as log:
    ...     rows = [{"task_id": "sum/1", "is_correct": [True, False, None]}]
    ...     _ = log.write("".join(json.dumps(row) + "\n" for row in rows))
    ...     log.flush()
    ...     imported = importers.load(log.name, arm="post")
    >>> imported.report.missing
    {'null in the list': 1}
    >>> imported.outcomes["passed"].tolist()
    [True, False, <NA>]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "attempts": ["Imported"],
        "compare_settings": ["differing_settings"],
        "detect": ["detect_format"],
        "formats": ["FORMATS"],
        "formats.bfcl": ["read_bfcl"],
        "formats.collection": ["read_collection"],
        "formats.evalplus": ["read_evalplus"],
        "formats.human_eval": ["read_human_eval"],
        "formats.inspect_log": ["read_inspect"],
        "formats.lm_eval": ["read_lm_eval"],
        "formats.tables": ["read_table"],
        "formats.tau": ["read_tau"],
        "formats.tau_export": ["to_tau2"],
        "formats.verdict_lists": ["read_lists"],
        "formats.verifiers": ["read_verifiers"],
        "loading": ["load"],
        "reports": ["ImportReport"],
    },
)
