"""Speed, memory and exactness of scoring action tokens, beside a log-softmax of whole transcripts.

    python tests/bench/scoring.py                            # lab transcripts alone, half a minute
    python tests/bench/scoring.py --model GEMMA.gguf         # and gemma-3-270m, 10 minutes
    python tests/bench/scoring.py --model GEMMA.gguf --long  # and 16,384 tokens of it

Every ratio is of measurements taken in turns in this one run; each is the best of several. Peak
memory is of a process of its own, model and libraries included.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np
import pandas as pd
import torch

from lib.advantage import read_stored, token_scores
from lib.generation import load
from lib.generation.logprobs import TOP_K, Reading, score_tokens
from lib.lab import plan
from lib.lab.evaluation import open_policy
from lib.rollouts.episodes import roll_out
from lib.trajectories.schema import RolloutKey

TOKENS, LONG = 2048, 16_384
MODELS = plan.DATA / "models"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="gemma-3-270m: a safetensors folder or a .gguf file")
    parser.add_argument("--cache", default="build/models", help="folder for the converted GGUF")
    parser.add_argument("--long", action="store_true", help="16,384 tokens, too")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rows = lab_transcripts(options.repeats)
    if options.model:
        rows += large_vocabulary(options)
    print(pd.DataFrame(rows, columns=["", "measured", "must reach"]).to_string(index=False))


def lab_transcripts(repeats):
    """256 rollouts of mixed length, both models; all together, and one at a time."""
    torch.set_num_threads(1)
    policy = open_policy(MODELS / "sokoban-0.25M-grpo-fixed-0.0003-0", "sokoban", 1.0)
    reference = load(MODELS / "sokoban-0.25M-base-85")[0]
    world = plan.environment("sokoban", "test", 16)
    keys = [RolloutKey(0, task, attempt) for task in world.tasks() for attempt in range(16)]
    rollouts = list(roll_out(policy.start(keys), world, keys, "lab", "post"))
    tokenizer, model = policy.engine.tokenizer, policy.engine.model
    steps = [read_stored(one, tokenizer, context=256) for one in rollouts]
    lengths = [len(sequence) for one in steps for sequence in one.reading.sequences]

    def together():
        return token_scores(model, reference, steps)

    def alone():
        return [token_scores(model, reference, [one]) for one in steps]

    scored = together()
    stored = np.array([v for one in rollouts for turn in one.turns for v in turn.logprobs_t1])
    apart = np.concatenate([one.policy for one in alone()])
    seconds = in_turns(2 * repeats, together, alone)
    distinct = len({str(one.reading.sequences) for one in steps})
    size = (
        f"{len(steps)} transcripts ({distinct} distinct, {min(lengths)} to {max(lengths)} tokens)"
    )
    return [
        (f"{size}: together, s", seconds[0], ""),
        (f"{size}: one at a time, s", seconds[1], ""),
        ("together over one at a time", seconds[1] / seconds[0], 5),
        ("largest difference between the two", np.abs(apart - scored.policy).max(), "1e-4"),
        ("largest difference to the decode engine", np.abs(stored - scored.policy).max(), "1e-4"),
    ]


def in_turns(repeats, *works):
    """The least CPU time of several runs of each, in seconds; a busy machine stretches others."""
    seconds = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, seconds, strict=True):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in seconds]


def large_vocabulary(options):
    """2,048 tokens of which a third are actions: ours, and a log-softmax of all."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(_convert, (options.model, options.cache))
    seconds, peaks, values = {}, {}, {}
    for way in ["ours", "whole"] * options.repeats:
        taken, peak, values[way] = alone(way, TOKENS, options)
        seconds[way] = min(taken, seconds.get(way, taken))
        peaks[way] = min(peak, peaks.get(way, peak))
    rows = [(f"{TOKENS} tokens, {way}, s", taken, "") for way, taken in seconds.items()]
    rows += [(f"{TOKENS} tokens, {way}, peak GB", peak, "") for way, peak in peaks.items()]
    rows += [
        ("whole over ours, time", seconds["whole"] / seconds["ours"], 1.6),
        ("whole over ours, peak memory", peaks["whole"] / peaks["ours"], 3),
        ("largest difference", np.abs(values["ours"] - values["whole"]).max(), "1e-4"),
    ]
    if options.long:
        taken, peak, _ = alone("ours", LONG, options)
        rows += [(f"{LONG} tokens, s", taken, ""), (f"{LONG} tokens, peak GB", peak, "< 4")]
    return rows


def _convert(path, cache):
    """Converting a GGUF, once, takes more memory than scoring: not in a measured process."""
    load(path, cache=cache)


def alone(way, tokens, options):
    """Seconds, peak memory in GB, and log-probs beside top-k means [2, actions]; in a process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(
            {"ours": by_actions, "whole": whole}[way],
            (tokens, options.model, options.cache, options.threads),
        )


def by_actions(tokens, path, cache, threads):
    torch.set_num_threads(threads)
    model = load(path, cache=cache)[0]
    (sequence, positions), start = transcript(model, tokens), time.perf_counter()
    chosen = np.array(sequence)[positions + 1]
    reading = Reading([sequence], np.zeros_like(positions), positions, chosen)
    [found] = score_tokens(model, [reading])
    return time.perf_counter() - start, peak_memory(), np.stack(found)


@torch.no_grad()
def whole(tokens, path, cache, threads):
    torch.set_num_threads(threads)
    model = load(path, cache=cache)[0]
    (sequence, positions), start = transcript(model, tokens), time.perf_counter()
    ids = torch.tensor([sequence])
    every = model(ids, use_cache=False).logits[0].log_softmax(-1)
    picked = every[:-1].gather(1, ids[0, 1:, None])[positions, 0]
    top = every[positions].topk(TOP_K)[0].mean(-1)
    return time.perf_counter() - start, peak_memory(), np.stack([picked.numpy(), top.numpy()])


def transcript(model, tokens):
    """Random tokens; turns of 128 prompt and 64 action tokens; where the actions were chosen."""
    vocabulary = model.get_input_embeddings().weight.shape[0]
    sequence = np.random.default_rng(0).integers(5, vocabulary, tokens).tolist()
    places = np.arange(tokens - 1)
    return sequence, places[(places + 1) % 192 >= 128]


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
