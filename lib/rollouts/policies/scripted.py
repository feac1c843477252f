"""A policy that follows a function, for tests, oracles and fixed strategies."""

from collections.abc import Callable, Sequence

from lib.rollouts.policies.protocol import Context, Reply
from lib.trajectories.schema import Message, RolloutKey, Turn


class ScriptedPolicy:
    """Replies with what `script(context, key)` returns: a message, its text, or a whole `Reply`.

    name: of the script, in the manifest of a collection.

    >>> policy = ScriptedPolicy(lambda context, key: f"attempt {key.attempt}", "counting")
    >>> session = policy.start([(0, "task", 2)])  # seed, task, attempt
    >>> session.reply([0], [Context("", (), ())])[0].message.content
    'attempt 2'
    """

    concurrency = None

    def __init__(self, script: Callable[[Context, RolloutKey], Message | str | Reply], name: str):
        self.script = script
        self.settings = {"policy": "scripted", "script": name}

    def start(self, keys: Sequence[RolloutKey]) -> "_Scripted":
        return _Scripted(self.script, keys)


class _Scripted:
    def __init__(self, script, keys):
        self.script, self.keys = script, [RolloutKey(*key) for key in keys]

    def reply(self, rows, contexts):
        pairs = zip(rows, contexts, strict=True)
        return [_as_reply(self.script(context, self.keys[row])) for row, context in pairs]


def _as_reply(result: Message | str | Reply) -> Reply:
    if isinstance(result, Reply):
        return result
    message = Message("assistant", result) if isinstance(result, str) else result
    return Reply(message, Turn(0, finish="stop"))
