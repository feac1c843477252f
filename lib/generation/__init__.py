"""The decode engine: batched sampling from a transformers causal language model."""

from lib.generation.engine import Batch, Completion, Engine
from lib.generation.loading import load
from lib.generation.sampling import RolloutKey, Sampling

__all__ = ["Batch", "Completion", "Engine", "RolloutKey", "Sampling", "load"]
