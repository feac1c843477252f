"""Play attempts: a policy replies, an environment answers, until the episode ends."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from queue import SimpleQueue

from lib.envs import Environment, Outcome
from lib.rollouts.call_formats.thoughts import without_thought
from lib.rollouts.policies.protocol import Context, Reply, Session
from lib.trajectories.schema import Rollout, RolloutKey, Turn, offered_tools, printable


def roll_out(
    session: Session,
    environment: Environment,
    keys: Sequence[RolloutKey],
    pair: str,
    arm: str,
    max_turns: int = 200,
) -> Iterator[Rollout]:
    """Play attempts together, one per key of the session, and yield each as soon as it has ended.

    Nothing is written, and `Rollout.sampling` stays empty: the caller knows how it sampled.
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


def in_batches(policy, environment, keys, pair, arm, max_turns, at_once) -> Iterator[Rollout]:
    """Play attempts batch after batch, with a policy that gives many replies in one call.

    The arguments are those of `roll_out` and `collect`.
    """
    for start in range(0, len(keys), at_once):
        batch = keys[start : start + at_once]
        yield from roll_out(policy.start(batch), environment, batch, pair, arm, max_turns)


def side_by_side(policy, environment, keys, pair, arm, max_turns, at_once) -> Iterator[Rollout]:
    """Play each attempt at its own pace, and start the next as soon as one has ended.

    Threads wait for replies. Environments are stepped in the calling thread, one after another.
    """
    waiting, arrived = iter(keys), SimpleQueue()
    live: dict[_Attempt, Session] = {}

    def ask(attempt):
        pool.apply_async(
            live[attempt].reply,
            ([0], [attempt.context()]),
            callback=lambda replies: arrived.put((attempt, *replies, None)),
            error_callback=lambda error: arrived.put((attempt, None, error)),
        )

    # The threads of this pool are daemons: an interrupt need not wait for replies under way.
    with ThreadPool(max(1, min(at_once, policy.concurrency, len(keys)))) as pool:
        try:
            while True:
                for key in itertools.islice(waiting, at_once - len(live)):
                    attempt = _Attempt(environment, key, max_turns)
                    live[attempt] = policy.start([key])
                    ask(attempt)
                if not live:
                    return
                attempt, reply, error = arrived.get()
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
    """An attempt under way; `outcome` is set once it has ended."""

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
        """Give the policy's reply to the environment, and take its answer."""
        self.ties += reply.ties
        if reply.trouble:
            self.outcome = Outcome(None, reply.trouble)
            return
        turn, number = reply.turn, len(self.messages)
        self.turns.append(turn if turn.message == number else replace(turn, message=number))
        message = printable(reply.message)
        self.messages.append(message)
        if reply.turn.finish == "context":
            self.outcome = self._fail("context: the transcript has outgrown the model's context")
            return
        try:
            self.messages += map(printable, self.episode.step(without_thought(message)))
            self.outcome = self.episode.outcome
        except Exception as error:  # a fault of the environment, whatever the policy did
            reason = f"the environment raised {type(error).__name__}: {error}"
            self.outcome = Outcome(None, reason)
        if not self.outcome and len(self.turns) >= self.max_turns:
            self.outcome = self._fail(f"no end after {self.max_turns} replies")

    def _fail(self, reason: str) -> Outcome:
        """A failure before the episode's own end, with the environment's `info` so far, if any."""
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
