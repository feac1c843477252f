"""The command line: ``python -m lib COMMAND``.

A heavy room is imported only by the command that needs it, so that help comes at once.
"""

import argparse
import os
import sys
from datetime import timedelta
from pathlib import Path

import lib.arguments
from lib import ROOT
from lib.policies import PolicyError


def batch(arguments):
    """Run the notebooks of a list and write one report about them."""
    from lib.batch import run_batch
    from lib.batch_page import write_pages

    results = run_batch(
        arguments.file, out=arguments.out, jobs=arguments.jobs, only=arguments.only or ()
    )
    print(f"Report: {write_pages(results, arguments.out)}")
    return 1 if any(result.failure for result in results) else 0


def readme(arguments):
    """Renew the claims table of README.md from the notebooks' saved outputs."""
    from lib.batch_page import collect_claims, with_claims

    path = ROOT / "README.md"
    claims, left_out = collect_claims(sorted((ROOT / "notebooks").glob("*.ipynb")))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    path.write_text(with_claims(path.read_text(encoding="utf-8"), claims), encoding="utf-8")
    print(f"{path.name}: {len(claims)} claims")


def report(arguments):
    """Write a one-page report on two logs or files of outcomes, before and after post-training."""
    from lib.report import arm_options, write_report

    options = arm_options(dict(arguments.choose), dict(arguments.column))
    path = write_report(
        arguments.base, arguments.post, max_k=arguments.max_k, out=arguments.out, options=options
    )
    print(f"Report: {path}")


def collect(arguments):
    """Collect attempts of a benchmark with a model here or behind a server; rerun to resume."""
    environment = _open_world(arguments.benchmark)  # before what takes long to import

    from lib import rollouts

    tasks = environment.tasks()[: arguments.tasks]
    settled = {
        "pair": arguments.pair or Path(arguments.model).name,
        "arm": arguments.arm,
        "seed": arguments.seed,
        "at_once": arguments.at_once,
    }
    _check_server(arguments)
    _check_options(arguments)
    # What is wrong in all this is told before a model is loaded.
    policy = _server_policy(arguments) if arguments.server else None
    known = policy.settings if policy else _known_settings(arguments)
    rollouts.check(environment, tasks, arguments.n, arguments.out, **settled, policy=known)

    from accelerate import PartialState

    part, parts = arguments.shard
    # Started by torchrun or accelerate launch, each process takes its part of this shard. They wait
    # for each other at the end, where one may have much more to do.
    state = PartialState(cpu=not arguments.gpu, timeout=timedelta(days=365))
    table = rollouts.collect(
        policy or _local_policy(arguments, environment, state),
        environment,
        tasks,
        arguments.n,
        arguments.out,
        **settled,
        retry_missing=arguments.retry_missing,
        shard=(part + parts * state.process_index, parts * state.num_processes),
        progress=None if state.is_main_process else False,
    )
    state.wait_for_everyone()
    if state.is_main_process:
        if state.num_processes > 1:  # this one was done at another time than the rest
            table = rollouts.table(arguments.out)
        graded, passed = table["passed"].notna().sum(), table["passed"].sum()
        print(f"{arguments.out}: {len(table)} attempts, {graded} graded, {passed} passed")
    state.destroy_process_group()


def _check_options(arguments):
    """Refuse what would be ignored otherwise, and a GPU that is not there."""
    if arguments.parser and arguments.dialect == "words":
        raise ValueError(
            "--parser reads the calls of text and chat dialects, and --dialect words has its own: "
            "leave it out, or choose another dialect"
        )
    if arguments.thinking and arguments.dialect != "chat":
        raise ValueError(
            f"--thinking is a switch of chat templates, and --dialect {arguments.dialect} has "
            "none: add --dialect chat, or leave it out"
        )
    if arguments.gpu:
        import torch

        if not torch.cuda.is_available():
            raise ValueError("--gpu: torch finds no GPU here: leave it out, or mend that")


def _check_server(arguments):
    """Refuse what is of a server alone, or of a model here alone."""
    if arguments.gpu and arguments.server:
        raise ValueError("--gpu is for a model here; a server is started with its own")
    if arguments.context and arguments.server:
        raise ValueError("--context is for a model here; a server is started with its own")
    if arguments.api_key_env and not arguments.server:
        raise ValueError("--api-key-env is for a server: give its address, --server URL")


