"""Collect n attempts of every task: append-only, resumable, sharded; no finished attempt is lost.

A collection is a folder: `manifest.json` with every setting that matters, and for each writer a
`rollouts-*.jsonl` (see `lib.trajectories.jsonl`) and a `tools-*.jsonl` with the tools of its tasks.
Attempts that any of these files holds are done, whatever wrote them; a rerun runs the others.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from multiprocessing.pool import ThreadPool
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pandas as pd
from tqdm import tqdm

from lib import outcomes
from lib.envs import Environment, Outcome
from lib.rollouts.policies.protocol import Context, Policy, Reply, Session
from lib.trajectories import manifest
from lib.trajectories.jsonl import Entry, RolloutWriter, iter_entries, rollouts_at
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import (
    Rollout,
    RolloutKey,
    Tool,
    TrajectoryError,
    Turn,
    offered_tools,
    printable,
    tools_key,
)


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
    retry_missing: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Bring every task to n attempts (numbers 0 to n - 1), and return the table of all outcomes.

    out: the folder; what it holds already is kept, so a rerun resumes and a larger n tops up.
    pair, arm: of the rows in the table of outcomes.  seed: of the policy's random numbers.
    at_once: attempts under way together. Where the policy takes one request beside another, as a
        server does, the next attempt starts as soon as one is finished; a local model works in
        whole batches of neighbours instead, since those of one task share a prompt.
    shard: (i, m) takes every m-th task from the i-th on; shards may run at the same time in one
        folder and merge to the table of one run.
    max_turns: replies after which an attempt has failed.
    retry_missing: run missing attempts anew, which is for when the trouble has passed.
    progress: a bar; None shows it on a terminal only.

    An attempt that trouble outside the policy kept from an outcome is missing, with the reason,
    and done, unless `retry_missing`; so is one whose grader could not decide, or that no file can
    hold. Each attempt is in
    the file as soon as it is finished. Raises CollectionError if the folder was collected with
    another setting, and whatever the policy raises when it cannot go on at all.
    """
    out, (part, parts) = Path(out), shard
    tasks = list(dict.fromkeys(tasks))
    _check(environment, tasks, n, at_once, shard)
    settings = _settings(environment, policy.settings, pair, arm, seed, max_turns)
    manifest.agree(out / "manifest.json", settings)
    name = f"{part:03}-of-{parts:03}.jsonl"
    with RolloutWriter(out / f"rollouts-{name}") as file:  # locks the file, so it is read after
        done = {
            key[-2:]: entry.passed
            for key, (_, entry) in _entries(out).items()
            if not (retry_missing and entry.passed is None)
        }
        wanted = [(task, attempt) for task in tasks[part::parts] for attempt in range(n)]
        work = [key for key in wanted if key not in done]
        book = _ToolBook(out / f"tools-{name}")
        with _Bar([done[key] for key in wanted if key in done], len(wanted), progress) as bar:
            keys = [RolloutKey(seed, *one) for one in work]
            play = _in_batches if policy.concurrency is None else _side_by_side
            sampling = dict(policy.settings.get("sampling", {}))
            for rollout in play(policy, environment, keys, pair, arm, max_turns, at_once):
                kept = replace(rollout, sampling=sampling, tools=book.key(rollout.tools))
                try:
                    file.write(kept)
                except TrajectoryError as error:  # one attempt's trouble: the run goes on
                    told = {"passed": None, "reason": str(error), "messages": (), "turns": ()}
                    kept = replace(kept, **told, info={})
                    file.write(kept)
                bar.add(kept.passed)
    return _table(out)


def check(
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
    policy: Mapping[str, Any],
) -> None:
    """Raise the CollectionError that `collect` would raise at its start, without a policy.

    policy: settings of the policy as far as they are known before its model is loaded, so that a
    wrong one is told at once.
    """
    _check(environment, tasks, n, at_once, shard)
    settings = _settings(environment, policy, pair, arm, seed, max_turns)
    manifest.check(Path(out) / "manifest.json", settings)


def read_collection(out: str | Path) -> Iterator[Rollout]:
    """The rollouts of a collection, one an attempt, file by file, with their tools put back.

    An attempt that is there more than once (a missing one that ran anew, shards that overlapped)
    counts once: a graded line before a missing one, then the later one, files in the order of their
    names. Files are read twice, so that no more than one rollout is held at a time.

    The last line of a file may be torn by a kill, or not whole yet: its attempt is not done.
    """
    starts: dict[Path, list[int]] = {}
    for path, entry in _entries(Path(out)).values():
        starts.setdefault(path, []).append(entry.start)
    book = _read_tools(Path(out))
    for path in sorted(starts):
        for rollout in rollouts_at(path, sorted(starts[path])):
            yield replace(rollout, tools=book.get(rollout.tools, rollout.tools))


