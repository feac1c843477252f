"""Rollouts: agents' episodes, from a policy's reply to a graded trajectory on the disk.

`collect` plays n attempts at every task of an environment. It can be killed at any moment and goes
on from the files it left. `roll_out` plays attempts without writing them, `regrade` grades stored
completions again with another parser of tool calls.

>>> import tempfile
>>> from lib import envs, rollouts
>>> lake = envs.open_environment("frozenlake:train")
>>> policy = rollouts.ScriptedPolicy(lambda context, key: "I give up.", "idle")
>>> with tempfile.TemporaryDirectory() as folder:
...     names = {"pair": "idle", "arm": "base", "out": folder}
...     first = rollouts.collect(policy, lake, lake.tasks()[:2], n=2, **names)
...     more = rollouts.collect(policy, lake, lake.tasks()[:2], n=3, **names)  # 1 more per task
>>> len(first), len(more), int(more["passed"].sum())
(4, 6, 0)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["policies", "prompts"],
    submod_attrs={
        "collection": ["collect", "table", "tabulate"],
        "episodes": ["roll_out"],
        "policies": [
            "Context",
            "LocalPolicy",
            "Policy",
            "PolicyError",
            "Reply",
            "ScriptedPolicy",
            "ServerPolicy",
            "Session",
            "open_policy",
        ],
        "prompts": [
            "ChatTemplate",
            "Harness",
            "Plain",
            "PromptFormat",
            "ServerChat",
            "WordLanguage",
        ],
        "regrading": ["has_valid_call", "regrade"],
        "tool_calls": ["Parsed", "parse_tool_calls"],
    },
)
