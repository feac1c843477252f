"""Speed, memory and exactness of the decode engine beside transformers' own ``generate``.

    python tests/bench/generation.py                          # the small model alone, 1 minute
    python tests/bench/generation.py --model SMOLLM2.gguf     # and SmolLM2-135M, 5 minutes

Every ratio is of two measurements taken in turns in this one run; each is the best of several.
Peak memory is of a process of its own. On a busy machine the ratios hold better than the rates.
"""

import argparse
import multiprocessing
import resource
import time

import pandas as pd
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from lib.generation import Engine, Sampling, load
from lib.generation.kv_cache import RereadCache, SharedPrefixCache
from lib.generation.model_cache import ModelCache
from lib.generation.sampling import gumbel
from lib.trajectories.schema import RolloutKey

PROMPT, ROWS, NEW = 768, 32, 32
EPISODES, TURNS, SAMPLED, OBSERVED, FIRST = 256, 5, 8, 8, 45


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="SmolLM2-135M: a safetensors folder or a .gguf file")
    parser.add_argument("--cache", default="build/models", help="folder for the converted GGUF")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = episodes(options.repeats) + caches(options.repeats)
    if options.model:
        torch.set_num_threads(2)
        model = load(options.model, cache=options.cache)[0]
        rows += exactness(model) + decoding(model, options.repeats) + long_prompt(options, model)
    rows += noise(options.repeats)
    print(pd.DataFrame(rows, columns=["", "measured", "must reach", "goal"]).to_string(index=False))


def best(repeats, *works):
    """The shortest of several runs of each, in seconds; they take turns."""
    seconds = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, seconds, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in seconds]


def random_tokens(number, vocabulary, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, vocabulary, (number,), generator=generator).tolist()


def attempts(number):
    return [RolloutKey(0, "bench", attempt) for attempt in range(number)]


def sampling(new):
    return Sampling(temperature=1.0, max_new_tokens=new)


def hugging_face(model, contexts, new, copies=1):
    """What ``generate`` appends to these contexts, which are equally long."""
    tokens = torch.tensor(contexts)
    out = model.generate(
        tokens,
        attention_mask=torch.ones_like(tokens),
        do_sample=True,
        top_k=0,
        num_return_sequences=copies,
        max_new_tokens=new,
        min_new_tokens=new,
        pad_token_id=0,
    )
    return out[:, tokens.shape[1] :].tolist()


def episodes(repeats):
    """Five-turn episodes of a 0.3M-parameter model; ``generate`` re-reads the prompt each turn."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=264,
        hidden_size=64,
        intermediate_size=172,
        num_hidden_layers=5,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).eval()
    starts = [random_tokens(FIRST, 264, seed=i // 16) for i in range(EPISODES)]
    observations = [random_tokens(OBSERVED, 264, seed=100 + turn) for turn in range(TURNS)]

    def play(reply):
        contexts = [list(start) for start in starts]
        for seen in observations:
            for context, new in zip(contexts, reply(contexts), strict=True):
                context += new + seen

    def ours():
        batch, settings = Engine(model).open(attempts(EPISODES)), sampling(SAMPLED)
        play(lambda c: [reply.tokens for reply in batch.reply(range(EPISODES), c, settings)])

    def theirs():
        play(lambda contexts: hugging_face(model, contexts, SAMPLED))

    engine, generate = best(2 * repeats, ours, theirs)
    size = (
        f"{model.num_parameters() / 1e6:.2f}M parameters, {TURNS} turns, batch {EPISODES}, 1 thread"
    )
    return [
        (f"{size}: engine, episodes/s", EPISODES / engine, "", ""),
        (f"{size}: generate, episodes/s", EPISODES / generate, "", ""),
        (f"{size}: engine over generate", generate / engine, 2.2, 4),
    ]


def caches(repeats):
    """What each kind of KV cache costs, on one model; ``generate`` beside them.

    Rows of one prompt are the usual case; of the cache of transformers, rows whose contexts all
    differ in length are the worst, since it reads them apart.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=4096,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        eos_token_id=None,
    )
    model, keys, new = LlamaForCausalLM(config).eval(), attempts(16), 16
    same = [random_tokens(256, 4096)] * 16
    unlike = [random_tokens(256 - 8 * i, 4096, seed=i) for i in range(16)]
    kinds = {"shared prefix": SharedPrefixCache, "transformers": ModelCache, "none": RereadCache}

    def work(kind, contexts):
        engine = Engine(model)
        engine.new_cache = kind
        return lambda: engine.generate(contexts, keys, sampling(new))

    rows = []
    for name, contexts in (("one prompt", same), ("16 lengths", unlike)):
        works = [work(kind, contexts) for kind in kinds.values()]
        if contexts is same:
            works.append(lambda: hugging_face(model, same[:1], new, copies=16))
        taken = dict(zip([*kinds, "generate"], best(repeats, *works), strict=False))
        rows += [(f"cache, {name}: {kind}, s", seconds, "", "") for kind, seconds in taken.items()]
        for fast, slow in (("shared prefix", "transformers"), ("transformers", "none")):
            rows.append((f"cache, {name}: {fast} over {slow}", taken[slow] / taken[fast], "", ""))
    return rows


