"""Short training runs of the policy of `tests.lettered`."""

import copy

from lib.generation import Engine, Sampling
from lib.generation.logprobs import action_logits
from lib.rollouts.policies import LocalPolicy
from lib.training import (
    FixedTemperature,
    PTGSSchedule,
    defaults,
    train_policy,
)
from lib.training.batches import score
from lib.training.loop import roll_out_groups
from tests import lettered

ENVIRONMENT = lettered.Letters()


SMALL = {"steps": 6, "groups": 3, "group_size": 4, "minibatch": 8, "max_new_tokens": 6}


def run(base, out, schedule=None, environment=ENVIRONMENT, algorithm="grpo", **changes):
    """Train a copy of the base; the model and the step log."""
    options = {key: changes.pop(key) for key in ("checkpoint_every",) if key in changes}
    settings = defaults(algorithm, **{**SMALL, "learning_rate": 1e-3, **changes})
    schedule, model = schedule or FixedTemperature(1.0), copy.deepcopy(base)
    language = lettered.TOKENIZER, lettered.PROMPT_FORMAT
    log = train_policy(
        model, *language, environment, environment.tasks(), settings, schedule, out, **options
    )
    return model, log


def groups_of(model, temperatures=(0.6, 1.4), **changes):
    """Groups of rollouts of some tasks, each at its temperature."""
    sampling = Sampling(temperature=1.0, max_new_tokens=6)
    policy = LocalPolicy(
        Engine(model, lettered.TOKENIZER), lettered.PROMPT_FORMAT, sampling, name="m"
    )
    settings = defaults("grpo", **{**SMALL, **changes})
    tasks = ENVIRONMENT.tasks()[: len(temperatures)]
    return roll_out_groups(policy, ENVIRONMENT, tasks, temperatures, settings, step=1)


def scored(model, episodes, **changes):
    options = {"t_ref": 1.0, "rows": 128, "compare": [True] * len(episodes), **changes}
    return score(model, lambda actions: action_logits(model, actions)[0], episodes, **options)


def without_seconds(log):
    return [{name: value for name, value in line.items() if name != "seconds"} for line in log]


class Killed(BaseException):
    pass


class Stopping(PTGSSchedule):
    """PTGS that is stopped at the beginning of a step."""

    def assign(self, step, total, tasks):
        if step == 5:
            raise Killed
        return super().assign(step, total, tasks)
