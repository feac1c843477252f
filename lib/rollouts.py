"""Collect n attempts of every task: append-only, resumable, sharded; no finished attempt is lost.

A collection is a folder: `manifest.json` with every setting that matters, `tools.jsonl` with the
tools of its tasks, and one `rollouts-*.jsonl` a writer (see `lib.rollout_files`). Attempts that any
of these files holds are done, whatever wrote them; the others are what a rerun runs.
"""

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from lib import outcomes
from lib.envs import Environment, Episode, Outcome
from lib.policies.protocol import Context, Key, Policy, Reply
from lib.rollout_files import RolloutWriter, iter_rollouts
from lib.trajectory import Message, Rollout, Tool, Turn, offered_tools, tools_key

MANIFEST_VERSION = 1


class CollectionError(ValueError):
    """A folder that cannot be collected into: says which setting differs, or what is wrong."""


def collect(
    policy: Policy,
    environment: Environment,
    tasks: Sequence[str],
    n: int,
    out: str | Path,
    *,
    pair: str,
    arm: str,
    seed: int = 0,
    at_once: int = 32,
    shard: tuple[int, int] = (0, 1),
    max_turns: int = 200,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Bring every task to n attempts (numbers 0 to n - 1), and return the table of all outcomes.

    out: the folder; what it holds already is kept, so a rerun resumes and a larger n tops up.
    pair, arm: of the rows in the table of outcomes.  seed: of the policy's random numbers.
    at_once: attempts under way together; those of one task are neighbours, so they share a prompt.
    shard: (i, m) takes every m-th task from the i-th on; shards may run at the same time in one folder
        and merge to the table of one run.
    max_turns: replies after which an attempt has failed.
    progress: a bar; None shows it on a terminal only.

    An attempt that trouble outside the policy kept from an outcome is missing, with the reason, and
    done; so is one whose grader could not decide. Raises CollectionError if the folder was collected
    with another setting, and whatever the policy raises when it cannot go on at all; the attempts
    finished until then are in the file.
    """
    out = Path(out)
    if n < 1 or at_once < 1 or not 0 <= shard[0] < shard[1]:
        raise CollectionError(
            f"n = {n}, at_once = {at_once}, shard = {shard}: expected n and at_once of at least 1, and "
            "a shard (i, m) with 0 <= i < m."
        )
    unknown = [task for task in tasks if task not in set(environment.tasks())]
    if unknown:
        raise CollectionError(
            f"{environment.name} has no task {unknown[0]!r} ({len(unknown)} such)."
        )
    _agree_on_manifest(out, policy, environment, pair, arm, seed, max_turns)
    done = {(rollout.task, rollout.attempt): rollout.passed for rollout in read_collection(out)}
    work = [
        (task, attempt)
        for task in tasks[shard[0] :: shard[1]]
        for attempt in range(n)
        if (task, attempt) not in done
    ]
    run = _Run(policy, environment, seed, max_turns, {"pair": pair, "arm": arm})
    name = f"rollouts-{shard[0]:03}-of-{shard[1]:03}.jsonl"
    with (
        RolloutWriter(out / name) as file,
        tqdm(
            total=len(work), unit="rollout", disable=None if progress is None else not progress
        ) as bar,
    ):
        tools = _ToolBook(out / f"tools-{shard[0]:03}-of-{shard[1]:03}.jsonl")
        passed = graded = 0
        for start in range(0, len(work), at_once):
            for rollout in run.attempts(work[start : start + at_once]):
                file.write(replace(rollout, tools=tools.key(rollout.tools)))
                passed, graded = (
                    passed + (rollout.passed is True),
                    graded + (rollout.passed is not None),
                )
                bar.set_postfix_str(f"{passed}/{graded} passed", refresh=False)
                bar.update()
    return table(out)


def read_collection(out: str | Path) -> Iterable[Rollout]:
    """All rollouts of a collection, file by file, with their tools put back."""
    out = Path(out)
    book = {}
    for path in sorted(out.glob("tools-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # torn by a kill; the rollouts that need it were never written
                continue
            book[entry["key"]] = tuple(Tool.from_dict(tool) for tool in entry["tools"])
    for path in sorted(out.glob("rollouts-*.jsonl")):
        for rollout in iter_rollouts(path):
            yield replace(rollout, tools=book.get(rollout.tools, rollout.tools))


def table(out: str | Path) -> pd.DataFrame:
    """The outcomes of a collection: attempts, in the order of tasks and attempts."""
    rows = [
        {
            "benchmark": rollout.benchmark,
            "pair": rollout.pair,
            "arm": rollout.arm,
            "task": rollout.task,
            "attempt": rollout.attempt,
            "passed": rollout.passed,
            "reason": rollout.reason if rollout.passed is None else None,
        }
        for rollout in read_collection(out)
    ]
    if not rows:
        raise CollectionError(f"{out}: no rollouts yet.")
    found = outcomes.validate(pd.DataFrame(rows), source=str(out))
    return found.sort_values(["task", "attempt"], kind="stable").reset_index(drop=True)


def _agree_on_manifest(out, policy, environment, pair, arm, seed, max_turns) -> None:
    """Write the manifest of a new collection, or refuse a setting that differs from the one there."""
    wanted = _flat(
        {
            "version": MANIFEST_VERSION,
            "benchmark": environment.name,
            "pair": pair,
            "arm": arm,
            "seed": seed,
            "max_turns": max_turns,
            "policy": dict(policy.settings),
            "environment": dict(getattr(environment, "settings", {})),
        }
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "manifest.json"
    part = out / f".manifest.{os.getpid()}.{time.monotonic_ns()}"
    part.write_text(json.dumps(wanted, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    try:
        os.link(
            part, path
        )  # of shards that start together one writes it, and it is never half there
        return
    except FileExistsError:
        pass
    finally:
        part.unlink()
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CollectionError(
            f"{path}: not JSON ({error}). Mend it, or choose another folder."
        ) from error
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) != there.get(name):
            raise CollectionError(
                f"{out} was collected with {name} = {there.get(name)!r}, now it is "
                f"{wanted.get(name)!r}. Attempts under different settings are different cells: choose "
                "another folder, or set it back."
            )


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted names, as JSON values, so that a difference has a name."""
    flat = {}
    for name, value in json.loads(json.dumps(settings)).items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


class _ToolBook:
    """Keeps each set of tools once beside the rollouts, since all attempts of a task share theirs."""

    def __init__(self, path: Path):
        self.path, self.known = path, set()

    def key(self, tools: tuple[Tool, ...]) -> str:
        key = tools_key(tools)
        if key not in self.known:
            entry = {
                "key": key,
                "tools": [
                    {"name": t.name, "description": t.description, "parameters": t.parameters}
                    for t in tools
                ],
            }
            # The line break comes first, so that nothing is glued to a line that a kill has torn.
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps(entry) + "\n")
            self.known.add(key)
        return key