def train(arguments):
    """Post-train a model of this machine by GRPO or PPO; rerun to resume."""
    world = _open_world(arguments.world)  # before what takes long to import

    from lib import generation
    from lib.training import defaults
    from lib.training import train as train_policy
    from lib.training.adapters import add_lora, finished

    _check_options(arguments)
    names = ("steps", "groups", "group_size", "minibatch", "rows_at_once", "learning_rate")
    names += ("max_new_tokens", "max_turns", "entropy_bonus", "kl_weight", "filter_mass", "reward")
    given = {name: getattr(arguments, name) for name in names}
    settings = defaults(
        arguments.algorithm,
        seed=arguments.seed,
        **{name: value for name, value in given.items() if value is not None},
    )
    sampler = _sampler(arguments)
    model, tokenizer = generation.load(
        arguments.model, cache=ROOT / "build" / "models", device="cuda" if arguments.gpu else "cpu"
    )
    _check_words(arguments, world, tokenizer)
    if arguments.lora:
        model = add_lora(model, arguments.lora, arguments.seed)
    log = train_policy(
        model,
        tokenizer,
        _dialect(arguments, tokenizer),
        world,
        world.tasks()[: arguments.tasks],
        settings,
        sampler,
        arguments.out,
    )
    finished(model).save_pretrained(arguments.out / "model")
    tokenizer.save_pretrained(arguments.out / "model")
    success = [line["success"] for line in log if line["success"] is not None]
    print(
        f"{arguments.out / 'model'}: {len(log)} steps, success {success[0]:.3f} in the first, "
        f"{success[-1]:.3f} in the last"
    )


def score(arguments):
    """Score the steps of collected attempts by a policy and its reference; rerun to resume."""
    from accelerate import PartialState

    from lib import advantage
    from lib.advantage.files import read_scores, score_into, trajectory_table

    if (arguments.reference is None) != arguments.policy_only:
        raise ValueError(
            "the progress advantage is a ratio to a reference: give --reference DIR, or say "
            "--policy-only for the policy's log-probs and confidence alone"
        )
    attempts = [one for path in arguments.trajectories for one in _read_attempts(path)]
    state = PartialState(cpu=not arguments.gpu, timeout=timedelta(days=365))
    policy, tokenizer = _load(arguments.policy, state)
    reference, others = None, None
    if arguments.reference is not None:
        reference, others = _load(arguments.reference, state)
        advantage.check_same_tokens(tokenizer, others)
        if arguments.alpha:
            reference = _merged(arguments, policy, reference)
    limits = [m.config.max_position_embeddings for m in (policy, reference) if m is not None]
    context = min([*limits, *([arguments.context] if arguments.context else [])])
    dialect = _dialect(arguments, tokenizer) if arguments.tokens == "text" else None

    def read(rollout):
        if dialect is None:
            steps = advantage.read_stored(rollout, tokenizer, context)
        else:
            options = {"seams": arguments.seams}
            steps = advantage.read_text(rollout, tokenizer, dialect, context, **options)
        if others is not None:
            advantage.check_known(steps, others)
        return steps

    score_into(
        arguments.out,
        policy,
        reference,
        attempts,
        read,
        _scoring_settings(arguments, policy, reference, dialect, context),
        shard=(state.process_index, state.num_processes),
        top_k=arguments.top_k,
        tokens_at_once=arguments.tokens_at_once,
        progress=None if state.is_main_process else False,
    )
    state.wait_for_everyone()
    if state.is_main_process:
        scored = read_scores(arguments.out)
        trajectory_table(scored).to_csv(arguments.out / "scores.csv", index=False)
        print(
            f"{arguments.out}: {len(scored)} trajectories, {len(scored.counts)} steps, "
            f"{scored.steps_missing.sum()} of them missing "
            f"({(scored.missing == 'context').sum()} past the context)"
        )
    state.destroy_process_group()


def _read_attempts(path):
    from lib import rollout_files, rollouts

    if path.is_dir():
        return rollouts.read_collection(path)
    return rollout_files.read_rollouts(path)


def _merged(arguments, policy, reference):
    import torch

    from lib.advantage.references import merge

    return merge(
        policy,
        reference,
        arguments.alpha,
        method=arguments.merge,
        density=arguments.density,
        generator=torch.Generator().manual_seed(arguments.seed),
    )


def _scoring_settings(arguments, policy, reference, dialect, context):
    from lib.policies.local import fingerprint

    told = {"context": context, "tokens": arguments.tokens}
    for name, model in (("policy", policy), ("reference", reference)):
        told[name] = None if model is None else fingerprint(model)
    if dialect is not None:
        told |= {"seams": arguments.seams, **dialect.settings}
    return told


def _open_world(name):
    """A benchmark, or a world of the lab with the tasks of a split: sokoban, sokoban:test."""
    from lib import benchmarks, envs

    if name.partition(":")[0] in benchmarks.NAMES:
        return benchmarks.open_benchmark(name)
    world, _, split = name.partition(":")
    if world not in envs.WORLDS:
        known = ", ".join([*envs.WORLDS, *benchmarks.NAMES])
        raise ValueError(f"there is no world or benchmark {name!r}: expected one of {known}")
    return envs.open_world(world, split or "train")


