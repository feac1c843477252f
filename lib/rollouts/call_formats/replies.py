"""From the text of a reply to its thought, what was said, and its calls."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lib.rollouts.call_formats.rows import Format
from lib.rollouts.call_formats.source import NAME, Found, RawCall, Source
from lib.rollouts.call_formats.table import BARE, FORMATS
from lib.rollouts.call_formats.templates import read_by_template
from lib.rollouts.call_formats.thoughts import split_thought
from lib.rollouts.lenient_json import Effort, read_value
from lib.rollouts.tool_calls import (
    Parser,
    cast_arguments,
    finish_call,
    load_json,
    parse_tool_calls,
    robust_values,
)
from lib.trajectories.schema import Tool, ToolCall


class ReadReply(NamedTuple):
    """A reply as it was read.

    thought: what the policy thought, without tags. No call in it was read.
    content: what it said, without its calls.
    calls: in order; none for a final answer.
    repairs: that were made to read them.
    marked: the calls are in the format of a model, not in a block or as bare JSON.
    """

    thought: str
    content: str
    calls: tuple[ToolCall, ...]
    repairs: tuple[str, ...] = ()
    marked: bool = False


def read_reply(
    text: str,
    tools: Sequence[Tool],
    tokenizer=None,
    *,
    prompt: str = "",
    parser: Parser = "native",
) -> ReadReply:
    """Read a reply that a model wrote, or that a server left in its text.

    tools: that were offered; calls of others are dropped.
    tokenizer: of the model, if it is known; its own response template is tried first.
    prompt: what the reply continues. Only its end counts, where a template may open a thought.
    parser: "native" reads the formats of `FORMATS`; the others read as
        :func:`lib.rollouts.tool_calls.parse_tool_calls` does.

    No text makes it raise an error or run for long.
    """
    thought, answer = split_thought(text, prompt)
    if parser != "native":
        parsed = parse_tool_calls(answer, tools, parser)
        return ReadReply(thought, answer, parsed.calls, parsed.repairs)
    read = _read_native(answer, tools)
    calls = read.calls
    if tokenizer is not None and not read.doubt:
        # Its reader acts on calls that are torn or only mentioned, so it is asked where none is.
        calls = read_by_template(tokenizer, text, prompt, tools) or calls
    return ReadReply(thought, _without(answer, read.spans), calls, read.repairs, read.marked)


class _Native(NamedTuple):
    """The calls in a text, where they are, and whether a call in it is torn or only mentioned."""

    calls: tuple[ToolCall, ...]
    spans: list[tuple[int, int]]
    repairs: tuple[str, ...]
    doubt: bool
    marked: bool


def read_native(text: str, tools: Sequence[Tool]) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    """The calls of an answer in the format that it shows, and the repairs made to read them."""
    read = _read_native(text, tools)
    return read.calls, read.repairs


def _read_native(text: str, tools: Sequence[Tool]) -> _Native:
    source = Source(text, {tool.name: tool for tool in tools}, Effort())
    marked = _marked(source)
    if not marked.tagged:
        marked = _bare(source) or marked
    if marked.tagged or not source.known:
        return _finished(source, marked)
    # No format shows: the text is read as that of a model without one. What is only mentioned is
    # blanked, which keeps all places.
    for start, end in marked.mentions:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    effort = Effort(source.effort.steps)
    values = robust_values(text, effort)
    values = [value for value in values if value.label is not None] or [
        value for value in values if not _mentioned(text, value.start, value.end)
    ]
    effort.repairs = {repair: None for value in values for repair in value.repairs}
    found = [(value.start, Found(value.calls, value.end)) for value in values]
    source = Source(text, source.known, effort)
    return _finished(source, marked._replace(found=found))


class _Marked(NamedTuple):
    """What a search has come upon.

    found: calls, each with its start.  mentions: places of calls that are only shown.
    tagged: a call of a format was read, or torn.
    """

    found: list[tuple[int, Found]]
    mentions: list[tuple[int, int]]
    tagged: bool
    torn: bool = False


_COMPILED = [(re.compile(row.marker), row) for row in FORMATS]
_SCAN = re.compile(
    "|".join(f"(?:{row.marker.replace('(?P<to>', '(?:')})" for row in FORMATS) + "|```"
)
_COST_OF_A_MARK = 32 * 16


def _marked(source: Source) -> _Marked:
    """Read all calls that a marker opens, but those that are only shown."""
    text, at = source.text, 0
    result, read = _Marked([], [], False), []
    while match := source.find(_SCAN, at):
        source.effort.spend(_COST_OF_A_MARK)
        start, at = match.start(), match.end()
        row, opened = _row(text, start)
        if row is None:
            at = _past_fence(source, start, result.mentions)
            continue
        if text[start - 1 : start] == "`" and not text.startswith("```", start):
            end = text.find("`", at)
            at = end + 1 if end >= 0 else len(text)
            result.mentions.append((start, at))
            continue
        found = row.read(source, opened)
        if found is None:
            continue
        at = max(found.end, at)
        read.append(_Read(start, at, found, row.tags))
    for group in _groups(text, read):
        start, end = group[0].start, group[-1].end
        calls = [piece for piece in group if piece.found.calls]
        if calls and all(piece.tags for piece in group) and _mentioned(text, start, end):
            result.mentions.append((start, end))
            continue
        torn = result.torn or len(calls) < len(group)
        result = result._replace(tagged=True, torn=torn)
        result.found.extend((piece.start, piece.found) for piece in group)
    return result


class _Read(NamedTuple):
    """What a marker opened, where, and whether a sentence may mention it."""

    start: int
    end: int
    found: Found
    tags: bool


def _groups(text: str, read: list[_Read]) -> list[list[_Read]]:
    """Pieces between which there is only space."""
    groups: list[list[_Read]] = []
    for piece in read:
        if groups and not text[groups[-1][-1].end : piece.start].strip():
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return groups


_FENCE_LINE = re.compile(r"\n[ \t]*```[ \t]*(?=\n|\Z)")


def _past_fence(source: Source, start: int, mentions: list[tuple[int, int]]) -> int:
    """Where to read on at a fence: calls in its block are examples, unless it is all of the reply.

    A block labelled tool_call is how replies call tools where the prompt asks for it.
    """
    text, inside = source.text, start + 3
    if text[max(0, start - 1000) : start].rpartition("\n")[2].strip():
        return inside  # within a line
    close = source.find(_FENCE_LINE, inside)
    if not close or not (text[:start].strip() or text[close.end() :].strip()):
        return inside
    if not text.startswith("tool", inside):
        shown = _SCAN.search(text, inside, close.start())
        row, opened = _row(text, shown.start()) if shown else (None, None)
        if row and (found := row.read(source, opened)) and found.calls:
            mentions.append((start, close.end()))
    return close.end()


def _row(text: str, at: int) -> tuple[Format | None, re.Match[str] | None]:
    for pattern, row in _COMPILED:
        if match := pattern.match(text, at):
            return row, match
    return None, None


def _mentioned(text: str, start: int, end: int) -> bool:
    """Whether a sentence goes on around a call, in the lines of its start and its end."""
    before = text[max(0, start - 1000) : start].rpartition("\n")[2].strip()
    after = text[end : end + 1000].partition("\n")[0].strip()
    quiet = not before or before.endswith((">", "]", "}"))
    return not quiet and bool(after) and not after.startswith(("<", "[", "{", "```", ";", ","))


_BARE = [(re.compile("^" + row.marker, re.MULTILINE), re.compile(row.marker), row) for row in BARE]
_END_TOKEN = re.compile(r"<[^<>\s]{1,38}>$")
_WORD = re.compile(NAME)


def _bare(source: Source) -> _Marked | None:
    """Read calls that nothing marks, but that end the reply; None if there are none."""
    end = len(source.text.rstrip())
    for _ in range(8):  # end tokens that the reply kept
        token = _END_TOKEN.search(source.text, max(0, end - 40), end)
        if not token:
            break
        end = len(source.text[: token.start()].rstrip())
    for first, more, row in _BARE:
        at = 0
        while match := source.find(first, at):
            source.effort.spend(_COST_OF_A_MARK)
            run = _run(source, more, row, match, end)
            if run is not None:
                return _Marked(run, [], True, not run)
            at = max(match.end(), match.start() + 1)
    return None


def _run(
    source: Source, more: re.Pattern[str], row: Format, match: re.Match[str], end: int
) -> list[tuple[int, Found]] | None:
    """Calls of offered tools up to the end of the reply; [] where the first of them is torn."""
    run: list[tuple[int, Found]] = []
    while source.effort.steps > 0:
        found = row.read(source, match)
        if not found:
            return None
        if not found.calls:
            word = _WORD.match(source.text, match.end())
            return run or ([] if word and source.name(word[0]) in source.known else None)
        if not all(source.name(call["name"]) in source.known for call in found.calls):
            return None
        run.append((match.start(), found))
        at = source.skip(found.end)
        if at >= end:
            return run
        match = more.match(source.text, at)
        if not match:
            return None
    return None


def _finished(source: Source, marked: _Marked) -> _Native:
    calls = [
        finish_call(_named(raw, source), source.known, source.effort)
        for _, found in marked.found
        for raw in found.calls
    ]
    if source.effort.steps <= 0:
        source.effort.note("text too long to read to its end")
    return _Native(
        tuple(call for call in calls if call),
        [_span(source.text, start, found.end) for start, found in marked.found if found.calls],
        tuple(source.effort.repairs),
        marked.torn or bool(marked.mentions),
        marked.tagged,
    )


def _named(raw: RawCall, source: Source) -> RawCall:
    """The call with the name of the tool that it means."""
    written = raw.get("name", raw.get("function"))
    if not isinstance(written, str) or source.name(written) == written:
        return raw
    return type(raw)({**raw, "name": source.name(written)})


def _span(text: str, start: int, end: int) -> tuple[int, int]:
    """The place of calls, with the fences around them."""
    start = group.start() if (group := _GROUP.search(text, max(0, start - 60), start)) else start
    opening = _OPEN_FENCE.search(text, max(0, start - 100), start)
    closing = _FENCE_LINE.match(text, end) if opening else None
    return (opening.start(), closing.end()) if closing else (start, end)


_OPEN_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\n\s*$")


_GROUP = re.compile(
    r"(?:<｜tool[▁_]calls[▁_]begin｜>|<\|tool_calls_section_begin\|>|<\|start\|>assistant)\s*$"
)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at : max(at, start)])
        at = max(at, end)
    return "".join([*parts, text[at:]]) if spans else text


def read_arguments(sent: Any, tool: Tool | None = None) -> dict[str, Any] | None:
    """Read the arguments of a call as a server sent them; None if they are no object.

    sent: an object, or JSON text. Null, "" and "[]" are no arguments. Text that is encoded twice,
        quoted as in Python or followed by other text is read as the same text in a reply would be.
        An object whose end is missing is none.
    tool: whose schema tells which strings to cast; None casts nothing.
    """
    if sent is None:
        return {}
    effort = Effort()
    for _ in range(3):  # as often as text may be encoded
        if not isinstance(sent, str):
            break
        text = sent.strip()
        value = load_json(text)
        if value is None and text.startswith("{"):
            reading = read_value(text, 0, effort)
            value = reading.value if reading.whole else None
        sent = value if value is not None or text not in ("", "null", "None") else {}
    if sent == []:
        return {}
    if not isinstance(sent, dict):
        return None
    return sent if tool is None else cast_arguments(sent, tool, effort)