def table(out: str | Path) -> pd.DataFrame:
    """The outcomes of a collection: attempts, in the order of tasks and attempts."""
    found = _table(Path(out))
    if found.empty:
        raise CollectionError(f"{out}: no rollouts yet.")
    return found


def tabulate(rollouts: Iterable[Rollout | Entry], source: str = "rollouts") -> pd.DataFrame:
    """The table of outcomes (attempts) of rollouts, in the order of tasks and attempts."""
    columns = ["benchmark", "pair", "arm", "task", "attempt", "passed", "reason"]
    rows = [(*one.key, one.passed, one.reason if one.passed is None else None) for one in rollouts]
    found = outcomes.validate(pd.DataFrame(rows, columns=columns), source=source)
    return found.sort_values(["task", "attempt"], kind="stable").reset_index(drop=True)


def _table(out: Path) -> pd.DataFrame:
    return tabulate((entry for _, entry in _entries(out).values()), str(out))


def _entries(out: Path) -> dict[tuple, tuple[Path, Entry]]:
    """For each attempt the line that counts, and the file it is in."""
    found: dict[tuple, tuple[Path, Entry]] = {}
    for path in sorted(out.glob("rollouts-*.jsonl")):
        for entry in iter_entries(path, torn=lambda message: None):
            _, before = found.get(entry.key, (None, None))
            if before is None or before.passed is None or entry.passed is not None:
                found[entry.key] = path, entry
    return found


def _check(environment, tasks, n, at_once, shard) -> None:
    if n < 1 or at_once < 1 or not 0 <= shard[0] < shard[1]:
        raise CollectionError(
            f"n = {n}, at_once = {at_once}, shard = {shard}: expected n and at_once of at least 1, "
            "and a shard (i, m) with 0 <= i < m."
        )
    if not tasks:
        raise CollectionError(f"no task to collect: name some of {environment.name}.")
    known = set(environment.tasks())
    unknown = [task for task in tasks if task not in known]
    if unknown:
        raise CollectionError(
            f"{environment.name} has no task {unknown[0]!r} ({len(unknown)} such); its first is "
            f"{environment.tasks()[0]!r}."
        )


def _settings(environment, policy: Mapping[str, Any], pair, arm, seed, max_turns) -> dict[str, Any]:
    return {
        "benchmark": environment.name,
        "pair": pair,
        "arm": arm,
        "seed": seed,
        "max_turns": max_turns,
        "policy": dict(policy),
        "environment": dict(getattr(environment, "settings", {})),
    }


# ------------------------------------------------------------------------------------- the tools


class _ToolBook:
    """Keeps each set of tools once beside the rollouts, since all attempts of a task share it."""

    def __init__(self, path: Path):
        self.path, self.known = path, set()

    def key(self, tools: tuple[Tool, ...]) -> str:
        key = tools_key(tools)
        if key not in self.known:
            line = json.dumps({"key": key, "tools": [asdict(tool) for tool in tools]})
            # The line break comes first, so that nothing is glued to a line that a kill has torn.
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
            self.known.add(key)
        return key


