"""Policies: they take contexts and give replies, for many rollouts at once.

A policy starts a session for some rollouts, which is then asked turn after turn for the replies of
those still under way. `LocalPolicy` runs a model on this machine, `ServerPolicy` asks an
OpenAI-compatible server, `ScriptedPolicy` follows a function; `open_policy` opens a model by name.

>>> from lib.rollouts.policies import Context, ScriptedPolicy
>>> from lib.trajectories import Message, RolloutKey
>>> policy = ScriptedPolicy(lambda context, key: f"{context.messages[-1].content}!", "shout")
>>> keys = [RolloutKey(seed=0, task="t", attempt=i) for i in range(2)]
>>> session = policy.start(keys)
>>> context = Context("Shout.", (), (Message("user", "Hello"),))
>>> [reply.message.content for reply in session.reply([0, 1], [context, context])]
['Hello!', 'Hello!']
>>> policy.settings
{'policy': 'scripted', 'script': 'shout'}
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "local": ["LocalPolicy"],
        "opening": [
            "PROMPT_FORMATS",
            "SAMPLING",
            "known_settings",
            "open_policy",
            "open_prompt_format",
        ],
        "protocol": ["Context", "Policy", "PolicyError", "Reply", "Session"],
        "scripted": ["ScriptedPolicy"],
        "server": ["ServerPolicy"],
    },
)
