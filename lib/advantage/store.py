"""Scores in a folder: append-only, resumable, in shards; no finished score is lost.

The folder has `manifest.json` with every setting that matters, and for each writer a
`scores-*.jsonl`, a line a trajectory. A trajectory that any of these files holds is done, as long
as its tokens, text and outcome are those that were scored: a changed one is scored anew.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from lib.advantage.aggregation import score_trajectory
from lib.advantage.baselines import BASELINES
from lib.advantage.scores import Key, Scored, join, score
from lib.advantage.tokenize import Steps
from lib.generation.reading import TOKENS_AT_ONCE, TOP_K, Reading, TokenScores
from lib.trajectories import manifest
from lib.trajectories.jsonl import LineWriter, iter_records
from lib.trajectories.schema import Rollout, TrajectoryError, tools_key

SCHEMA = 1
"""Version of the line format; a reader refuses the lines of another one."""
LOT = 16_384
"""Tokens of the trajectories that are read before their scores are written."""
STEPWISE = ("messages", "missing", "counts")
"""Columns of a line that hold one value a step."""
DIGITS = 7  # after the point; scores are of single precision


def score_into(
    out: str | Path,
    policy,
    reference,
    rollouts: Sequence[Rollout],
    read: Callable[[Rollout], Steps],
    settings: Mapping[str, Any],
    *,
    shard: tuple[int, int] = (0, 1),
    top_k: int = TOP_K,
    tokens_at_once: int = TOKENS_AT_ONCE,
    progress: bool | None = None,
) -> None:
    """Score the rollouts that the folder does not hold yet, each in it as soon as it is scored.

    rollouts : each key once. One that the folder holds with other tokens, text or outcome (see
        `digest`), or of an older version that kept no digest, is scored anew.
    read : makes Steps of a rollout; what it raises ends the run, and a rerun goes on there.
    settings : of both models and of `read`, for the manifest.
    shard : (i, m) takes every m-th rollout from the i-th on; shards may run at the same time.
    progress : a bar; None shows it on a terminal only.

    Raises CollectionError if the folder was begun with another setting or has lost its manifest,
    and ValueError if a key comes twice.
    """
    out, (part, parts) = Path(out), shard
    for key, times in Counter(rollout.key for rollout in rollouts).items():
        if times > 1:
            raise ValueError(f"{key} is there {times} times: give each attempt once")
    if rollouts:
        read(rollouts[0])  # what cannot be read with these settings leaves no folder of them behind
    path, there = out / "manifest.json", sorted(out.glob("scores-*.jsonl"))
    if there and not path.exists():
        raise manifest.CollectionError(
            f"{path} is missing beside {there[0].name}, so nothing tells which models gave those "
            "scores: put it back, or choose another folder"
        )
    manifest.agree(path, {"scores": SCHEMA, "top_k": top_k, **settings})
    with LineWriter(out / f"scores-{part:03}-of-{parts:03}.jsonl") as file:
        done = {key: (line.digest, line.revision) for key, line in _newest(out).items()}
        mine = rollouts[part::parts]
        digests = {rollout.key: digest(rollout) for rollout in mine}
        work = [
            rollout
            for rollout in mine
            if done.get(rollout.key, (None, 0))[0] != digests[rollout.key]
        ]
        shown = None if progress is None else not progress
        with tqdm(initial=len(mine) - len(work), total=len(mine), disable=shown) as bar:
            for lot in _lots(map(read, work), max(LOT, 4 * tokens_at_once)):
                found = score(policy, reference, lot, top_k=top_k, tokens_at_once=tokens_at_once)
                for key, line in zip(found.keys, _as_lines(found), strict=True):
                    revision = done[key][1] + 1 if key in done else 0
                    line |= {"digest": digests[key], "revision": revision}
                    file.write_line(json.dumps(line).encode("ascii") + b"\n")
                bar.update(len(lot))


def _lots(steps: Iterator[Steps], tokens: int) -> Iterator[list[Steps]]:
    lot, count = [], 0
    for one in steps:
        lot.append(one)
        count += sum(map(len, one.reading.sequences))
        if count >= tokens:
            yield lot
            lot, count = [], 0
    if lot:
        yield lot


def digest(rollout: Rollout) -> str:
    """A short key of what scores depend on: the messages, the tools, the token ids, the outcome."""
    tools = rollout.tools if isinstance(rollout.tools, str) else tools_key(rollout.tools)
    ids = [(turn.message, turn.prompt_ids, turn.action_ids) for turn in rollout.turns]
    read = [rollout.passed, list(map(asdict, rollout.messages)), tools, ids]
    return hashlib.sha256(json.dumps(read).encode("ascii")).hexdigest()[:16]


def _as_lines(scored: Scored) -> Iterator[dict[str, Any]]:
    columns = {"tokens": scored.tokens, "policy": scored.policy, "policy_top": scored.policy_top}
    if scored.reference is not None:
        columns["reference"] = scored.reference
    token = step = 0
    for key, passed, steps in zip(scored.keys, scored.passed, scored.steps, strict=True):
        counts = scored.counts[step : step + steps]
        last = token + counts.sum()
        yield {
            "schema": SCHEMA,
            "key": key,
            "passed": passed,
            "messages": scored.messages[step : step + steps].tolist(),
            "missing": scored.missing[step : step + steps].tolist(),
            "counts": counts.tolist(),
            **{name: column[token:last].round(DIGITS).tolist() for name, column in columns.items()},
        }
        step, token = step + steps, last


def read_scores(out: str | Path, of: Iterable[Rollout] | None = None) -> Scored:
    """The scores of a folder, in the order of their keys, whatever wrote them.

    of : only the scores of these rollouts, as they are now: one that has changed since has none.

    Of a trajectory that was scored more than once the newest scores count. Raises FileNotFoundError
    where there are none.
    """
    found = _newest(Path(out))
    if of is not None:
        now = {rollout.key: digest(rollout) for rollout in of}
        found = {key: line for key, line in found.items() if now.get(key, "") == line.digest}
    if not found:
        raise FileNotFoundError(
            f"no scores in {out}: give a folder that `python -m lib score` made"
            if of is None
            else f"no scores of these trajectories in {out}: score them"
        )
    lines = [found[key] for key in sorted(found)]
    reference = [line.reference for line in lines]
    without = [line.steps.key for line in lines if line.reference is None]
    if 0 < len(without) < len(lines):
        raise ValueError(
            f"{without[0]} has no scores of a reference in {out}, others have: remove its line, "
            "and score it again"
        )
    return join(
        [line.steps for line in lines],
        [line.policy for line in lines],
        None if without else reference,
    )


class _Line(NamedTuple):
    steps: Steps
    policy: TokenScores
    reference: TokenScores | None
    digest: str | None
    revision: int


def _newest(out: Path) -> dict[Key, _Line]:
    """Of each trajectory the line that counts; a later one may be in an earlier file."""
    found: dict[Key, _Line] = {}
    for path in sorted(out.glob("scores-*.jsonl")):
        # The last line of a file may be torn by a kill, or not whole yet: it is not done.
        for number, _, raw in iter_records(path, torn=lambda message: None):
            try:
                line = _read_line(raw)
            except (KeyError, TypeError, ValueError) as error:
                raise TrajectoryError(f"{path}:{number}: no line of scores ({error!r})") from error
            key = line.steps.key
            if key not in found or line.revision >= found[key].revision:
                found[key] = line
    return found


def _read_line(line) -> _Line:
    if line["schema"] != SCHEMA:
        raise ValueError(f"schema {line['schema']!r}, expected {SCHEMA}")
    if list(map(type, line["key"])) != [str, str, str, str, int]:
        raise ValueError(f"key {line['key']!r}, expected four texts and a whole number")
    if line["passed"] not in (True, False, None) or type(line.get("revision", -1)) is not int:
        raise ValueError("passed is true, false or null, and a revision a whole number")
    if min(line["counts"], default=0) < 0 or len({len(line[x]) for x in STEPWISE}) > 1:
        raise ValueError("counts, messages and missing are one each a step")
    tokens = np.array(line["tokens"], dtype=np.int64)
    nowhere = np.zeros(0, np.int64)
    steps = Steps(
        tuple(line["key"]),
        line["passed"],
        tuple(line["messages"]),
        tuple(line["counts"]),
        tuple(line["missing"]),
        Reading([], nowhere, nowhere, tokens),
    )
    top = np.array(line["policy_top"], dtype=float)
    policy = TokenScores(np.array(line["policy"], dtype=float), top)
    theirs = np.array(line["reference"], dtype=float) if "reference" in line else None
    for column in (policy.log_probs, top, theirs):
        if column is not None and (column.shape != tokens.shape or np.isnan(column).any()):
            raise ValueError("policy, policy_top and reference are one number each a token")
    if tokens.shape != (sum(line["counts"]),):
        raise ValueError(f"{tokens.shape} tokens, by its counts {sum(line['counts'])}")
    reference = None if theirs is None else TokenScores(theirs, np.full_like(theirs, np.nan))
    # Lines of older versions have neither of the last two.
    return _Line(steps, policy, reference, line.get("digest"), line.get("revision", -1))


def trajectory_table(scored: Scored) -> pd.DataFrame:
    """A row a trajectory: what it is, and its scores, progress advantage and all baselines."""
    found = scored.table()
    if scored.reference is not None:
        found["progress advantage"] = score_trajectory(scored)
    for name, baseline in BASELINES.items():
        if scored.reference is not None or name != "reference log-prob":
            found[name] = baseline(scored)
    return found
