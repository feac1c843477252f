"""The decode engine: batched sampling from a transformers causal language model.

    engine = Engine(*load("folder"))
    batch = engine.open([RolloutKey(seed=0, task="t", attempt=i) for i in range(32)])
    sampling = Sampling(temperature=0.7, max_new_tokens=64, stop=("User:",))
    replies = batch.reply(range(32), [prompt] * 32, sampling)

The prompt is computed once and attended to once. For a next turn, call ``reply`` again with the
rows that go on and their whole contexts; only what is new in them is computed.
"""

from importlib import import_module

_HOMES = {
    "Batch": "engine",
    "Completion": "engine",
    "Engine": "engine",
    "Sampling": "sampling",
    "load": "models",
    "limit_threads": "models",
    "open_model": "packaged_models",
}
__all__ = list(_HOMES)


def __getattr__(name: str):
    """Import what needs torch when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
