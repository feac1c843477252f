"""The attempts that are to be scored: read from files, and checked against what is to read them."""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from lib.advantage.store import digest
from lib.rollouts.policies.local import tokenizer_digest
from lib.rollouts.prompts import PromptFormat, word_language
from lib.trajectories import jsonl, manifest, store
from lib.trajectories.schema import Rollout


def read_attempts(paths: Sequence[Path]) -> list[Rollout]:
    """The attempts of files of rollouts and of folders of `collect`, each once.

    Raises ValueError for two different attempts under one key, and for a path without rollouts;
    warns of attempts that come several times.
    """
    by_key, repeats = {}, 0
    for path in paths:
        read = store.read_collection if path.is_dir() else jsonl.read_rollouts
        empty = True
        for attempt in read(path):
            empty = False
            first, source = by_key.setdefault(attempt.key, (attempt, path))
            repeats += source != path
            if first is not attempt and digest(first) != digest(attempt):
                raise ValueError(
                    f"{attempt.key} is in {source} and, another one, in {path}: give each its own "
                    "folder of scores, or collect them under another pair or arm"
                )
        if empty:
            raise ValueError(f"{path} holds no rollouts: give a file or folder of `collect`")
    if repeats:
        warnings.warn(f"{repeats} attempts come twice and alike: each counts once", stacklevel=3)
    return [attempt for attempt, _ in by_key.values()]


def check_sampled_by(paths: Iterable[Path], tokenizer) -> None:
    """Raise ValueError if the manifest of a collection names another tokenizer than this one."""
    ours = tokenizer_digest(tokenizer)
    for path in paths:
        then = _settings(path).get("policy.tokenizer")
        if then not in (None, ours):
            raise ValueError(
                f"the token ids of {path} are from another tokenizer than that of the policy, to "
                "which they mean other words: name a model of the kind that sampled them, or give "
                "the prompt format that the text was written in"
            )


def check_prompt_format(path: Path, prompt_format: PromptFormat) -> None:
    """Raise ValueError if a collection was made with another prompt format than this one.

    Warns where only a setting of the format differs: the cue, the wording, thinking.
    """
    then, ours = _settings(path), prompt_format.settings
    name = _format_name(ours["dialect"])
    theirs = _format_name(then.get("policy.dialect", name))
    if theirs != name:
        raise ValueError(
            f"{path} was collected with the prompt format {theirs}, and would be read in {name}, a "
            f"text that no attempt there has seen: choose the prompt format {theirs}"
        )
    for setting in ("cue", "wording", "thinking"):
        before, now = then.get(f"policy.{setting}"), ours.get(setting)
        if None not in (before, now) and before != now:
            warnings.warn(
                f"{path} was collected with {setting} = {before!r} of the prompt format, and is "
                f"read with {now!r}: the scores are of prompts that differ in it",
                stacklevel=3,
            )


def check_words(attempts: Iterable[Rollout], tokenizer) -> None:
    """Raise ValueError for a word that is not a token of a model of the word language."""
    texts = (word_language.transcript(attempt.messages) for attempt in attempts)
    words = dict.fromkeys(word for text in texts for word in text.split())
    try:
        word_language.check_vocabulary(tokenizer, words)
    except ValueError as error:
        raise ValueError(f"the prompt format words: {error}") from error


def _settings(path: Path) -> dict:
    """The settings of the collection that a file or folder belongs to."""
    return manifest.settings(path if path.is_dir() else path.parent)


def _format_name(dialect: str) -> str:
    """The prompt format that a manifest names: a server's chat is one that a template writes."""
    return "chat" if dialect in ("chat template", "server chat") else dialect
