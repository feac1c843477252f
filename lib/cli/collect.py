"""`python -m lib collect`: attempts at the tasks of an environment, n of each."""

import os
from datetime import timedelta
from pathlib import Path

from lib.cli import arguments as shared

SUMMARY = "Collect attempts at the tasks of an environment or benchmark; rerun to resume."
INTERRUPTED = "the same command goes on with what is not finished"
ALIASES = {
    "address": "--server",
    "api_key": "--api-key-env",
    "at_once": "--concurrency",
    "count": "--tasks",
    "kind": "--server-kind",
}


def add_arguments(parser):
    shared.add_environment(parser)
    shared.add_model(
        parser,
        "folder of safetensors, .gguf file, or smollm2-135m-instruct or gemma-3-270m (make "
        "models); with --server, the name that the server has for it",
    )
    shared.add_out(parser, "the collection")
    parser.add_argument(
        "-n", "--attempts", dest="n", type=shared.positive, default=128, help="attempts a task"
    )
    shared.add_tasks(
        parser, "the first tasks only (default: all of a benchmark, 200 of the lab's environments)"
    )
    parser.add_argument("--pair", help="name in the table of outcomes (default: the model's)")
    parser.add_argument("--arm", default="base", help="name in the table of outcomes")
    shared.add_seed(parser)

    prompting = parser.add_argument_group("how the model is prompted")
    shared.add_prompt_format(prompting, "harness")

    sampling = parser.add_argument_group("how replies are sampled")
    sampling.add_argument("--temperature", type=float, default=0.7, help="0 takes the likeliest")
    sampling.add_argument("--top-p", type=float, default=0.95, help="1 keeps all tokens")
    sampling.add_argument("--top-k", type=int, default=0, help="0 keeps all tokens")
    sampling.add_argument("--repetition-penalty", type=float, default=1.0, help="1 is none")
    sampling.add_argument("--max-new-tokens", type=int, default=1024, help="tokens of one reply")

    running = parser.add_argument_group("how the collection runs")
    running.add_argument(
        "--concurrency", type=shared.positive, default=32, help="attempts that run together"
    )
    running.add_argument(
        "--shard",
        type=shared.shard,
        default=(0, 1),
        metavar="I/N",
        help="every N-th task from the I-th, counted from 0 (default: 0/1, all of them)",
    )
    running.add_argument(
        "--retry-missing",
        action="store_true",
        help="repeat the attempts that a timeout or a server error left without an outcome",
    )

    here = parser.add_argument_group("a model of this machine")
    shared.add_context(here)
    shared.add_gpu(here)

    server = parser.add_argument_group("a model behind a server")
    server.add_argument(
        "--server", metavar="URL", help="an OpenAI-compatible address, http://.../v1"
    )
    server.add_argument(
        "--server-kind",
        choices=("vllm", "llama.cpp", "transformers"),
        default="vllm",
        help="the server, whose names the sampling fields get",
    )
    server.add_argument("--timeout", type=float, default=600.0, help="seconds for one reply")
    server.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="the environment variable that holds the server's key, if it wants one",
    )


def run(arguments):
    from lib.envs import open_environment

    environment = open_environment(arguments.environment, count=arguments.tasks)
    tasks = environment.tasks()[: arguments.tasks]

    from lib.rollouts import collection, policies

    check(arguments)
    labels = {
        "pair": arguments.pair or Path(arguments.model).name,
        "arm": arguments.arm,
        "seed": arguments.seed,
        "at_once": arguments.concurrency,
    }
    # Whatever is wrong is reported before a model is loaded.
    policy = server_policy(arguments) if arguments.server else None
    known = policy.settings if policy else policies.known_settings(**policy_options(arguments))
    collection.check(environment, tasks, arguments.n, arguments.out, **labels, policy=known)
    if policy:
        policy.check()

    from accelerate import PartialState

    # Started by torchrun or accelerate launch, each process takes its part of this shard. They wait
    # for each other at the end, where one may have much more to do.
    state = PartialState(cpu=not arguments.gpu, timeout=timedelta(days=365))
    part, parts = arguments.shard
    table = collection.collect(
        policy or local_policy(arguments, environment, state),
        environment,
        tasks,
        arguments.n,
        arguments.out,
        **labels,
        retry_missing=arguments.retry_missing,
        shard=(part + parts * state.process_index, parts * state.num_processes),
        progress=None if state.is_main_process else False,
    )
    state.wait_for_everyone()
    if state.is_main_process:
        if state.num_processes > 1:  # the other processes were not finished when this one was
            table = collection.table(arguments.out)
        graded, passed = table["passed"].notna().sum(), table["passed"].sum()
        print(f"{arguments.out}: {len(table)} attempts, {graded} graded, {passed} passed")
    state.destroy_process_group()


def check(arguments):
    """Raise ValueError for an option that would be ignored."""
    if arguments.gpu and arguments.server:
        raise ValueError("--gpu is for a model of this machine: start the server with its own")
    if arguments.context and arguments.server:
        raise ValueError("--context is for a model of this machine: start the server with its own")
    if arguments.api_key_env and not arguments.server:
        raise ValueError("--api-key-env is for a server: give its address, --server URL")
    shared.check_gpu(arguments.gpu)


def policy_options(arguments):
    """The options of `policies.open_policy` that models here and behind servers share."""
    sampling = ("temperature", "top_p", "top_k", "repetition_penalty", "max_new_tokens")
    return {
        "model": arguments.model,
        "prompt_format": arguments.prompt_format,
        "parser": shared.begun_parser(arguments, "policy.parser"),
        "thinking": arguments.thinking,
        "sampling": {name: getattr(arguments, name) for name in sampling},
    }


def server_policy(arguments):
    from lib.rollouts.policies import open_policy

    variable = arguments.api_key_env
    if variable is not None and not os.environ.get(variable):
        raise ValueError(
            f"--api-key-env: the environment has no {variable}, or an empty one: set it"
        )
    return open_policy(
        **policy_options(arguments),
        server=arguments.server,
        kind=arguments.server_kind,
        api_key=os.environ[variable] if variable else "none",  # servers without a key take any
        concurrency=arguments.concurrency,
        timeout=arguments.timeout,
    )


def local_policy(arguments, environment, state):
    from lib.rollouts.policies import open_policy

    return open_policy(
        **policy_options(arguments),
        environment=environment,
        context=arguments.context,
        device=str(state.device),
        alone=state.local_main_process_first,
    )
