"""Policies: contexts in, replies out, many at once.

A policy starts a session for a set of rollouts and is then asked, turn after turn, for the replies
of those that go on. `LocalPolicy` runs a model here, `ServerPolicy` asks an OpenAI-compatible
server, `ScriptedPolicy` follows a function. How a model is spoken to is a dialect: the text
harness, a plain prompt, or the model's own chat template.
"""

from lib.policies.dialects import ChatTemplate, Dialect, Harness, Plain, ServerChat
from lib.policies.local import LocalPolicy
from lib.policies.protocol import Context, Key, Policy, PolicyError, Reply, Session
from lib.policies.scripted import ScriptedPolicy
from lib.policies.server import ServerPolicy

__all__ = [
    "ChatTemplate",
    "Context",
    "Dialect",
    "Harness",
    "Key",
    "LocalPolicy",
    "Plain",
    "Policy",
    "PolicyError",
    "Reply",
    "ScriptedPolicy",
    "ServerChat",
    "ServerPolicy",
    "Session",
]
