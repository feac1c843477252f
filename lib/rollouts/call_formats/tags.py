"""Calls whose arguments are tags, a tag for each: of Qwen3-Coder, GLM, MiniMax and others."""

import re

from lib.rollouts.call_formats.source import NAME, Found, RawCall, Source
from lib.rollouts.lenient_json import read_value

_SPACE_NAME = r"[\w｜:]{0,12}"  # as in <｜DSML｜invoke ...> or <steptml:invoke ...>
_QUOTE = "[\"']?"
_FUNCTION = re.compile(
    rf"<{_SPACE_NAME}(?:function|invoke)(?:=|\s+name\s*=\s*){_QUOTE}"
    rf"(?P<name>[^\"'<>\n]{{1,200}}){_QUOTE}\s*>\s*"
)
_PARAMETER = re.compile(
    rf"\s*<{_SPACE_NAME}(?:parameter|param)(?:=|\s+name\s*=\s*){_QUOTE}"
    rf"(?P<name>[^\"'<>\n]{{1,200}}){_QUOTE}(?:\s+\w{{1,20}}=\"[^\"<>]{{0,40}}\")*\s*>"
)
_VALUE_END = re.compile(rf"</{_SPACE_NAME}(?:parameter|param)>(?=\s*(?:<|\Z))")
_NEXT = re.compile(
    rf"\n?<parameter=[^<>\n]{{1,200}}>|\n?</{_SPACE_NAME}(?:function|invoke|tool_call)>"
)
_FUNCTION_END = re.compile(rf"\s*</{_SPACE_NAME}(?:function|invoke)>")
_FOLLOWED = re.compile(rf"\s*(?:</{_SPACE_NAME}tool_calls?>|<{_SPACE_NAME}(?:function|invoke)\b)")


def functions(source: Source, at: int) -> Found | None:
    """Read a run of `<function=name>...</function>` or `<invoke name="name">...</invoke>`.

    Between the tags are `<parameter=key>value</parameter>` or a JSON object of the arguments.
    """
    calls: list[RawCall] = []
    end = None
    while source.effort.steps > 0 and (head := _FUNCTION.match(source.text, at)):
        source.effort.spend(head.end() - at)
        name = source.name(head["name"])
        read = _json_arguments(source, name, head.end()) or _parameters(source, name, head.end())
        if read is None:
            return Found(calls, len(source.text))
        call, end = read
        calls.append(call)
        at = source.skip(end)
    return None if end is None else Found(calls, end)


def _json_arguments(source: Source, name: str, at: int) -> tuple[RawCall, int] | None:
    if not source.text.startswith("{", at):
        return None
    reading = read_value(source.text, at, source.effort)
    if not reading.whole:
        return None
    close = _FUNCTION_END.match(source.text, reading.end)
    return {"name": name, "arguments": reading.value}, close.end() if close else reading.end


def _parameters(source: Source, name: str, at: int) -> tuple[RawCall, int] | None:
    """The call and where it ends; None if its end is missing."""
    arguments = {}
    while head := _PARAMETER.match(source.text, at):
        value_end = source.find(_VALUE_END, head.end())
        limit = value_end.start() if value_end else len(source.text)
        # A closing tag that is missing: the value ends where the next tag begins.
        early = _NEXT.search(source.text, head.end(), limit)
        if early and not (value_end and early[0].lstrip().startswith("</")):
            stop, at = early.start(), early.start()
        elif value_end:
            stop, at = value_end.start(), value_end.end()
        else:
            return None
        arguments[head["name"].strip()] = source.typed(
            name, head["name"].strip(), without_breaks(source.text[head.end() : stop])
        )
    close = _FUNCTION_END.match(source.text, at)
    if not close and not _FOLLOWED.match(source.text, at):
        return None
    return {"name": name, "arguments": arguments}, close.end() if close else at


def without_breaks(value: str) -> str:
    """The value without the line breaks that set it apart from its tags."""
    return value.removeprefix("\n").removesuffix("\n")


_GLM_NAME = re.compile(rf"(?P<name>{NAME})\s*(?=<arg_key>|</tool_call>)")
_GLM_KEY = re.compile(r"\s*<arg_key>([^<]{1,200})</arg_key>\s*<arg_value>")
_GLM_VALUE_END = re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))")
_GLM_END = re.compile(r"\s*</tool_call>")


def arg_keys(source: Source, at: int) -> Found | None:
    """Read a name with `<arg_key>key</arg_key><arg_value>value</arg_value>`, of GLM."""
    head = _GLM_NAME.match(source.text, at)
    if not head:
        return None
    name, arguments = source.name(head["name"]), {}
    at = head.end()
    while key := _GLM_KEY.match(source.text, at):
        end = source.find(_GLM_VALUE_END, key.end())
        if not end:
            return Found([], len(source.text))
        value = without_breaks(source.text[key.end() : end.start()])
        arguments[key[1].strip()] = source.typed(name, key[1].strip(), value)
        at = end.end()
    end = _GLM_END.match(source.text, at)
    if not end:
        return Found([], len(source.text))
    return Found([{"name": name, "arguments": arguments}], end.end())
