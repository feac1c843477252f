"""What sets all of a server's sampling, by the kind of the server, and limits of a policy."""

import json
from typing import Any, Literal

Kind = Literal["vllm", "llama.cpp", "transformers"]


def sampling_fields(
    kind: Kind,
    *,
    temperature: float,
    max_new_tokens: int,
    top_p: float,
    top_k: int,
    repetition_penalty: float,
) -> dict[str, Any]:
    """The fields of a request that set all of a server's sampling, by the kind of the server.

    vLLM and llama.cpp have their own names for what OpenAI's interface lacks. `transformers serve`
    takes a whole generation_config; without it, it may not sample at all.

    Raises ValueError for an unknown kind.
    """
    known = {"temperature": temperature, "top_p": top_p, "max_tokens": max_new_tokens}
    if kind == "transformers":
        config = {
            "do_sample": temperature > 0,
            "temperature": temperature if temperature > 0 else 1.0,
            "top_p": top_p,
            "top_k": top_k,
            "min_p": 0.0,
            "typical_p": 1.0,
            "epsilon_cutoff": 0.0,
            "eta_cutoff": 0.0,
            "repetition_penalty": repetition_penalty,
            "no_repeat_ngram_size": 0,
            "num_beams": 1,
            "max_new_tokens": max_new_tokens,
        }
        return known | {"generation_config": json.dumps(config)}
    neutral = {"min_p": 0.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    known |= {"top_k": top_k or -1, **neutral}
    if kind == "vllm":
        return known | {"repetition_penalty": repetition_penalty}
    if kind == "llama.cpp":
        return known | {
            "repeat_penalty": repetition_penalty,
            "repeat_last_n": -1,
            "mirostat": 0,
            "dynatemp_range": 0.0,
            # By default the temperature comes last, so that top_k and top_p keep other tokens.
            "samplers": ["penalties", "temperature", "top_k", "top_p"],
        }
    raise ValueError(f"kind must be 'vllm', 'llama.cpp' or 'transformers', got {kind!r}")


def check_limits(concurrency, timeout, retries, first_wait, longest_wait) -> None:
    checks = [
        ("concurrency", concurrency, concurrency >= 1, "at least 1"),
        ("timeout", timeout, 0 < timeout < float("inf"), "seconds, above 0"),
        ("retries", retries, retries >= 0, "at least 0; 0 tries once"),
        ("first_wait", first_wait, 0 <= first_wait < float("inf"), "seconds, at least 0"),
        ("longest_wait", longest_wait, 0 <= longest_wait < float("inf"), "seconds, at least 0"),
    ]
    for name, value, good, expected in checks:
        if not good:
            raise ValueError(f"ServerPolicy.{name} is {value!r}: it must be {expected}")
