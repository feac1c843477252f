"""The decode engine: batched sampling from a transformers causal language model.

    engine = Engine(*load("folder"))
    batch = engine.open([RolloutKey(seed=0, task="t", attempt=i) for i in range(32)])
    sampling = Sampling(temperature=0.7, max_new_tokens=64, stop=("User:",))
    replies = batch.reply(range(32), [prompt] * 32, sampling)

The prompt is computed once and attended to once. For a next turn, call ``reply`` again with the
rows that go on and their whole contexts; only what is new in them is computed.
"""

from lib.generation.engine import Batch, Completion, Engine
from lib.generation.loading import load
from lib.generation.sampling import RolloutKey, Sampling

__all__ = ["Batch", "Completion", "Engine", "RolloutKey", "Sampling", "load"]
