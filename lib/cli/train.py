"""`python -m lib train`: post-training of a model of this machine."""

import sys
from functools import partial
from pathlib import Path

from lib.cli import arguments as shared

SUMMARY = "Post-train a model of this machine by GRPO or PPO; rerun to resume."
INTERRUPTED = (
    "the same command goes on from the last checkpoint, a minute old at most, or from the start"
)
ALIASES = {"count": "--tasks", "rows_at_once": "--microbatch", "t_ref": "--temperature"}

SETTINGS = (
    ("rollouts and the reward", "steps", int, "policy iterations", "200"),
    ("rollouts and the reward", "groups", int, "tasks a step", "8"),
    ("rollouts and the reward", "group-size", int, "rollouts a group", "16"),
    ("rollouts and the reward", "max-turns", int, "replies of one attempt", "200"),
    ("rollouts and the reward", "max-new-tokens", int, "tokens of one reply", "16"),
    ("the update", "learning-rate", float, "of the policy", "3e-4, of ppo 2e-4"),
    ("the update", "minibatch", int, "rollouts of one gradient step", "32"),
    ("the update", "microbatch", int, "sequences of one forward pass; bounds memory", "32"),
    ("the update", "entropy-bonus", float, "weight of the entropy in the objective", "0"),
    ("the update", "kl-weight", float, "weight of the KL to the start in the objective", "0"),
    ("the update", "filter-mass", float, "share of the reward deviation that is trained on", "1"),
)
"""Hyperparameters that `lib.training.defaults` gives: group, option, type, help, default."""


def add_arguments(parser):
    shared.add_model(parser, "folder of safetensors, of the lab or real")
    shared.add_environment(parser)
    shared.add_out(parser, "the run")
    parser.add_argument("--algorithm", choices=("grpo", "ppo"), default="grpo", help="grpo or ppo")
    shared.add_tasks(parser, "tasks to train on, the first ones (default: 200, or all if fewer)")
    shared.add_seed(parser)
    parser.add_argument(
        "--lora",
        type=shared.positive,
        metavar="RANK",
        help="train adapters of this rank instead of all weights; needs peft",
    )
    shared.add_gpu(parser)

    prompting = parser.add_argument_group("how the model is prompted")
    shared.add_prompt_format(prompting, "words")

    schedule = parser.add_argument_group("the temperature of each group")
    schedule.add_argument(
        "--schedule",
        choices=("fixed", "ptgs", "yoked", "shuffled"),
        default="fixed",
        help="one temperature; PTGS; or its temperatures replayed, as each step's mean or shuffled",
    )
    schedule.add_argument(
        "--temperature",
        type=float,
        default=1.0,
        help="fixed, or of PTGS's pivot; entropy and KL are logged at it too",
    )
    schedule.add_argument(
        "--tau", type=float, help="largest factor on the temperature (ptgs; default: 1.5)"
    )
    for name, text, default in (
        ("start", "the pivot, a success rate, at the first step", "0.25"),
        ("end", "the pivot at the last step", "0.5"),
    ):
        schedule.add_argument(
            f"--pivot-{name}", type=float, help=f"{text} (ptgs; default: {default})"
        )
    schedule.add_argument(
        "--log",
        type=Path,
        metavar="STEPS.jsonl",
        help="step log of the PTGS run of the same seed (yoked, shuffled)",
    )

    groups = {title: parser.add_argument_group(title) for title, *_ in SETTINGS}
    for title, name, kind, text, default in SETTINGS:
        groups[title].add_argument(f"--{name}", type=kind, help=f"{text} (default: {default})")
    groups["rollouts and the reward"].add_argument(
        "--reward",
        choices=("passed", "return"),
        help="1 for a solved task, or the environment's shaped return (default: passed)",
    )


def run(arguments):
    from lib.envs import open_environment
    from lib.envs.catalog import COUNT

    environment = open_environment(arguments.environment, count=arguments.tasks)
    shared.check_gpu(arguments.gpu)
    if arguments.environment.endswith(":test"):
        print(
            f"note: {arguments.environment} are the held-out tasks: evaluate what is trained on "
            "them elsewhere",
            file=sys.stderr,
        )

    from lib import training
    from lib.rollouts.policies.opening import check_prompt_format, open_prompt_format

    prompting = {"parser": arguments.parser, "thinking": arguments.thinking}
    check_prompt_format(arguments.prompt_format, **prompting)
    schedule = training.open_schedule(
        arguments.schedule,
        temperature=arguments.temperature,
        seed=arguments.seed,
        log=arguments.log,
        tau=arguments.tau,
        pivot_start=arguments.pivot_start,
        pivot_end=arguments.pivot_end,
    )
    log = training.train(
        arguments.model,
        environment,
        arguments.out,
        prompt_format=partial(open_prompt_format, arguments.prompt_format, **prompting),
        tasks=environment.tasks()[: arguments.tasks or COUNT],
        settings=hyperparameters(arguments),
        schedule=schedule,
        lora_rank=arguments.lora,
        device="cuda" if arguments.gpu else "cpu",
    )
    print(f"{arguments.out / 'model'}: {len(log)} steps, {outcome(log)}")


def hyperparameters(arguments):
    """The `Settings` of an algorithm, with the options that were given."""
    from lib.training import defaults

    names = [name.replace("-", "_") for _, name, *_ in SETTINGS] + ["reward"]
    given = {name: getattr(arguments, name) for name in names}
    given["rows_at_once"] = given.pop("microbatch")
    return defaults(
        arguments.algorithm,
        seed=arguments.seed,
        t_ref=arguments.temperature,
        **{name: value for name, value in given.items() if value is not None},
    )


def outcome(log):
    """What the step log says of the success rate, in words."""
    success = [line["success"] for line in log if line["success"] is not None]
    if not success:
        return "no attempt could be graded, so nothing was learned"
    return f"success {success[0]:.3f} in the first, {success[-1]:.3f} in the last"