def _read_tools(out: Path) -> dict[str, tuple[Tool, ...]]:
    book = {}
    for path in sorted(out.glob("tools-*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # blank, or torn by a kill before the rollout that needs it
                continue
            book[entry["key"]] = tuple(map(Tool.from_dict, entry["tools"]))
    return book


# ----------------------------------------------------------------------------------- the attempts


def roll_out(
    session: Session,
    environment: Environment,
    keys: Sequence[RolloutKey],
    pair: str,
    arm: str,
    max_turns: int = 200,
) -> Iterator[Rollout]:
    """Play attempts together, one a key of the session, and yield each once it is finished.

    Nothing is written, and `Rollout.sampling` is left to the caller, who chose it.
    """
    attempts: list[_Attempt] = []
    try:
        for key in keys:
            attempts.append(_Attempt(environment, key, max_turns))
        live = list(range(len(keys)))
        while live:
            replies = session.reply(live, [attempts[i].context() for i in live])
            for i, reply in zip(live, replies, strict=True):
                attempts[i].take(reply)
                if attempts[i].outcome:
                    yield attempts[i].rollout(environment.name, pair, arm)
            live = [i for i in live if not attempts[i].outcome]
    finally:
        for attempt in attempts:
            attempt.episode.close()


def _in_batches(policy, environment, keys, pair, arm, max_turns, at_once) -> Iterator[Rollout]:
    """Play attempts batch after batch, for a policy that replies to many in one call."""
    for start in range(0, len(keys), at_once):
        batch = keys[start : start + at_once]
        yield from roll_out(policy.start(batch), environment, batch, pair, arm, max_turns)


def _side_by_side(policy, environment, keys, pair, arm, max_turns, at_once) -> Iterator[Rollout]:
    """Play attempts each at its own pace, the next one as soon as one is finished.

    Only replies are waited for in threads: the worlds are stepped here, one after another.
    """
    waiting, came = iter(keys), SimpleQueue()
    live: dict[_Attempt, Session] = {}

    def ask(attempt):
        pool.apply_async(
            live[attempt].reply,
            ([0], [attempt.context()]),
            callback=lambda replies: came.put((attempt, *replies, None)),
            error_callback=lambda error: came.put((attempt, None, error)),
        )

    # The threads of this pool do not keep a process alive: who interrupts need not wait for the
    # replies under way.
    with ThreadPool(max(1, min(at_once, policy.concurrency, len(keys)))) as pool:
        try:
            while True:
                for key in itertools.islice(waiting, at_once - len(live)):
                    attempt = _Attempt(environment, key, max_turns)
                    live[attempt] = policy.start([key])
                    ask(attempt)
                if not live:
                    return
                attempt, reply, error = came.get()
                if error:
                    raise error
                attempt.take(reply)
                if attempt.outcome:
                    del live[attempt]
                    attempt.episode.close()
                    yield attempt.rollout(environment.name, pair, arm)
                else:
                    ask(attempt)
        finally:
            for attempt in live:
                attempt.episode.close()


class _Attempt:
    """One attempt under way; `outcome` is set once it has ended."""

    def __init__(self, environment: Environment, key: RolloutKey, max_turns: int):
        self.key, self.max_turns = key, max_turns
        self.episode = environment.reset(key.task, key.attempt)
        self.messages = list(map(printable, self.episode.messages))
        self.turns: list[Turn] = []
        self.ties = 0
        self.outcome: Outcome | None = None

    def context(self) -> Context:
        tools = offered_tools(self.episode.tools, self.messages)
        return Context(self.episode.system, tools, tuple(self.messages))

    def take(self, reply: Reply) -> None:
        """Go on by one reply."""
        self.ties += reply.ties
        if reply.trouble:
            self.outcome = Outcome(None, reply.trouble)
            return
        turn, number = reply.turn, len(self.messages)
        self.turns.append(turn if turn.message == number else replace(turn, message=number))
        message = printable(reply.message)
        self.messages.append(message)
        if reply.turn.finish == "context":
            said = "context: the transcript has outgrown the model's context"
            self.outcome = self._cut(said)
            return
        try:
            self.messages += map(printable, self.episode.step(message))
            self.outcome = self.episode.outcome
        except Exception as error:  # trouble of the environment's own, whatever the policy did
            said = f"the environment raised {type(error).__name__}: {error}"
            self.outcome = Outcome(None, said)
        if not self.outcome and len(self.turns) >= self.max_turns:
            self.outcome = self._cut(f"no end after {self.max_turns} replies")

    def _cut(self, reason: str) -> Outcome:
        """A failure that the world did not end; what it tells so far is kept, if it tells that."""
        return Outcome(False, reason, dict(getattr(self.episode, "info", {})))

    def rollout(self, benchmark: str, pair: str, arm: str) -> Rollout:
        return Rollout(
            benchmark=benchmark,
            pair=pair,
            arm=arm,
            task=self.key.task,
            attempt=self.key.attempt,
            passed=self.outcome.passed,
            reason=self.outcome.reason,
            messages=self.messages,
            tools=self.episode.tools,
            turns=self.turns,
            seeds={"policy": self.key.seed, **self.episode.seeds},
            info=self.outcome.info | ({"ties": self.ties} if self.ties else {}),
        )


class _Bar(tqdm):
    """Attempts done, how many a second, the time left, and the success so far."""

    def __init__(self, done: Sequence[bool | None], total: int, progress: bool | None):
        self.graded, self.passed = 0, 0
        super().__init__(
            total=total,
            initial=len(done),
            unit="rollout",
            disable=None if progress is None else not progress,
        )
        for passed in done:
            self._count(passed)

    def add(self, passed: bool | None) -> None:
        self._count(passed)
        self.update()

    def _count(self, passed):
        self.graded += passed is not None
        self.passed += passed is True
        self.set_postfix_str(f"{self.passed}/{self.graded} passed", refresh=False)
