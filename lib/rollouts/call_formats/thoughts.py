"""Tell a policy's thoughts from what it says: thoughts are not acts.

A reply that ends inside its thought says nothing and acts on nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from lib.trajectories.schema import Message


class Split(NamedTuple):
    """What a policy thought, without tags, and what it said, with the calls in it."""

    thought: str
    answer: str


_TAGS = (
    ("<think>", "</think>"),  # Qwen, DeepSeek, GLM, MiniMax, Nemotron, Phi, SmolLM and others
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
)
"""Tags that may also be mentioned in a sentence, where they open nothing."""

_TOKENS = (
    ("[THINK]", "[/THINK]"),  # Magistral, Ministral 3
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<unused94>thought", "<unused95>"),  # MedGemma
    ("◁think▷", "◁/think▷"),  # Kimi-VL
)
"""Tokens that a model writes only to open or close a thought."""

_CLOSER = dict(_TAGS + _TOKENS)
_OPENERS = {close: open for open, close in _CLOSER.items()}
# After a line's start or the end of another tag; in a sentence, a tag is only mentioned.
_TAG = "|".join(re.escape(name) for name, _ in _TAGS)
_TOKEN = "|".join(re.escape(name) for name, _ in _TOKENS)
_CLOSERS = "|".join(map(re.escape, _OPENERS))
_HARMONY = r"<\|channel\|>[ \t]*analysis(?![^<\n]{0,99}\bto=)[^<\n]{0,99}<\|message\|>"
_HARMONY_END = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_EDGE = re.compile(
    rf"(?P<tag>(?:{_TAG}))|(?P<token>(?:{_TOKEN}))|(?P<harmony>{_HARMONY})|(?P<close>{_CLOSERS})"
)
# What is left of gpt-oss's channels where a server drops special tokens.
_BARE_HARMONY = re.compile(r"\s*analysis(?=[A-Z\"'(])")
_BARE_HARMONY_END = re.compile(r"assistant(?:final|(?=commentary))")
_FINAL = re.compile(
    r"(?:<\|end\|>|\s)*(?:<\|start\|>assistant)?<\|channel\|>\s*final[^<\n]{0,99}<\|message\|>"
)


def opens_thought(prompt: str) -> bool:
    """Whether a prompt ends inside a thought, so that the reply begins there."""
    return _open_end(prompt) is not None


def _open_end(prompt: str) -> str | None:
    end = prompt.rstrip()
    return next((name for name in _CLOSER if end.endswith(name)), None)


def split_thought(text: str, prompt: str = "") -> Split:
    """Split a reply into its thoughts and the rest.

    prompt: what the reply continues; only its end counts, which may have opened a thought. Without
        it, a closing tag that nothing opened tells the same.
    """
    thoughts: list[str] = []
    answer: list[str] = []
    opener = _open_end(prompt)
    at, checks = 0, iter(range(_MOST_CHECKS))
    bare = _BARE_HARMONY.match(text)
    if bare and not opener:
        end = _BARE_HARMONY_END.search(text, bare.end())
        thoughts.append(text[bare.end() : end.start() if end else len(text)])
        at = end.end() if end else len(text)
    while True:
        if opener:
            close = _CLOSER[opener]
            end = text.find(close, at)
            thoughts.append(text[at : end if end >= 0 else len(text)])
            if end < 0:
                break
            at, opener = end + len(close), None
        edge = _next_edge(text, at, checks)
        if edge is None:
            answer.append(text[at:])
            break
        before = text[at : edge.start()]
        at = edge.end()
        if edge["close"]:  # what it closes began before all that was read
            thoughts = ["".join([*thoughts, *answer, before])]
            answer = []
        elif edge["harmony"]:
            answer.append(before)
            end = _HARMONY_END.search(text, at)
            thoughts.append(text[at : end.start() if end else len(text)])
            if not end:
                break
            at = end.end() if end[0] == "<|end|>" else end.start()
        else:
            answer.append(before)
            opener = edge[0]
    said = "".join(answer)
    said = said[final.end() :] if (final := _FINAL.match(said)) else said
    return Split("\n\n".join(filter(None, map(str.strip, thoughts))), said)


def _next_edge(text: str, at: int, checks: Iterator[int]) -> re.Match[str] | None:
    for edge in _EDGE.finditer(text, at):
        if edge["tag"] and not _begins(text, edge.start()):
            continue
        if edge["token"] or edge["harmony"] or next(checks, None) is None:
            return edge
        if not _in_call(text, at, edge.start()):
            return edge
    return None


_MOST_CHECKS = 8
"""So many tags may be looked at closely, each of which may read all of the text."""

_CALLS = (("<tool_call>", "</tool_call>"), ("<function=", "</function>"))
_VALUES = (("<parameter=", "</parameter>"), ("<arg_value>", "</arg_value>"))
_STRING = re.compile(r"\\.|(\")", re.DOTALL)


def _in_call(text: str, at: int, place: int) -> bool:
    """Whether a place is inside a value of a call that ends after it: a tag there is only text."""
    for opening, closing in _CALLS:
        start = text.rfind(opening, at, place)
        end = text.find(closing, place) if start >= 0 else -1
        if start < 0 or end < 0 or text.find(closing, start, place) >= 0:
            continue
        if text.find(opening, place, end) >= 0:
            continue  # another call ends there, and this one is torn
        body = text[start + 1 : place]
        if any(body.rfind(first) > body.rfind(last) for first, last in _VALUES):
            return True
        if "{" in body and sum(bool(mark[1]) for mark in _STRING.finditer(body)) % 2:
            return True
    return False


def _begins(text: str, at: int) -> bool:
    """Whether nothing of a sentence is before this place in its line."""
    line = text[max(0, at - 200) : at].rpartition("\n")[2].rstrip()
    return not line or line.endswith((">", "]", "|"))


def without_thought(message: Message) -> Message:
    """The message as an environment takes it: its content is only what was said."""
    content = said(message)
    return message if content == message.content else replace(message, content=content)


def said(message: Message) -> str:
    """The content of a message without the thoughts that are in it."""
    if message.thought and message.content.strip() == message.thought.strip():
        return ""  # the prompt opened the thought, and nothing closed it
    return split_thought(message.content).answer
