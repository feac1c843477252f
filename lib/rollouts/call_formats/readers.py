"""Readers of what a marker opens."""

import re

from lib.rollouts.call_formats.gemma import gemma_calls
from lib.rollouts.call_formats.pythonic import call_list, call_run
from lib.rollouts.call_formats.source import (
    NAME,
    Found,
    RawCall,
    Source,
    json_calls,
    named_json,
)
from lib.rollouts.call_formats.tags import arg_keys, functions
from lib.rollouts.lenient_json import read_value


def _body(source: Source, at: int) -> Found | None:
    """Read calls in whatever form comes next: models of one marker differ in what follows."""
    at = source.skip(at)
    if fence := _FENCE.match(source.text, at):
        at = fence.end()
    found = None
    for read in (call_list, json_calls, functions, arg_keys, gemma_calls, named_json, call_run):
        found = read(source, at)
        if found is not None:
            break
    return found


def opened(source: Source, match: re.Match[str]) -> Found | None:
    """Read what a marker opens: calls one after the other, then what closes them."""
    found = _body(source, match.end())
    if found is None:
        return None
    calls, end = list(found.calls), found.end
    while found is not None and found.calls and source.effort.steps > 0:
        close = _CLOSE.match(source.text, end)
        if close:
            end = close.end()
            break
        at = source.skip(end)
        again = _AGAIN.match(source.text, at)
        found = _body(source, at) if again and source.name(again["name"]) in source.known else None
        if found is not None:
            calls += found.calls
            end = found.end
    return Found(calls, end)


_FENCE = re.compile(r"```[a-z_]{0,20}[ \t]*\n?")
_CLOSE = re.compile(
    r"(?:\s*(?:</[\w:｜]{1,40}>|<\w{1,20}\|>|<end_\w{1,20}>|<\|/\w{1,20}\|>|<\|\w{0,30}_end\|>"
    r"|<｜tool[▁_]calls?[▁_]end｜>|<\|(?:tools_suffix|END_ACTION|call)\|>|\[unused12\]"
    r"|```(?=\s|\Z)))++"
)
_AGAIN = re.compile(rf"(?P<name>{NAME})\s*(?:\[|\{{|\(|<)")


def json_only(source: Source, match: re.Match[str]) -> Found | None:
    """Read JSON after a marker that is plain text, and the fence that closes it."""
    at = source.skip(match.end())
    fence = _FENCE.match(source.text, at)
    found = json_calls(source, fence.end() if fence else at)
    close = _CLOSE.match(source.text, found.end) if found and found.calls else None
    return Found(found.calls, close.end()) if close else found


def name_only(source: Source, match: re.Match[str]) -> Found | None:
    """Read a name and JSON after a marker that is plain text."""
    return named_json(source, match.end())


def function_tags(source: Source, match: re.Match[str]) -> Found | None:
    """Read `<function=...>` itself, and the tag that closes a group of them."""
    found = functions(source, match.start())
    if found is None or not found.calls:
        return found
    close = _CLOSE.match(source.text, found.end)
    return Found(found.calls, close.end() if close else found.end)


def harmony(source: Source, match: re.Match[str]) -> Found | None:
    """Read a message to a tool; the header names the tool, the body is its arguments."""
    at = source.skip(match.end())
    if not source.text.startswith("{", at):
        return None
    reading = read_value(source.text, at, source.effort)
    if not reading.whole:
        return Found([], len(source.text))
    call: RawCall = {"name": match["to"], "arguments": reading.value}
    return Found([call], reading.end)


def tool_code(source: Source, match: re.Match[str]) -> Found | None:
    found = call_list(source, source.skip(match.end())) or call_run(
        source, source.skip(match.end())
    )
    if found is None or not found.calls:
        return found
    fence = _CLOSE.match(source.text, found.end)
    return Found(found.calls, fence.end() if fence else found.end)
