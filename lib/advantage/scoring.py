"""Attempts of files scored by a policy and its reference, into a folder that can be resumed."""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from lib.advantage import attempts as attempt_files
from lib.advantage import references
from lib.advantage.forward_pass import token_scores
from lib.advantage.scores import Scored
from lib.advantage.store import (
    SCHEMA,
    as_lines,
    digest,
    newest_lines,
    read_scores,
    revision,
    trajectory_table,
)
from lib.advantage.tokenize import (
    Seams,
    Steps,
    check_known,
    check_same_tokens,
    read_stored,
    read_text,
)
from lib.generation import context_limit, open_model
from lib.generation.int8 import check_not_quantised
from lib.generation.logprobs import TOKENS_AT_ONCE, TOP_K
from lib.rollouts.policies.local import fingerprint
from lib.rollouts.prompts import PromptFormat
from lib.rollouts.prompts.word_language import WordLanguage
from lib.trajectories import manifest, storage
from lib.trajectories.jsonl import LineWriter
from lib.trajectories.schema import Rollout

AT_LEAST = 16_384
"""Tokens of the trajectories that are read before their scores are written."""


def score(
    trajectories: Iterable[str | Path],
    policy: str | Path,
    reference: str | Path | None,
    out: str | Path,
    *,
    prompt_format: PromptFormat | Callable[[Any], PromptFormat] | None = None,
    seams: Seams = "refuse",
    context: int | None = None,
    top_k: int = TOP_K,
    alpha: float = 0.0,
    merge: references.Method | None = None,
    density: float | None = None,
    seed: int | None = None,
    tokens_at_once: int = TOKENS_AT_ONCE,
    gpu: bool = False,
) -> Scored | None:
    """Score the steps of attempts into a folder; call it again to go on after an interruption.

    The folder gets a line for each trajectory (`lib.advantage.store`) and, at the end, scores.csv.
    Started by torchrun or accelerate launch, each process takes its share of the attempts.

    trajectories : files of rollouts (.jsonl), or folders of `rollouts.collect`.
    policy, reference : folders of safetensors, .gguf files, or names of packaged models. A
        reference of None gives log-probs and confidence alone.
    prompt_format : None reads the token ids that were sampled. Otherwise the text is tokenised
        again, as this prompt format writes it: a prompt format, or a function that makes one from
        the policy's tokenizer, such as `ChatTemplate`.
    seams, context : as in `read_text`; a context of None is the longest that both models read.
    top_k : likeliest tokens whose mean log-prob confidence is made of.
    alpha, merge, density, seed : an alpha above 0 moves the reference towards the policy, see
        `references.merge`; merge is its method (linear), density (0.2) is for "ties" and "dare",
        seed (0) for "dare". A value that would be ignored is refused.
    tokens_at_once : of a forward pass; fewer take less memory.

    Returns all scores of the folder, and None in a process that is not the main one. Raises
    ValueError for what does not fit, before a model is loaded where that can be known,
    FileNotFoundError for files that are not there, and CollectionError if the folder was begun with
    other settings.
    """
    paths, out = [Path(path) for path in trajectories], Path(out)
    storage.check_folder(out)
    merging = _merging(reference, alpha, merge=merge, density=density, seed=seed)
    if prompt_format is None and seams != "refuse":
        raise ValueError(
            f"seams is {seams!r} and prompt_format None: token ids that were sampled have no "
            "seams; give a prompt_format, or leave seams out"
        )
    if gpu and not torch.cuda.is_available():
        raise ValueError("gpu: torch finds no GPU here: leave it out, or mend that")

    from accelerate import PartialState

    rollouts = attempt_files.read_attempts(paths)
    state = PartialState(cpu=not gpu, timeout=timedelta(days=365))
    place = {"device": str(state.device), "alone": state.local_main_process_first}
    ours, tokenizer = open_model(policy, **place)
    theirs, other_tokenizer = None, None
    if reference is not None:
        theirs, other_tokenizer = open_model(reference, **place)
        check_same_tokens(tokenizer, other_tokenizer)
        if alpha:
            theirs = _merged(ours, theirs, alpha, **merging)
    models = [model for model in (ours, theirs) if model is not None]
    limits = [limit for limit in (context, *map(context_limit, models)) if limit]
    if not limits:
        raise ValueError("context is None, and the models give no length of context: expected one")
    context = min(limits)
    if prompt_format is None:
        attempt_files.check_sampled_by(paths, tokenizer)
    else:
        if callable(prompt_format):
            prompt_format = prompt_format(tokenizer)
        for path in paths:
            attempt_files.check_prompt_format(path, prompt_format)
        if isinstance(prompt_format, WordLanguage):
            attempt_files.check_words(rollouts, tokenizer)

    def read(rollout: Rollout) -> Steps:
        if prompt_format is None:
            steps = read_stored(rollout, tokenizer, context)
        else:
            steps = read_text(rollout, tokenizer, prompt_format, context, seams=seams)
        if other_tokenizer is not None:
            check_known(steps, other_tokenizer)
        return steps

    settings = {"context": context, "tokens": "stored" if prompt_format is None else "text"}
    settings |= _fingerprints(ours, theirs) | _merge_settings(alpha, **merging)
    if prompt_format is not None:
        settings |= {"seams": seams, **prompt_format.settings}
    score_into(
        out,
        ours,
        theirs,
        rollouts,
        read,
        settings,
        shard=(state.process_index, state.num_processes),
        top_k=top_k,
        tokens_at_once=tokens_at_once,
        progress=None if state.is_main_process else False,
    )
    state.wait_for_everyone()
    scored = None
    if state.is_main_process:
        scored = read_scores(out)
        trajectory_table(scored).to_csv(out / "scores.csv", index=False)
    state.destroy_process_group()
    return scored


