"""Scores in a folder: append-only, resumable, in shards; no finished score is lost.

The folder has `manifest.json` with every setting that matters, and for each writer a
`scores-*.jsonl`, a line a trajectory. Trajectories that any of these files holds are done.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from lib import manifest
from lib.advantage.aggregation import score_trajectory
from lib.advantage.baselines import BASELINES
from lib.advantage.readings import Steps
from lib.advantage.scored import Key, Scored, join, score
from lib.generation.reading import TOKENS_AT_ONCE, TOP_K, Reading, TokenScores
from lib.rollout_files import LineWriter, iter_records
from lib.trajectory import Rollout, TrajectoryError

SCHEMA = 1
"""Version of the line format; a reader refuses the lines of another one."""
LOT = 16_384
"""Tokens of the trajectories that are read before their scores are written."""
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

    read : makes Steps of a rollout; what it raises ends the run, and a rerun goes on there.
    settings : of both models and of `read`, for the manifest.
    shard : (i, m) takes every m-th rollout from the i-th on; shards may run at the same time.
    progress : a bar; None shows it on a terminal only.

    Raises lib.manifest.CollectionError if the folder was begun with another setting.
    """
    out, (part, parts) = Path(out), shard
    manifest.agree(out / "manifest.json", {"scores": SCHEMA, "top_k": top_k, **settings})
    with LineWriter(out / f"scores-{part:03}-of-{parts:03}.jsonl") as file:
        done = {key for key, *_ in _lines(out)}
        mine = rollouts[part::parts]
        work = [rollout for rollout in mine if rollout.key not in done]
        shown = None if progress is None else not progress
        with tqdm(initial=len(mine) - len(work), total=len(mine), disable=shown) as bar:
            for lot in _lots(map(read, work), max(LOT, 4 * tokens_at_once)):
                found = score(policy, reference, lot, top_k=top_k, tokens_at_once=tokens_at_once)
                for line in _as_lines(found):
                    file.write_line(line)
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


def _as_lines(scored: Scored) -> Iterator[bytes]:
    columns = {"tokens": scored.tokens, "policy": scored.policy, "policy_top": scored.policy_top}
    if scored.reference is not None:
        columns["reference"] = scored.reference
    token = step = 0
    for key, passed, steps in zip(scored.keys, scored.passed, scored.steps, strict=True):
        counts = scored.counts[step : step + steps]
        last = token + counts.sum()
        line = {
            "schema": SCHEMA,
            "key": key,
            "passed": passed,
            "messages": scored.messages[step : step + steps].tolist(),
            "missing": scored.missing[step : step + steps].tolist(),
            "counts": counts.tolist(),
            **{name: column[token:last].round(DIGITS).tolist() for name, column in columns.items()},
        }
        yield json.dumps(line).encode("ascii") + b"\n"
        step, token = step + steps, last


def read_scores(out: str | Path) -> Scored:
    """All scores of a folder, in the order of their keys, whatever wrote them."""
    found = dict(sorted((line[0], line) for line in _lines(Path(out))))
    if not found:
        raise FileNotFoundError(
            f"no scores in {out}: give a folder that `python -m lib score` made"
        )
    _, steps, policy, reference = zip(*found.values(), strict=True)
    with_reference = all(one is not None for one in reference)
    return join(steps, policy, reference if with_reference else None)


def _lines(
    out: Path,
) -> Iterator[tuple[Key, Steps, TokenScores, TokenScores | None]]:
    for path in sorted(out.glob("scores-*.jsonl")):
        # The last line of a file may be torn by a kill, or not whole yet: it is not done.
        for number, _, line in iter_records(path, torn=lambda message: None):
            try:
                yield _read_line(line)
            except (KeyError, TypeError, ValueError) as error:
                raise TrajectoryError(f"{path}:{number}: no line of scores ({error!r})") from error


def _read_line(line) -> tuple[Key, Steps, TokenScores, TokenScores | None]:
    if line["schema"] != SCHEMA:
        raise ValueError(f"schema {line['schema']!r}, expected {SCHEMA}")
    tokens = np.array(line["tokens"], dtype=np.int64)
    nowhere = np.zeros(0, np.int64)
    key = tuple(line["key"])
    steps = Steps(
        key,
        line["passed"],
        tuple(line["messages"]),
        tuple(line["counts"]),
        tuple(line["missing"]),
        Reading([], nowhere, nowhere, tokens),
    )
    top = np.array(line["policy_top"], dtype=float)
    policy = TokenScores(np.array(line["policy"], dtype=float), top)
    theirs = np.array(line["reference"], dtype=float) if "reference" in line else None
    reference = None if theirs is None else TokenScores(theirs, np.full_like(theirs, np.nan))
    return key, steps, policy, reference


def trajectory_table(scored: Scored) -> pd.DataFrame:
    """A row a trajectory: what it is, and its scores, progress advantage and all baselines."""
    found = scored.table()
    if scored.reference is not None:
        found["progress advantage"] = score_trajectory(scored)
    for name, baseline in BASELINES.items():
        if scored.reference is not None or name != "reference log-prob":
            found[name] = baseline(scored)
    return found
