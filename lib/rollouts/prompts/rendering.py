"""Fill in a chat template, which is a program of its own: bounded in time, size and memory.

It runs in a thread that is stopped when it goes past a bound; `lib.rollouts.prompts.trial` has
tried it out before.
"""

import ctypes
import threading
import time
from collections.abc import Sequence
from typing import Any

from lib.rollouts.policies.protocol import PromptRefused
from lib.rollouts.prompts.trial import MAX_CHARACTERS

MAX_SECONDS = 10.0
"""For one prompt; a template usually takes a thousandth of it."""

MAX_GROWTH = 2**31
"""Bytes by which this process may grow meanwhile."""

_REMEDY = "If it refuses most of them, choose the prompt_format harness."
_LOOK_EVERY = 0.02  # seconds


def render(tokenizer, messages: Sequence[dict[str, Any]], **options: Any) -> str:
    """The text that a tokenizer's chat template makes of messages.

    options: of `apply_chat_template`.

    Raises PromptRefused, with the reason, where the template refuses the messages or fails on them,
    or goes past `MAX_SECONDS`, `MAX_CHARACTERS` or `MAX_GROWTH`.
    """
    result: list[Any] = []

    def work():
        try:
            result.append(tokenizer.apply_chat_template(list(messages), tokenize=False, **options))
        except BaseException as error:
            result.append(error)

    worker = threading.Thread(target=work, name="chat template", daemon=True)
    worker.start()
    worker.join(_LOOK_EVERY)
    if worker.is_alive():
        _watch(worker)
    text = result[0]
    if isinstance(text, str) and len(text) <= MAX_CHARACTERS:
        return text
    if isinstance(text, str):
        reason = f"it wrote {len(text):,} characters, more than {MAX_CHARACTERS:,}"
    else:
        reason = f"{type(text).__name__}: {str(text)[:300]}"
    roles = [message["role"] for message in messages]
    shown = ", ".join(roles[:12]) + (f" and {len(roles) - 12} more" if roles[12:] else "")
    refusal = f"the chat template refuses a conversation of {shown} ({reason})"
    raise PromptRefused(f"{refusal}. {_REMEDY}")


def _watch(worker: threading.Thread) -> None:
    """Wait for a worker; raise PromptRefused, and stop it, once it goes past a bound."""
    import psutil

    process, deadline = psutil.Process(), time.monotonic() + MAX_SECONDS
    most = process.memory_info().rss + MAX_GROWTH
    reason = ""
    while worker.is_alive():
        if not reason and time.monotonic() > deadline:
            reason = f"it took more than {MAX_SECONDS:g} s"
        elif not reason and process.memory_info().rss > most:
            reason = f"it took more than {MAX_GROWTH / 2**30:g} GiB of memory"
        if reason:
            # Takes effect at the next instruction of Python: an operation in C first ends.
            stop = ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident), stop)
            if time.monotonic() > deadline + 5:
                break
        worker.join(_LOOK_EVERY)
    if reason:
        raise PromptRefused(f"the chat template was stopped: {reason}. {_REMEDY}")