def exactness(model):
    """Log-probs against a full forward pass; the same tokens at every batch size, up to ties."""
    prompt, engine, keys = random_tokens(60, 40_000), Engine(model), attempts(64)
    replies = {
        size: [
            reply
            for low in range(0, 64, size)
            for reply in engine.generate(
                [prompt] * len(keys[low : low + size]), keys[low : low + size], sampling(new)
            )
        ]
        for size, new in [(64, 160), (7, 16), (1, 16)]
    }
    errors, differing = [], 0
    for reply in replies[64][:8]:
        with torch.no_grad():
            logits = model(torch.tensor([prompt + reply.tokens])).logits[0, len(prompt) - 1 : -1]
        tokens = torch.tensor(reply.tokens)[:, None]
        expected = logits.log_softmax(-1).gather(1, tokens)[:, 0]
        errors.append((expected - torch.tensor(reply.log_probs)).abs().max().item())
    for one_rollout in zip(*replies.values(), strict=True):
        tied = any(reply.ties for reply in one_rollout)
        differing += len({tuple(reply.tokens[:16]) for reply in one_rollout}) > 1 and not tied
    ties = sum(reply.ties for reply in replies[64])
    total = sum(len(reply.tokens) for reply in replies[64])
    return [
        ("largest error of a log-prob", max(errors), "1e-4", ""),
        ("rollouts of 64 that differ between batch 1, 7 and 64, untied", differing, 0, ""),
        (f"ties in {total:,} tokens, per 10,000", 1e4 * ties / total, 1, ""),
    ]


def decoding(model, repeats):
    """Decoding alone after a long shared prompt and after short ones: time of 32 tokens minus 1."""
    engine, keys = Engine(model), attempts(ROWS)
    long = [random_tokens(PROMPT, 40_000)] * ROWS
    short = [random_tokens(5, 40_000, seed=i) for i in range(ROWS)]
    works = [
        lambda contexts=contexts, new=new: engine.generate(contexts, keys, sampling(new))
        for contexts in (long, short)
        for new in (NEW, 1)
    ]
    long_all, long_one, short_all, short_one = best(2 * repeats, *works)
    tokens = ROWS * (NEW - 1)
    long_rate, short_rate = tokens / (long_all - long_one), tokens / (short_all - short_one)
    return [
        ("decoding after short prompts, tokens/s", short_rate, "", ""),
        ("decoding after a shared 768-token prompt, tokens/s", long_rate, "", ""),
        ("the second over the first", long_rate / short_rate, 0.9, ""),
    ]


def long_prompt(options, model):
    """A prompt of 768 tokens, 32 rollouts of 32; both engines in processes of their own."""
    tasks = ["engine", "generate"] * max(1, options.repeats // 2)
    seconds, peaks = {}, {}
    for task in tasks:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            taken, peak = pool.apply(rollouts_of, (task, options.model, options.cache))
        seconds[task] = min(taken, seconds.get(task, taken))
        peaks[task] = min(peak, peaks.get(task, peak))
    return [
        ("32 x 32 tokens after 768: engine, s", seconds["engine"], "", ""),
        ("32 x 32 tokens after 768: generate, s", seconds["generate"], "", ""),
        ("engine over generate", seconds["generate"] / seconds["engine"], 8, 12),
        ("peak memory of the engine, GB", peaks["engine"], f"< {peaks['generate']:.2f}", ""),
    ]


def rollouts_of(task, path, cache):
    """Seconds for the rollouts, and the process's peak memory in GB."""
    torch.set_num_threads(2)
    model = load(path, cache=cache)[0]

    def work(prompt, new):
        if task == "engine":
            Engine(model).generate([prompt] * ROWS, attempts(ROWS), sampling(new))
        else:
            hugging_face(model, [prompt], new, copies=ROWS)

    work(random_tokens(5, 40_000), 2)
    [taken] = best(1, lambda: work(random_tokens(PROMPT, 40_000), NEW))
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def noise(repeats):
    """What keyed noise costs a step."""
    keys = [key.philox() for key in attempts(ROWS)]
    [small], [large] = (
        best(5 * repeats, lambda w=width: gumbel(keys, range(ROWS), w))
        for width in (49_152, 262_144)
    )
    return [
        ("noise for 32 rows of 49,152 tokens, ms", 1e3 * small, "", ""),
        ("noise for 32 rows of 262,144 tokens, ms", 1e3 * large, "", ""),
    ]


if __name__ == "__main__":
    main()
