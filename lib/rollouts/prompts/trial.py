"""Try a chat template out in a process of its own, before it may run in this one.

A template is a program that comes with a checkpoint. Jinja's sandbox keeps it from the system, but
not from looping for ever or from asking for gigabytes in a single operation, which no thread could
stop. The process has little memory and little time; what it writes is thrown away.

The file is also that process's program, which needs Jinja alone and starts in a tenth of a second.
"""

import json
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache

SECONDS = 2
"""Of processor time, for a handful of short conversations: a hundred times what they take."""

MEMORY = 2**30
"""Bytes that the process may use."""

MAX_CHARACTERS = 2**24
"""Of one prompt: more than any model reads."""


@lru_cache
def trouble_of(template: str) -> str:
    """Which bound a chat template goes past, such as "it takes more than 10 s"; "" if none.

    A template that refuses the conversations of the trial is no trouble.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-P", __file__],
            input=json.dumps(template),
            capture_output=True,
            encoding="utf-8",
            timeout=6 * SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"it takes more than {SECONDS} s"
    if done.returncode < 0:  # ended by a signal, as that of the time's end
        return f"it takes more than {SECONDS} s"
    return done.stdout.strip() if done.returncode == 0 else f"it ends Python ({done.stderr[-200:]})"


def _conversations():
    ask, say = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    function = {"name": "f", "arguments": {"x": "y"}}
    called = {"id": "call00000", "type": "function", "function": function}
    call = {"role": "assistant", "content": "", "tool_calls": [called]}
    answer = {"role": "tool", "content": "c", "name": "f", "tool_call_id": "call00000"}
    system = {"role": "system", "content": "d"}
    yield from ([ask], [system, ask, say, ask, say], [system, ask, call, answer])


def _run(template: str) -> str:
    """Render the conversations; this runs in the process of its own."""
    try:
        import resource
    except ImportError:  # a system without such bounds
        return ""

    from jinja2 import Environment
    from jinja2.ext import Extension, loopcontrols
    from jinja2.nodes import Scope
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        tags = frozenset({"generation"})

        def parse(self, parser):
            line = next(parser.stream).lineno
            return Scope(parser.parse_statements(("name:endgeneration",), True), lineno=line)

    def refuse(message):
        raise ValueError(message)

    for name, most in (("RLIMIT_CPU", SECONDS), ("RLIMIT_AS", MEMORY)):
        with suppress(AttributeError, ValueError, OSError):  # a bound that this system lacks
            resource.setrlimit(getattr(resource, name), (most, most))
    environment: Environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = lambda value, **options: json.dumps(value)
    environment.globals |= {"raise_exception": refuse, "strftime_now": str, "bos_token": "<s>"}
    parameters = {"type": "object", "properties": {"x": {"type": "string", "description": "e"}}}
    tool = {"name": "f", "description": "g", "parameters": parameters}
    for messages in _conversations():
        for tools in (None, [{"type": "function", "function": tool}]):
            try:
                text = environment.from_string(template).render(
                    messages=messages, tools=tools, add_generation_prompt=True, eos_token="</s>"
                )
            except MemoryError:
                return f"it takes more than {MEMORY / 2**30:g} GiB of memory"
            except Exception:  # a refusal, which is seen again where it matters
                continue
            if len(text) > MAX_CHARACTERS:
                return f"it writes more than {MAX_CHARACTERS:,} characters"
    return ""


if __name__ == "__main__":
    print(_run(json.load(sys.stdin)))
