"""LoRA adapters for models too large to train whole, by peft."""

import torch


def add_lora(model, rank: int, seed: int = 0):
    """The model with a trainable adapter on every linear layer but its head; the rest is frozen.

    rank: of the adapters, whose output is scaled by 2 (alpha = 2 rank). There is no dropout, since
    log-probs of the update must be those sampled.  seed: of their first values, which change
    nothing yet.

    Raises ModuleNotFoundError if peft is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise ModuleNotFoundError("training with LoRA needs a package: pip install peft") from error
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=0.0,
        target_modules="all-linear",
    )
    with torch.random.fork_rng():  # peft draws from torch's own generator
        torch.manual_seed(seed)
        return get_peft_model(model, config)


def finished(model):
    """The trained model as a plain one, an adapter added to the weights below it."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
