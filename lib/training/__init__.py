"""Post-training by GRPO and PPO, at a temperature for each group of rollouts.

Deviations from the paper (arXiv 2610.01509). Small Llama-shaped models and environments instead of
Qwen2.5-7B-Instruct, so the learning rates are larger (3e-4, PPO 2e-4; the paper's are 1e-6, and
1e-5 for its critic), and constant. The reward is 1 for a solved task and 0 else, without step
penalties, unless the settings ask for the shaped return; the schedule always counts solved tasks.
Only groups of equal rewards are dropped; the nucleus over reward deviations is a setting
(`filter_mass`, the paper's PPO 0.9), as is the entropy bonus (the paper's PPO 0.001, here 0). The
critic is a small head on the policy's hidden states that sends no gradient into them, instead of
a model of its own; it starts ten steps before the policy, makes four passes over a step's rollouts,
and learns from all groups where the policy learns from the kept ones; its loss is not clipped. PPO
advantages are neither centred nor scaled. Gradients are cut at norm 1. A round of the pool is a
permutation, so no task comes twice in a step.

    settings = defaults("grpo", steps=200)
    schedule = PTGSSchedule(PTGS())
    log = train(model, tokenizer, WordLanguage(), environment, tasks, settings, schedule, "run")
"""

from lib.training.learners import Diverged
from lib.training.loop import train
from lib.training.settings import Settings, defaults
from lib.training.temperature_schedules import (
    FixedTemperature,
    PTGSSchedule,
    ShuffledSchedule,
    TemperatureSchedule,
    YokedSchedule,
    open_schedule,
    read_log,
)

__all__ = [
    "Diverged",
    "FixedTemperature",
    "PTGSSchedule",
    "Settings",
    "ShuffledSchedule",
    "TemperatureSchedule",
    "YokedSchedule",
    "defaults",
    "open_schedule",
    "read_log",
    "train",
]
