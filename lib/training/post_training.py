"""Post-training from a model folder to a model folder: the whole of ``python -m lib train``."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from lib.envs import Environment
from lib.generation import open_model
from lib.rollouts.policies.opening import check_words
from lib.rollouts.prompts import PromptFormat, WordLanguage
from lib.training import checkpoints
from lib.training.loop import train_policy
from lib.training.settings import Settings
from lib.training.temperature_schedules import FixedTemperature, TemperatureSchedule
from lib.trajectories import storage


def train(
    model: str | Path | tuple[Any, Any],
    environment: Environment,
    out: str | Path,
    *,
    prompt_format: PromptFormat | Callable[[Any], PromptFormat],
    tasks: Sequence[str] | None = None,
    settings: Settings | None = None,
    schedule: TemperatureSchedule | None = None,
    lora_rank: int | None = None,
    device: str = "cpu",
    checkpoint_every: float = 60.0,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Post-train a model, save it with its tokenizer as the folder ``out/model``; the step log.

    A call that was interrupted can be repeated: it goes on from the last checkpoint in `out` and
    ends with the weights that it would have had without the interruption.

    Parameters
    ----------
    model : what ``lib.generation.open_model`` opens: a folder, a GGUF file or a packaged name; or
        a model of transformers and its tokenizer. A loaded model is trained in place.
    prompt_format : how the model is prompted, for example ``WordLanguage()`` for the lab's models,
        or a function that makes a prompt format from the tokenizer, such as ``ChatTemplate``.
    tasks : the task pool; by default all tasks of the environment.
    settings : hyperparameters; by default ``defaults("grpo")``.
    schedule : the temperature of each group; by default the settings' `t_ref` for all.
    lora_rank : train adapters of this rank in place of all weights. Needs peft.
    device : where a model that is opened here runs, such as "cpu" or "cuda".
    checkpoint_every : seconds.
    progress : a progress bar; None shows it on a terminal only.

    Raises
    ------
    FileNotFoundError
        if there is no model at the path.
    ModuleNotFoundError
        if peft is needed and not installed.
    ValueError
        if the model or the run's folder is damaged, the model cannot read the environment's words,
        or the folder was begun with other settings, as ``lib.training.loop.train_policy`` says.
    Diverged
        if weights or gradients grow out of bounds.
    """
    out, settings = Path(out), settings or Settings()
    storage.check_folder(out)
    schedule = schedule or FixedTemperature(settings.t_ref)
    if isinstance(model, str | Path):
        model, tokenizer = open_model(model, device=device)
    else:
        model, tokenizer = model
    if isinstance(prompt_format, type) or not hasattr(prompt_format, "prompt"):
        prompt_format = prompt_format(tokenizer)
    if type(prompt_format) is WordLanguage:  # a subclass may have a vocabulary of its own
        check_words(environment, tokenizer)
    if lora_rank is not None:
        model = add_lora(model, lora_rank, settings.seed)
    log = train_policy(
        model,
        tokenizer,
        prompt_format,
        environment,
        environment.tasks() if tasks is None else tasks,
        settings,
        schedule,
        out,
        checkpoint_every=checkpoint_every,
        progress=progress,
    )
    with checkpoints.alone(out):
        _save(merge_lora(model), tokenizer, out)
    return log


def add_lora(model, rank: int, seed: int = 0):
    """The model with a trainable adapter on every linear layer but its head; the rest is frozen.

    rank: of the adapters, whose output is scaled by 2 (alpha = 2 rank). There is no dropout, since
    the update must compute the log-probs that were sampled.  seed: of the adapters' first values,
    with which the model still computes what it did without them.

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


def merge_lora(model):
    """The trained model as a plain one, an adapter added to the weights that it adapts."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def _save(model, tokenizer, out: Path) -> None:
    """Save the folder `model`, whole or not at all; the next run removes what a kill leaves."""
    with storage.replacing_folder(out / "model") as part:
        for saved in (model, tokenizer):
            saved.save_pretrained(part)
