"""Trajectories as token ids: what both models read, and which tokens of it were the actions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lib.rollouts.policies.protocol import Context, PromptRefused
from lib.rollouts.prompts import PromptFormat
from lib.rollouts.prompts.protocol import BREAK, check_known_tokens
from lib.trajectories.schema import Message, Rollout, TrajectoryError, offered_tools
from lib.trajectories.tokens import Reading, Span, Transcript, chosen_tokens, token_spans

Seams = Literal["refuse", "cut"]


@dataclass(frozen=True)
class Steps:
    """The actions of one trajectory as tokens, step by step; a step is a message of the assistant.

    key: of the rollout.  passed: its outcome.
    messages: [steps], numbers of the messages.
    counts: [steps], action tokens of each; 0 where it is missing.
    missing: [steps], why a step cannot be scored ("context", "empty", "refused"), "" if it
        can.
    reading: the tokens of all steps that are not missing, in their order.
    """

    key: tuple[str, str, str, str, int]
    passed: bool | None
    messages: tuple[int, ...]
    counts: tuple[int, ...]
    missing: tuple[str, ...]
    reading: Reading


def read_stored(rollout: Rollout, tokenizer, context: int) -> Steps:
    """The steps of a rollout by the token ids that were sampled, end tokens included.

    tokenizer: of the models; what it makes of the ids must begin with the text of the message.
    context: the most tokens that the models read. A step that goes past it is missing.

    Raises TrajectoryError if ids are not known, or are from another tokenizer.
    """
    replies = [at for at, message in enumerate(rollout.messages) if message.role == "assistant"]
    bare = [t.message for t in rollout.turns if t.prompt_ids is None or t.action_ids is None]
    if bare or (replies and not rollout.turns):
        raise TrajectoryError(
            f"message {(bare or replies)[0]} of {rollout.key} has no stored token ids; read its "
            "text: give the `prompt_format` that it was written in"
        )
    for turn in rollout.turns:
        if turn.action_ids and not turn.prompt_ids:
            raise TrajectoryError(
                f"message {turn.message} of {rollout.key} was sampled without a prompt: "
                "no model gives its first token a probability; leave the rollout out"
            )
        text = rollout.messages[turn.message].content
        if not _decode(tokenizer, turn.action_ids).startswith(text):
            raise TrajectoryError(
                f"message {turn.message} of {rollout.key} is {text[:60]!r}, but its stored tokens "
                f"read {_decode(tokenizer, turn.action_ids)[:60]!r} by this tokenizer: they are "
                "another tokenizer's; read its text instead (`prompt_format`)"
            )
    sequences, places = chosen_tokens(rollout.turns)
    where = dict(zip([t.message for t in rollout.turns if t.action_ids], places, strict=True))
    pieces = [
        (turn.message, *where.get(turn.message, (0, range(0))), turn.action_ids)
        for turn in rollout.turns
    ]
    return _steps(rollout.key, rollout.passed, sequences, pieces, context)


def read_text(
    rollout: Rollout,
    tokenizer,
    prompt_format: PromptFormat,
    context: int,
    *,
    seams: Seams = "refuse",
) -> Steps:
    """The steps of a rollout by the text of its messages, as a prompt format writes them.

    An action is the text that the prompt format writes for the message (its calls included),
    without the token that ended it. A prompt format that rewrites the past, as templates that drop
    earlier thoughts do, needs a sequence for each turn that is not the beginning of the next one.

    All steps are missing where the template of a prompt format refuses the conversation.

    seams, context: as in `read_transcript`. Raises PolicyError if most of the first prompt's words
    are unknown to the tokenizer: the model was never spoken to so.
    """
    try:
        transcripts = transcripts_of(rollout, prompt_format)
    except PromptRefused:
        return _refused(rollout)
    options = {
        "add_special_tokens": prompt_format.special_tokens,
        "split_special_tokens": prompt_format.special_tokens,
    }
    return _read(rollout.key, rollout.passed, transcripts, tokenizer, context, seams, options)


def _refused(rollout: Rollout) -> Steps:
    """The steps of a rollout that a chat template refuses to write: none of them has a score."""
    replies = [at for at, m in enumerate(rollout.messages) if m.role == "assistant"]
    pieces = [(at, 0, range(0), ()) for at in replies]
    steps = _steps(rollout.key, rollout.passed, [[]], pieces, 1)
    return replace(steps, missing=("refused",) * len(replies))


def read_transcript(
    transcript: Transcript,
    tokenizer,
    context: int,
    *,
    key: tuple[str, str, str, str, int] = ("", "", "", "", 0),
    passed: bool | None = None,
    seams: Seams = "refuse",
) -> Steps:
    """The steps of a transcript, tokenised again; all of it is text, special tokens too.

    context: the most tokens that the models read. A step that goes past it is missing.
    seams: "refuse" raises TrajectoryError where a token lies across the edge of an action; "cut"
        tokenises prompts and actions apart, as they are when an action is sampled.
    """
    options = {"add_special_tokens": True, "split_special_tokens": True}
    return _read(key, passed, [transcript], tokenizer, context, seams, options)


def transcripts_of(rollout: Rollout, prompt_format: PromptFormat) -> list[Transcript]:
    """The transcripts (mostly one) of a rollout in a prompt format, with its actions' spans."""
    if isinstance(rollout.tools, str):
        raise TrajectoryError(
            f"the tools of {rollout.key} are kept beside its file: give the folder of the "
            "collection, not the file alone"
        )
    first = next((at for at, m in enumerate(rollout.messages) if m.role != "system"), 0)
    system = "\n\n".join(message.content for message in rollout.messages[:first])

    def prompt(messages):
        tools = offered_tools(rollout.tools, messages)
        return prompt_format.prompt(Context(system, tools, tuple(messages)))

    texts: list[str] = []
    spans: list[list[Span]] = []
    # Backwards, since what was written before is mostly the beginning of what comes after it.
    for at in reversed(range(first, len(rollout.messages))):
        if rollout.messages[at].role != "assistant":
            continue
        before = prompt(rollout.messages[first:at])
        action = _action(rollout.messages[first:at], rollout.messages[at], before, prompt)
        text = before + action
        if not texts or not texts[-1].startswith(text):
            texts.append(text)
            spans.append([])
        spans[-1].append(Span(at, len(before), len(text)))
    pairs = zip(texts[::-1], spans[::-1], strict=True)
    return [Transcript(text, tuple(actions[::-1])) for text, actions in pairs]


