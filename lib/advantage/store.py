"""Scores in files: a folder of JSON lines that can be resumed, or one Parquet file.

A folder has `manifest.json` with every setting that matters, and for each writer a
`scores-*.jsonl`, a line for each trajectory. The columns are those of `lib.advantage.scores`, but
that a line has its key as a list and, as `missing`, the reason for each step. A trajectory is done
once any of these files holds it, as long as its tokens, text and outcome are those that were
scored: a changed one is scored again.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib.advantage.aggregation import score_trajectory
from lib.advantage.baselines import BASELINES
from lib.advantage.scores import KEY, TOKEN_COLUMNS, AttemptKey, Scored, as_scored, as_table
from lib.trajectories.jsonl import iter_records
from lib.trajectories.schema import Rollout, TrajectoryError, tools_key

SCHEMA = 1
"""Version of the line format; a reader refuses the lines of another one."""
PER_STEP = ("messages", "missing", "counts")
"""Parts of a line that hold a value for each step."""
DIGITS = 7  # after the point; scores are of single precision


def read_table(source: str | Path) -> pd.DataFrame:
    """The table of scored attempts in a folder of `python -m lib score`, or in a Parquet file.

    source : the folder; or the file, or a folder with a `scores.parquet`, as the lab writes it. For
        the columns see `lib.advantage.scores`.

    Of a trajectory that was scored more than once the newest scores count. Raises FileNotFoundError
    where there are no scores, and ValueError for a file without the columns.
    """
    source = Path(source)
    file = source / "scores.parquet" if source.is_dir() else source
    if not file.is_file():
        return as_table(read_scores(source))
    table = pd.read_parquet(file)
    needed = ["task", "attempt", "passed", "turns", "missing", "counts", *TOKEN_COLUMNS]
    lacking = [name for name in needed if name not in table and name != "reference"]
    if lacking:
        raise ValueError(
            f"{file} has no column {lacking[0]!r}: expected a table of scored attempts, with "
            f"{', '.join(needed)}"
        )
    return table


def read_scores(out: str | Path, of: Iterable[Rollout] | None = None) -> Scored:
    """The scores of a folder, in the order of their keys, whichever process wrote them.

    of : only the scores of these rollouts as they are now: one that has changed since has none.

    Of a trajectory that was scored more than once the newest scores count. Raises FileNotFoundError
    where there are none.
    """
    lines = newest_lines(Path(out))
    if of is not None:
        now = {rollout.key: digest(rollout) for rollout in of}
        lines = {key: line for key, line in lines.items() if now.get(key, "") == line.get("digest")}
    if not lines:
        raise FileNotFoundError(
            f"no scores in {out}: give a folder that `python -m lib score` made"
            if of is None
            else f"no scores of these trajectories in {out}: score them"
        )
    without = [key for key in sorted(lines) if "reference" not in lines[key]]
    if 0 < len(without) < len(lines):
        raise ValueError(
            f"{without[0]} has no scores of a reference in {out}, others have: remove its line, "
            "and score it again"
        )
    columns = [name for name in TOKEN_COLUMNS if name != "reference" or not without]
    rows = [
        dict(zip(KEY, key, strict=True))
        | {name: lines[key][name] for name in ("passed", "messages", "counts", *columns)}
        | {"why_missing": lines[key]["missing"]}
        for key in sorted(lines)
    ]
    return as_scored(pd.DataFrame(rows))


def newest_lines(out: Path) -> dict[AttemptKey, dict[str, Any]]:
    """Of each trajectory the line that counts; a later one may be in an earlier file."""
    newest: dict[AttemptKey, dict[str, Any]] = {}
    for path in sorted(out.glob("scores-*.jsonl")):
        # A kill may tear the last line of a file, or it is still being written: it is not done.
        for number, _, raw in iter_records(path, on_torn=lambda message: None):
            try:
                line = _checked(raw)
            except (KeyError, TypeError, ValueError) as error:
                raise TrajectoryError(
                    f"{path}:{number}: not a line of scores ({error!r})"
                ) from error
            key = tuple(line["key"])
            if key not in newest or revision(line) >= revision(newest[key]):
                newest[key] = line
    return newest


def revision(line: Mapping[str, Any]) -> int:
    """How often the trajectory was scored before; -1 in lines of versions that did not count."""
    return line.get("revision", -1)


def _checked(line) -> dict[str, Any]:
    """The line, its columns with a value for each token as arrays; raises if it does not fit."""
    if line["schema"] != SCHEMA:
        raise ValueError(f"schema {line['schema']!r}, expected {SCHEMA}")
    if list(map(type, line["key"])) != [str, str, str, str, int]:
        raise ValueError(f"key {line['key']!r}, expected four texts and a whole number")
    if line["passed"] not in (True, False, None) or type(revision(line)) is not int:
        raise ValueError("expected passed to be true, false or null, revision a whole number")
    if min(line["counts"], default=0) < 0 or len({len(line[name]) for name in PER_STEP}) > 1:
        raise ValueError("expected a value for each step in counts, messages and missing")
    arrays = {
        name: np.array(line[name], dtype=kind)
        for name, kind in TOKEN_COLUMNS.items()
        if name in line or name != "reference"
    }
    tokens = (sum(line["counts"]),)
    for name, values in arrays.items():
        if values.shape != tokens or np.isnan(values).any():
            raise ValueError(f"{name}: expected a number for each of the {tokens[0]} tokens")
    return line | arrays


def as_lines(scored: Scored) -> Iterator[dict[str, Any]]:
    """The scores of each trajectory as a line of a folder, without `digest` and `revision`."""
    for row in as_table(scored).to_dict("records"):
        tokens = {name: row[name] for name in TOKEN_COLUMNS if name in row}
        yield {
            "schema": SCHEMA,
            "key": [row[name] for name in KEY],
            "passed": None if row["passed"] is pd.NA else row["passed"],
            "messages": row["messages"].tolist(),
            "missing": row["why_missing"].tolist(),
            "counts": row["counts"].tolist(),
            **{name: values.round(DIGITS).tolist() for name, values in tokens.items()},
        }


def digest(rollout: Rollout) -> str:
    """A short key of what scores depend on: the messages, the tools, the token ids, the outcome."""
    tools = rollout.tools if isinstance(rollout.tools, str) else tools_key(rollout.tools)
    ids = [(turn.message, turn.prompt_ids, turn.action_ids) for turn in rollout.turns]
    messages = list(map(asdict, rollout.messages))
    for message in messages:
        if not message["thought"]:
            del message["thought"]  # as in scores from before thoughts were kept
    read = [rollout.passed, messages, tools, ids]
    return hashlib.sha256(json.dumps(read).encode("ascii")).hexdigest()[:16]


def trajectory_table(scored: Scored) -> pd.DataFrame:
    """A row for each trajectory: its key, progress advantage and all baselines."""
    table = scored.table()
    if scored.reference is not None:
        table["progress advantage"] = score_trajectory(scored)
    for name, baseline in BASELINES.items():
        if scored.reference is not None or name != "reference log-prob":
            table[name] = baseline(scored)
    return table