def score_into(
    out: str | Path,
    policy,
    reference,
    rollouts: Sequence[Rollout],
    read: Callable[[Rollout], Steps],
    settings: Mapping[str, Any],
    *,
    shard: tuple[int, int] = (0, 1),
    top_k: int = TOP_K,
    tokens_at_once: int = TOKENS_AT_ONCE,
    progress: bool | None = None,
) -> None:
    """Score the rollouts that the folder does not hold yet; each is written as soon as scored.

    policy, reference : models, as in `token_scores`.
    rollouts : each key once. A rollout that the folder holds with other tokens, text or outcome
        (see `store.digest`), or of an older version that kept no digest, is scored again.
    read : makes Steps of a rollout; what it raises ends the run, and a rerun goes on there.
    settings : of both models and of `read`, for the manifest.
    shard : (i, m) takes every m-th rollout from the i-th on; shards may run at the same time.
    progress : a bar; None shows it on a terminal only.

    Raises CollectionError if the folder was begun with another setting or has lost its manifest,
    and ValueError if a key comes twice.
    """
    for model in (policy, reference):
        if model is not None:
            check_not_quantised(model, "scoring")
    out, (part, parts) = Path(out), shard
    for key, times in Counter(rollout.key for rollout in rollouts).items():
        if times > 1:
            raise ValueError(f"{key} is there {times} times: give each attempt once")
    if rollouts:
        read(rollouts[0])  # what cannot be read with these settings leaves no folder of them behind
    path, there = out / "manifest.json", sorted(out.glob("scores-*.jsonl"))
    if there and not path.exists():
        raise manifest.CollectionError(
            f"{path} is missing beside {there[0].name}, so nothing tells which models gave those "
            "scores: put it back, or choose another folder"
        )
    manifest.agree(path, {"scores": SCHEMA, "top_k": top_k, **settings})
    with LineWriter(out / f"scores-{part:03}-of-{parts:03}.jsonl") as file:
        done = {
            key: (line.get("digest"), revision(line)) for key, line in newest_lines(out).items()
        }
        mine = rollouts[part::parts]
        digests = {rollout.key: digest(rollout) for rollout in mine}
        work = [
            rollout
            for rollout in mine
            if done.get(rollout.key, (None, 0))[0] != digests[rollout.key]
        ]
        hidden = None if progress is None else not progress
        options = {"top_k": top_k, "tokens_at_once": tokens_at_once}
        with tqdm(initial=len(mine) - len(work), total=len(mine), disable=hidden) as bar:
            for batch in _batches(map(read, work), max(AT_LEAST, 4 * tokens_at_once)):
                scored = token_scores(policy, reference, batch, **options)
                for key, line in zip(scored.keys, as_lines(scored), strict=True):
                    number = done[key][1] + 1 if key in done else 0
                    line |= {"digest": digests[key], "revision": number}
                    file.write_line(json.dumps(line).encode("ascii") + b"\n")
                bar.update(len(batch))


def _batches(trajectories: Iterator[Steps], tokens: int) -> Iterator[list[Steps]]:
    """The trajectories in batches of so many tokens, or a few more."""
    batch, count = [], 0
    for steps in trajectories:
        batch.append(steps)
        count += sum(map(len, steps.reading.sequences))
        if count >= tokens:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def _merging(reference, alpha, *, merge, density, seed) -> dict[str, Any]:
    """The options of merging, with defaults; raises ValueError for an option without effect."""
    given = {"alpha": alpha or None, "merge": merge, "density": density, "seed": seed}
    for names, used, needed in (
        (tuple(given), reference is not None, "a `reference`"),
        (("merge", "density", "seed"), alpha, "an `alpha` above 0"),
        (("density",), merge in ("ties", "dare"), "`merge` ties or dare"),
        (("seed",), merge == "dare", "`merge` dare"),
    ):
        ignored = [name for name in names if given[name] is not None]
        if ignored and not used:
            raise ValueError(
                f"`{ignored[0]}` is only for scoring with {needed}, and would be ignored: add "
                "that, or leave it out"
            )
    return {
        "merge": merge or "linear",
        "density": 0.2 if density is None else density,
        "seed": seed or 0,
    }


def _merged(policy, reference, alpha, *, merge, density, seed):
    generator = torch.Generator().manual_seed(seed)
    options = {"method": merge, "density": density, "generator": generator}
    return references.merge(policy, reference, alpha, **options)


def _merge_settings(alpha, *, merge, density, seed) -> dict[str, Any]:
    if not alpha:
        return {}
    settings = {"alpha": alpha, "merge": merge}
    if merge != "linear":
        settings["merge_density"] = density
    if merge == "dare":
        settings["merge_seed"] = seed
    return settings


def _fingerprints(policy, reference) -> dict[str, str | None]:
    models = {"policy": policy, "reference": reference}
    prints = {name: None if m is None else fingerprint(m) for name, m in models.items()}
    if prints["policy"] == prints["reference"]:
        warnings.warn(
            "policy and reference are the same weights: every progress advantage is 0",
            stacklevel=3,
        )
    return prints
