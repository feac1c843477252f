"""Token-level generation with causal language models of transformers, and log-probs of tokens.

The engine samples many rollouts at once. It computes a prompt once however many rollouts share it,
and in the next turn only what is new in each context. The random numbers of a rollout follow from
its key, so that its tokens do not depend on what else is in the batch, but for ties by rounding,
which `Completion.ties` counts.

>>> from transformers import LlamaConfig, LlamaForCausalLM
>>> from lib.generation import Engine, Sampling  # and `load`, to load a model
>>> from lib.trajectories.schema import RolloutKey
>>> config = LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
...                      num_attention_heads=2, max_position_embeddings=32)
>>> keys = [RolloutKey(seed=0, task="t", attempt=i) for i in range(3)]
>>> batch = Engine(LlamaForCausalLM(config)).open(keys)
>>> prompt, sampling = [1, 5, 2], Sampling(temperature=0.7, max_new_tokens=4)
>>> replies = batch.reply([0, 1, 2], [prompt] * 3, sampling)
>>> later = batch.reply([1], [prompt + replies[1].tokens + [3]], sampling)  # row 1 alone goes on
>>> len(later[0].tokens), later[0].reason
(4, 'length')
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "engine": ["Batch", "Completion", "Engine", "context_limit"],
        "models": ["limit_threads", "load", "open_model"],
        "sampling": ["Sampling"],
    },
)
