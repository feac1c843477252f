"""The lab's small language, in which each word is a token of the lab's models.

A transcript is ``<start> obs > [ move up left ] <end> obs > ...``: an observation, the sign that
the assistant's turn begins, its reply, the sign that the reply ends. A call may be written in
several forms. The first form is native, and the exact parser reads no other. The cue is a word at
the start that asks for native calls; it is to the lab's models what the text harness is to real
base models.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lib.trajectories.schema import Message, Tool, ToolCall

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from lib.rollouts.policies.protocol import Context

START, CUE, TURN, END, UNKNOWN = "<start>", "<calls>", ">", "<end>", "<unk>"

FORMS = ("native", "use", "function", "will")
"""Ways to write a call: `[ N a b ]`, `use N with a b .`, `N ( a , b )`, `I will N a then b .`"""

FORM_WORDS = ("[", "]", "use", "with", ".", "(", ",", ")", "I", "will", "then")

_SKIPPED = frozenset(["(", ",", "with", "then", "["])
_LAST = frozenset(["]", ".", ")", TURN, END])

_RESERVED = (START, CUE, END, UNKNOWN, "\ufdd0")
"""Only the transcript itself may write these. A word of an observation that contains one of them is
replaced by `UNKNOWN`. The last is `BREAK`, at which `LocalPolicy` would split the word."""

Parser = Literal["exact", "lenient"]


def write_calls(calls: Iterable[ToolCall], form: str = "native") -> str:
    """Write calls in one of the `FORMS`; arguments go by position, in the order they have."""
    return " ".join(
        _write(call.name, list(map(str, call.arguments.values())), form) for call in calls
    )


def _write(name: str, values: list[str], form: str) -> str:
    if form == "native":
        words = ["[", name, *values, "]"]
    elif form == "use":
        words = ["use", name, "with", *values, "."]
    elif form == "function":
        words = [name, "(", *" , ".join(values).split(), ")"]
    elif form == "will":
        words = ["I", "will", name, *" then ".join(values).split(), "."]
    else:
        raise ValueError(f"form is {form!r}: expected one of {', '.join(FORMS)}")
    return " ".join(words)


def read_calls(text: str, tools: Iterable[Tool], parser: Parser = "exact") -> tuple[ToolCall, ...]:
    """Read the calls of a reply.

    exact: the whole reply must be native calls of known tools, with arguments that their schemas
        allow. Otherwise there is no call.
    lenient: finds calls in any form, among any other words, and leaves out what it cannot read.

    A parameter without an enum may be any word. Raises ValueError for an unknown parser.
    """
    known = {tool.name: tool for tool in tools}
    words = text.split()
    if parser == "lenient":
        return tuple(
            filter(None, (_call(known[name], values) for name, values in _find(words, known)))
        )
    if parser != "exact":
        raise ValueError(f"parser is {parser!r}: expected exact or lenient")
    calls, at = [], 0
    ends = (place for place, word in enumerate(words) if word == "]")
    while at < len(words):
        end = next(ends, None)
        if words[at] != "[" or end is None or words[at + 1] not in known:
            return ()
        call = _call(known[words[at + 1]], words[at + 2 : end])
        if call is None:
            return ()
        calls.append(call)
        at = end + 1
    return tuple(calls)


def _find(words: Sequence[str], known: dict[str, Tool]) -> Iterator[tuple[str, list[str]]]:
    """Each tool that is named, with the words after it that may be its arguments."""
    for at, name in enumerate(words):
        if name not in known:
            continue
        options = _options(known[name])
        allowed = [value for some in options if some is not None for value in some]
        free = None in options
        values = []
        for word in map(words.__getitem__, range(at + 1, len(words))):  # a slice would be a copy
            if word in allowed:
                values.append(word)
            elif word in _SKIPPED:
                continue
            elif free and len(values) < len(options) and word not in _LAST and word not in known:
                values.append(word)
            else:
                break
        yield name, values


def _options(tool: Tool) -> list[Sequence[str] | None]:
    """The words that each parameter of a tool allows, in the order of its schema; None for any."""
    return [schema.get("enum") for schema in tool.parameters.get("properties", {}).values()]


def _call(tool: Tool, values: Sequence[str]) -> ToolCall | None:
    names, options = list(tool.parameters.get("properties", {})), _options(tool)
    if not len(tool.parameters.get("required", ())) <= len(values) <= len(names):
        return None
    for value, allowed in zip(values, options, strict=False):
        if allowed is not None and value not in allowed:
            return None
    return ToolCall(tool.name, dict(zip(names, values, strict=False)))


@dataclass(frozen=True)
class WordLanguage:
    """The prompt format of the lab's models.

    cue: begin the prompt with the word that asks for native calls.
    parser: of the calls in a reply, see `read_calls`.
    """

    cue: bool = False
    parser: Parser = "exact"
    stops = ()
    special_tokens = False

    @property
    def settings(self) -> dict[str, Any]:
        return {"dialect": "words", "cue": self.cue, "parser": self.parser}

    def prompt(self, context: "Context") -> str:
        return transcript(context.messages, cue=self.cue) + f" {TURN} "

    def read(self, text: str, context: "Context") -> Message:
        return Message("assistant", text, read_calls(text, context.tools, self.parser))


def transcript(messages: Iterable[Message], *, cue: bool = False) -> str:
    """A conversation in words, without system prompts and tools, which the lab's models know.

    Words that separate turns become `UNKNOWN` where an observation holds them.
    """
    words = [START, CUE] if cue else [START]
    for message in messages:
        if message.role == "assistant":
            words += [TURN, *message.content.split(), END]
        elif message.role != "system":
            words += _observed(message.content)
    return " ".join(words)


def _observed(text: str) -> list[str]:
    """The words of an observation, with `UNKNOWN` for those that would separate turns."""
    words = text.split()
    if any(name in text for name in _RESERVED):
        words = [UNKNOWN if any(name in word for name in _RESERVED) else word for word in words]
    return [UNKNOWN if word == TURN else word for word in words]


def check_vocabulary(tokenizer, words: Iterable[str]) -> None:
    """Raise ValueError for the first word of an environment that is not a token of the model."""
    known = tokenizer.get_vocab()
    missing = next((word for word in [TURN, END, *words] if word not in known), None)
    if missing is not None:
        raise ValueError(
            f"the model's vocabulary has no word {missing!r} of this environment: take a model "
            "that was made for it, or choose another prompt_format"
        )


def tokenizer(words: Iterable[str]) -> "PreTrainedTokenizerFast":
    """Make a tokenizer with a token for each word, the words of the language first."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    own = [UNKNOWN, START, CUE, TURN, END, *FORM_WORDS]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*own, *words]))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token=UNKNOWN, bos_token=START, eos_token=END, pad_token=END
    )
