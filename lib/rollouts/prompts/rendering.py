"""Fill in a chat template, which is a program of its own: bounded in time, size and memory.

It runs in a thread that is stopped when it goes past a bound; `lib.rollouts.prompts.trial` has
tried it out before.
"""

import ctypes
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

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
    worker = _worker()
    rendering = worker.pool.submit(_attempt, tokenizer, list(messages), options)
    wait([rendering], _LOOK_EVERY)
    if not rendering.done():
        _watch(rendering, worker)
    text = rendering.result()
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


def _attempt(tokenizer, messages: list[dict[str, Any]], options: dict[str, Any]) -> Any:
    """The text of messages, or the error that the template raised."""
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, **options)
    except BaseException as error:
        return error


class _Worker(NamedTuple):
    """A thread that renders: a new thread for each prompt would take longer than the prompt."""

    pool: ThreadPoolExecutor
    thread: int


_of_this_thread = threading.local()


def _worker() -> _Worker:
    if getattr(_of_this_thread, "worker", None) is None:
        pool = ThreadPoolExecutor(1, "chat template")
        _of_this_thread.worker = _Worker(pool, pool.submit(threading.get_ident).result())
    return _of_this_thread.worker


def _watch(rendering: Future, worker: _Worker) -> None:
    """Wait for a prompt; raise PromptRefused, and stop its worker, once it goes past a bound."""
    import psutil

    process, deadline = psutil.Process(), time.monotonic() + MAX_SECONDS
    most = process.memory_info().rss + MAX_GROWTH
    reason = ""
    while not rendering.done():
        if not reason and time.monotonic() > deadline:
            reason = f"it took more than {MAX_SECONDS:g} s"
        elif not reason and process.memory_info().rss > most:
            reason = f"it took more than {MAX_GROWTH / 2**30:g} GiB of memory"
        if reason:
            # Takes effect at the next instruction of Python: an operation in C first ends.
            stop = ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.thread), stop)
            if time.monotonic() > deadline + 5:
                break
        wait([rendering], _LOOK_EVERY)
    if reason:
        worker.pool.shutdown(wait=False)
        _of_this_thread.worker = None
        raise PromptRefused(f"the chat template was stopped: {reason}. {_REMEDY}")
