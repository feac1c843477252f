"""Policies: contexts in, replies out, many at once.

A policy starts a session for a set of rollouts and is then asked, turn after turn, for the replies
of those that go on. `LocalPolicy` runs a model here, `ServerPolicy` asks an OpenAI-compatible
server, `ScriptedPolicy` follows a function. How a model is spoken to is a prompt format: the text
harness, a plain prompt, or the model's own chat template.
"""

from lib.rollouts.policies.local import LocalPolicy
from lib.rollouts.policies.opening import (
    PROMPT_FORMATS,
    SAMPLING,
    known_settings,
    open_policy,
    open_prompt_format,
)
from lib.rollouts.policies.protocol import Context, Policy, PolicyError, Reply, Session
from lib.rollouts.policies.scripted import ScriptedPolicy
from lib.rollouts.policies.server import ServerPolicy
from lib.rollouts.prompts.prompt_formats import (
    ChatTemplate,
    Harness,
    Plain,
    PromptFormat,
    ServerChat,
)

__all__ = [
    "PROMPT_FORMATS",
    "SAMPLING",
    "ChatTemplate",
    "Context",
    "Harness",
    "LocalPolicy",
    "Plain",
    "Policy",
    "PolicyError",
    "PromptFormat",
    "Reply",
    "ScriptedPolicy",
    "ServerChat",
    "ServerPolicy",
    "Session",
    "known_settings",
    "open_policy",
    "open_prompt_format",
]
