"""Post-training by GRPO and PPO, at a temperature for each group of rollouts.

`train` takes a model and an environment and leaves a folder with the step log and the trained
model. A temperature schedule, PTGS or one of its controls, chooses the sampling temperature of each
task's group at each step. The lab's base models come from `lib.training.pretraining`.

>>> import tempfile
>>> from lib import envs, ptgs, training
>>> from lib.rollouts.prompts.word_language import WordLanguage
>>> from lib.training.pretraining import new_model
>>> lake = envs.open_environment("frozenlake", count=4)
>>> settings = training.defaults("grpo", steps=1, groups=2, group_size=2, max_turns=2)
>>> options = {"settings": settings, "schedule": training.PTGSSchedule(ptgs.PTGS())}
>>> model = new_model(lake.words(), "0.06M")  # or a folder
>>> with tempfile.TemporaryDirectory() as out:
...     log = training.train(
...         model, lake, out, prompt_format=WordLanguage(), progress=False, **options
...     )
>>> [group["rollouts"] for group in log[0]["groups"]]
[2, 2]

Deviations from the paper (arXiv 2610.01509). Small Llama-shaped models and small environments in
place of Qwen2.5-7B-Instruct, so the learning rates are larger (3e-4, PPO 2e-4; the paper's are
1e-6, and 1e-5 for its critic), and constant. The reward is 1 for a solved task and 0 otherwise,
without step penalties, unless the settings ask for the shaped return; the schedule always counts
solved tasks. Only groups of equal rewards are dropped; the nucleus over reward deviations is a
setting (`filter_mass`, the paper's PPO 0.9), as is the entropy bonus (the paper's PPO 0.001, here
0). The critic is a small head on the policy's hidden states that sends no gradient into them, in
place of a model of its own; it starts ten steps before the policy, makes four passes over a step's
rollouts, and learns from all groups where the policy learns from the kept ones; its loss is not
clipped. PPO advantages are neither centred nor scaled. Gradients are clipped to norm 1. A round of
the task pool is a permutation, so no task comes twice in a step.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "learners": ["Diverged"],
        "loop": ["train_policy"],
        "post_training": ["train"],
        "settings": ["Settings", "defaults"],
        "temperature_schedules": [
            "FixedTemperature",
            "PTGSSchedule",
            "ShuffledSchedule",
            "TemperatureSchedule",
            "YokedSchedule",
            "open_schedule",
            "read_log",
        ],
    },
)