def _sampler(arguments):
    from lib import training
    from lib.ptgs import PTGS

    if arguments.sampler == "fixed":
        return training.Fixed(arguments.temperature)
    if arguments.sampler == "ptgs":
        ptgs = PTGS(
            tau=arguments.tau,
            t_ref=arguments.temperature,
            pivot_start=arguments.pivot_start,
            pivot_end=arguments.pivot_end,
            seed=arguments.seed,
        )
        return training.Tempered(ptgs)
    if arguments.log is None:
        raise ValueError(
            f"--sampler {arguments.sampler} replays a PTGS run: give --log RUN/steps.jsonl"
        )
    if arguments.sampler == "yoked":
        return training.Yoked(arguments.log)
    return training.Shuffled(arguments.log, arguments.seed)


def _server_policy(arguments):
    from lib import policies

    if arguments.dialect == "chat":
        dialect = policies.ServerChat(**_reading(arguments))
    else:
        dialect = _text_dialect(arguments)
    return policies.ServerPolicy(
        arguments.server,
        arguments.model,
        dialect,
        kind=arguments.server_kind,
        api_key=_api_key(arguments.api_key_env),
        concurrency=arguments.at_once,
        timeout=arguments.timeout,
        **_sampling(arguments),
    )


def _api_key(variable):
    if variable is None:
        return "none"  # which servers that want no key take
    if not os.environ.get(variable):
        raise ValueError(
            f"--api-key-env: the environment has no {variable}, or an empty one: set it"
        )
    return os.environ[variable]


def _check_words(arguments, world, tokenizer):
    """Refuse a model of words that cannot read those of a world, or write its calls."""
    from lib.words import check_vocabulary

    if arguments.dialect == "words":
        if not hasattr(world, "words"):
            raise ValueError(
                f"--dialect words is for the worlds of the lab, and {world.name} is none: choose "
                "another dialect"
            )
        check_vocabulary(tokenizer, world.words())


def _local_policy(arguments, environment, state):
    from lib import generation, policies

    sampling = generation.Sampling(**_sampling(arguments))
    path = _model_path(arguments.model)
    model, tokenizer = _load(path, state)
    _check_words(arguments, environment, tokenizer)
    engine = generation.Engine(model, tokenizer, context=arguments.context)
    dialect = _dialect(arguments, tokenizer)
    return policies.LocalPolicy(engine, dialect, sampling, name=Path(path).name)


def _model_path(name):
    from lib import packaged_models

    if name in packaged_models.NAMES:
        return packaged_models.find_model(name, ROOT / "build" / "models")
    return name


def _load(path, state):
    from lib import generation

    with state.local_main_process_first():  # which converts a GGUF file that the others then find
        return generation.load(
            _model_path(path), cache=ROOT / "build" / "models", device=str(state.device)
        )


def _dialect(arguments, tokenizer):
    from lib import policies

    if arguments.dialect == "chat":
        return policies.ChatTemplate(tokenizer, **_reading(arguments))
    return _text_dialect(arguments)


def _reading(arguments):
    return {"parser": arguments.parser or "robust", "thinking": arguments.thinking}


def _text_dialect(arguments):
    from lib import policies, words

    if arguments.dialect == "words":
        return words.Words()
    kinds = {"harness": policies.Harness, "plain": policies.Plain}
    return kinds[arguments.dialect](parser=_reading(arguments)["parser"])


def _known_settings(arguments):
    """The settings that a policy of a model here will have, as far as they need no model."""
    from lib.packaged_models import NAMES

    dialect = _reading(arguments)
    if arguments.dialect != "chat":
        dialect = _text_dialect(arguments).settings
    known = {"policy": "local", **dialect, "sampling": _sampling(arguments)}
    if arguments.model not in NAMES:  # those packaged have the names of their files
        known["model"] = Path(arguments.model).name
    return known


def _sampling(arguments):
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "max_new_tokens")
    return {name: getattr(arguments, name) for name in names}


def parser() -> argparse.ArgumentParser:
    """The commands, each the function of its name here with the arguments of `lib.arguments`."""
    main_parser = argparse.ArgumentParser(prog="python -m lib", description="Sharpening Lab.")
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (batch, readme, report, collect, train, score):
        name, told = command.__name__, command.__doc__
        added = commands.add_parser(name, help=told, description=told)
        added.set_defaults(command=command)
        getattr(lib.arguments, name)(added.add_argument)
    return main_parser


def main(argv=None) -> int:
    """Run one command; 0 where it did its work, 1 where a notebook failed, 2 on bad input."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.command(arguments) or 0
    except (ValueError, OSError, ImportError, PolicyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (OverflowError, MemoryError, RecursionError) as error:  # an input far out of range
        print(f"error: too large to work with ({type(error).__name__}: {error})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