def _action(before: Sequence[Message], message: Message, prompt_text: str, prompt) -> str:
    """What a prompt format writes for an assistant's message, without what it writes around it."""
    mark = "\ue000"  # stands for a reply, to see what is written after it
    _, _, tail = prompt([*before, Message("assistant", mark)]).rpartition(mark)
    whole = prompt([*before, message])
    if not whole.startswith(prompt_text) or not whole.endswith(tail):
        return message.content
    return whole[len(prompt_text) : len(whole) - len(tail)]


def _read(key, passed, transcripts, tokenizer, context, seams, options) -> Steps:
    if seams not in ("refuse", "cut"):
        raise ValueError(f"seams is {seams!r}: expected 'refuse' or 'cut'")
    sequences, pieces = [], []
    for number, transcript in enumerate(transcripts):
        encode = _cut if seams == "cut" else _whole
        ids, spans = encode(transcript, tokenizer, options)
        sequences.append(ids)
        if number == 0 and spans:
            check_known_tokens(ids[: spans[0][0]], tokenizer)
        for span, (first, last) in zip(transcript.actions, spans, strict=True):
            if first == 0 and last > 0:
                raise TrajectoryError(
                    f"the action of message {span.message} of {key} begins the transcript: no "
                    "model gives its first token a probability; give a prompt before it"
                )
            pieces.append((span.message, number, range(first - 1, last - 1), ids[first:last]))
    return _steps(key, passed, sequences, pieces, context)


def _whole(transcript: Transcript, tokenizer, options) -> tuple[list[int], list[tuple[int, int]]]:
    ids, offsets = _encode(transcript.text, tokenizer, options)
    # All of the text is tokenised, so no span is beyond its end but for characters without a token.
    offsets.append((len(transcript.text), len(transcript.text)))
    return ids, token_spans(offsets, transcript.actions)