class _Run:
    """Plays attempts together and yields each as soon as it is finished."""

    def __init__(self, policy, environment, seed, max_turns, row):
        self.policy, self.environment = policy, environment
        self.seed, self.max_turns, self.row = seed, max_turns, row

    def attempts(self, work: Sequence[tuple[str, int]]) -> Iterable[Rollout]:
        session = self.policy.start([Key(self.seed, *one) for one in work])
        plays = [_Play(self.environment.reset(*one)) for one in work]
        try:
            live = list(range(len(work)))
            while live:
                replies = session.reply(live, [plays[i].context() for i in live])
                for i, reply in zip(live, replies, strict=True):
                    plays[i].take(reply, self.max_turns)
                    if plays[i].outcome:
                        yield self._rollout(work[i], plays[i])
                live = [i for i in live if not plays[i].outcome]
        finally:
            for play in plays:
                play.episode.close()

    def _rollout(self, key, play) -> Rollout:
        outcome = play.outcome
        ties = {"ties": play.ties} if play.ties else {}
        return Rollout(
            benchmark=self.environment.name,
            task=key[0],
            attempt=key[1],
            passed=outcome.passed,
            reason=outcome.reason,
            messages=play.messages,
            tools=play.episode.tools,
            turns=play.turns,
            seeds={"policy": self.seed, **play.episode.seeds},
            sampling=dict(self.policy.settings.get("sampling", {})),
            info=outcome.info | ties,
            **self.row,
        )


class _Play:
    """One attempt under way."""

    def __init__(self, episode: Episode):
        self.episode = episode
        self.messages: list[Message] = list(episode.messages)
        self.turns: list[Turn] = []
        self.outcome: Outcome | None = None
        self.ties = 0

    def context(self) -> Context:
        tools = offered_tools(self.episode.tools, self.messages)
        return Context(self.episode.system, tools, tuple(self.messages))

    def take(self, reply: Reply, max_turns: int) -> None:
        self.ties += reply.ties
        if reply.trouble:
            self.outcome = Outcome(None, reply.trouble)
            return
        self.turns.append(replace(reply.turn, message=len(self.messages)))
        self.messages.append(reply.message)
        if reply.turn.finish == "context":
            self.outcome = Outcome(
                False, "context: the transcript has outgrown the model's context"
            )
            return
        self.messages += self.episode.step(reply.message)
        if self.episode.done:
            self.outcome = self.episode.outcome
        elif len(self.turns) >= max_turns:
            self.outcome = Outcome(False, f"no end after {max_turns} replies")