def _cut(transcript: Transcript, tokenizer, options) -> tuple[list[int], list[tuple[int, int]]]:
    ids: list[int] = []
    spans = []
    for text, span in transcript.pieces():
        more = options if not ids else options | {"add_special_tokens": False}
        new, _ = _encode(text, tokenizer, more)
        if span is not None:
            spans.append((len(ids), len(ids) + len(new)))
        ids += new
    # An empty action has no piece of its own.
    full = iter(spans)
    return ids, [next(full) if span.start < span.end else (0, 0) for span in transcript.actions]


def _encode(text: str, tokenizer, options) -> tuple[list[int], list[tuple[int, int]]]:
    """Token ids, and of each the characters [start, end) of the text, parted at every `BREAK`."""
    ids, offsets, at = [], [], 0
    text = text.encode("utf-8", "replace").decode("utf-8")  # no half of a surrogate pair
    for part in text.split(BREAK):
        encoded = tokenizer(part, return_offsets_mapping=True, **options)
        ids += encoded["input_ids"]
        offsets += [(at + start, at + end) for start, end in encoded["offset_mapping"]]
        at += len(part) + len(BREAK)
        options = options | {"add_special_tokens": False}
    return list(ids), offsets


def _steps(key, passed, sequences, pieces: Sequence[tuple[int, int, range, Any]], context) -> Steps:
    """The steps, without the tokens past the context; a step without tokens is missing.

    pieces: for each step the number of its message and of its sequence, the positions at which its
        tokens were chosen, and the tokens.
    """
    if context < 1:
        raise ValueError(f"context is {context}: expected at least 1 token")
    missing, kept = [], []
    for _, sequence, where, tokens in pieces:
        past = bool(tokens) and where[-1] >= context
        missing.append("context" if past else "" if tokens else "empty")
        kept.append((sequence, () if past else where, () if past else tokens))
    join = {"dtype": np.int64}
    reading = Reading(
        [sequence[:context] for sequence in sequences],
        np.array([number for number, where, _ in kept for _ in where], **join),
        np.array([at for _, where, _ in kept for at in where], **join),
        np.array([token for *_, tokens in kept for token in tokens], **join),
    )
    messages = tuple(message for message, *_ in pieces)
    counts = tuple(len(tokens) for *_, tokens in kept)
    return Steps(key, passed, messages, counts, tuple(missing), reading)


def _decode(tokenizer, ids) -> str:
    return tokenizer.decode(
        list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
    )


def check_same_tokens(policy, reference) -> None:
    """Raise ValueError, naming the difference, unless two tokenizers mean the same by their ids.

    Tokens that only one of them has are allowed, as post-training adds some; `check_known` refuses
    them where a trajectory holds them.
    """
    ours, theirs = (
        {number: token for token, number in tokenizer.get_vocab().items()}
        for tokenizer in (policy, reference)
    )
    differing = sorted(number for number in ours.keys() & theirs if ours[number] != theirs[number])
    if differing:
        first = differing[0]
        raise ValueError(
            f"policy and reference do not share their tokens: {len(differing)} ids differ, first "
            f"{first}, which is {ours[first]!r} to the policy and {theirs[first]!r} to the "
            "reference. A log ratio needs the same tokens: take a reference of the same family"
        )
    text = 'The 3 quick-brown foxes\n\n  jumped: {"x": [1, 2.5]} über ça 狐\t!'
    ids = [
        tokenizer(text, add_special_tokens=False)["input_ids"] for tokenizer in (policy, reference)
    ]
    if ids[0] != ids[1]:
        at = next((i for i, (a, b) in enumerate(zip(*ids, strict=False)) if a != b), 0)
        raise ValueError(
            f"policy and reference cut the same text into different tokens, from token {at} of "
            f"{text!r} on: {ids[0][at : at + 3]} and {ids[1][at : at + 3]}. A log ratio needs "
            "the same tokens: take a reference of the same family"
        )


def check_known(steps: Steps, reference) -> None:
    """Raise ValueError if the trajectory holds a token that the reference's tokenizer lacks."""
    known = len(reference)
    for sequence in (*steps.reading.sequences, steps.reading.tokens):
        if len(sequence) and max(sequence) >= known:
            raise ValueError(
                f"{steps.key} holds token {max(sequence)}, and the reference's tokenizer has only "
                f"{known}: policy and reference do not share this trajectory's tokens"
            )
