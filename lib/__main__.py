"""The command line: ``python -m lib COMMAND``.

A heavy room is imported only by the command that needs it, so that help comes at once.
"""

import argparse
import sys
import warnings
from datetime import timedelta
from pathlib import Path

import lib.cli.arguments
from lib import ROOT
from lib.cli import choices
from lib.rollouts.policies import PolicyError


def batch(arguments):
    """Run the notebooks of a list and write one report about them."""
    from lib.reporting import run_batch, write_pages

    results = run_batch(
        arguments.file, out=arguments.out, jobs=arguments.jobs, only=arguments.only or ()
    )
    print(f"Report: {write_pages(results, arguments.out)}")
    return 1 if any(result.failure for result in results) else 0


def readme(arguments):
    """Renew the claims page from the notebooks' saved outputs, and the pictures of README.md."""
    from lib.reporting import collect_claims, draw_front_page, with_claims

    path = ROOT / "notebooks" / "guides" / "claims.md"
    claims, left_out = collect_claims(sorted((ROOT / "notebooks").glob("*.ipynb")))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    path.write_text(with_claims(path.read_text(encoding="utf-8"), claims), encoding="utf-8")
    pictures = draw_front_page()
    print(f"{path.relative_to(ROOT)}: {len(claims)} claims; figures: {len(pictures)} pictures")


def report(arguments):
    """Write a one-page report on two logs or files of outcomes, before and after post-training."""
    from lib.reporting import compare

    path = compare(
        arguments.base,
        arguments.post,
        max_k=arguments.max_k,
        out=arguments.out,
        choose=dict(arguments.choose),
        columns=dict(arguments.column),
    )
    print(f"Report: {path}")


def collect(arguments):
    """Collect attempts of a benchmark with a model here or behind a server; rerun to resume."""
    environment = choices.open_environment(arguments.benchmark, arguments.tasks)

    from lib.rollouts import collection

    tasks = environment.tasks()[: arguments.tasks]
    settled = {
        "pair": arguments.pair or Path(arguments.model).name,
        "arm": arguments.arm,
        "seed": arguments.seed,
        "at_once": arguments.at_once,
    }
    choices.check_server(arguments)
    choices.check_options(arguments)
    # What is wrong in all this is told before a model is loaded.
    policy = choices.server_policy(arguments) if arguments.server else None
    known = policy.settings if policy else choices.known_settings(arguments)
    collection.check(environment, tasks, arguments.n, arguments.out, **settled, policy=known)

    from accelerate import PartialState

    part, parts = arguments.shard
    # Started by torchrun or accelerate launch, each process takes its part of this shard. They wait
    # for each other at the end, where one may have much more to do.
    state = PartialState(cpu=not arguments.gpu, timeout=timedelta(days=365))
    table = collection.collect(
        policy or choices.local_policy(arguments, environment, state),
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
            table = collection.table(arguments.out)
        graded, passed = table["passed"].notna().sum(), table["passed"].sum()
        print(f"{arguments.out}: {len(table)} attempts, {graded} graded, {passed} passed")
    state.destroy_process_group()


def train(arguments):
    """Post-train a model of this machine by GRPO or PPO; rerun to resume."""
    environment = choices.open_environment(arguments.environment, arguments.tasks)

    from lib import training
    from lib.envs.catalog import COUNT

    choices.check_options(arguments)
    if arguments.environment.endswith(":test"):
        print(
            f"note: {arguments.environment} are the held-out tasks: evaluate what is "
            "trained on them elsewhere",
            file=sys.stderr,
        )
    names = ("steps", "groups", "group_size", "minibatch", "rows_at_once", "learning_rate")
    names += ("max_new_tokens", "max_turns", "entropy_bonus", "kl_weight", "filter_mass", "reward")
    given = {name: getattr(arguments, name) for name in names}
    sampler = choices.make_sampler(arguments)
    settings = training.defaults(
        arguments.algorithm,
        seed=arguments.seed,
        t_ref=arguments.temperature,
        **{name: value for name, value in given.items() if value is not None},
    )
    log = training.train(
        arguments.model,
        environment,
        arguments.out,
        prompt_format=lambda tokenizer: choices.make_dialect(arguments, tokenizer),
        tasks=environment.tasks()[: arguments.tasks or COUNT],
        settings=settings,
        schedule=sampler,
        lora_rank=arguments.lora,
        device="cuda" if arguments.gpu else "cpu",
    )
    success = [line["success"] for line in log if line["success"] is not None]
    told = "no attempt could be graded, so nothing was learned"
    if success:
        told = f"success {success[0]:.3f} in the first, {success[-1]:.3f} in the last"
    print(f"{arguments.out / 'model'}: {len(log)} steps, {told}")


def score(arguments):
    """Score the steps of collected attempts by a policy and its reference; rerun to resume."""
    choices.check_scoring(arguments)  # before what takes long to import

    from accelerate import PartialState

    from lib import advantage
    from lib.advantage.scoring import score_into
    from lib.advantage.store import read_scores, trajectory_table

    attempts = _read_attempts(arguments.trajectories)
    state = PartialState(cpu=not arguments.gpu, timeout=timedelta(days=365))
    policy, tokenizer = choices.load_model(arguments.policy, state)
    reference, others = None, None
    if arguments.reference is not None:
        reference, others = choices.load_model(arguments.reference, state)
        advantage.check_same_tokens(tokenizer, others)
        if arguments.alpha:
            reference = _merged(arguments, policy, reference)
    limits = [m.config.max_position_embeddings for m in (policy, reference) if m is not None]
    context = min([*limits, *([arguments.context] if arguments.context else [])])
    dialect = None
    if arguments.tokens == "stored":
        choices.check_sampled_by(arguments.trajectories, tokenizer)
    if arguments.tokens == "text":
        dialect = choices.make_dialect(arguments, tokenizer)
        for path in arguments.trajectories:
            choices.check_spoken(path, dialect)
        if arguments.dialect == "words":
            choices.check_texts(attempts, tokenizer)

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


def _read_attempts(paths):
    """The attempts of files and folders, each once: two that differ under one key are refused."""
    from lib.advantage.store import digest
    from lib.trajectories import jsonl, store

    found, repeats = {}, 0
    for path in paths:
        read = store.read_collection if path.is_dir() else jsonl.read_rollouts
        empty = True
        for attempt in read(path):
            empty = False
            first, source = found.setdefault(attempt.key, (attempt, path))
            repeats += source != path
            if first is not attempt and digest(first) != digest(attempt):
                raise ValueError(
                    f"{attempt.key} is in {source} and, another one, in {path}: give each its own "
                    "folder of scores, or collect them under another --pair or --arm"
                )
        if empty:
            raise ValueError(f"{path} holds no rollouts: give a file or folder of `collect`")
    if repeats:
        warnings.warn(f"{repeats} attempts come twice and alike: each counts once", stacklevel=2)
    return [attempt for attempt, _ in found.values()]


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
    from lib.rollouts.policies.local import fingerprint

    told = {"context": context, "tokens": arguments.tokens}
    for name, model in (("policy", policy), ("reference", reference)):
        told[name] = None if model is None else fingerprint(model)
    if told["policy"] == told["reference"]:
        warnings.warn(
            "--policy and --reference are the same weights: every progress advantage is 0",
            stacklevel=2,
        )
    if arguments.alpha:
        told |= {"alpha": arguments.alpha, "merge": arguments.merge}
        if arguments.merge != "linear":
            told["merge_density"] = arguments.density
        if arguments.merge == "dare":
            told["merge_seed"] = arguments.seed
    if dialect is not None:
        told |= {"seams": arguments.seams, **dialect.settings}
    return told


_GOING_ON = {
    collect: ": the same command goes on with what is not finished",
    train: ": the same command goes on from the last checkpoint, a minute old at most, or from "
    "the start",
    score: ": the same command goes on with what is not scored",
}


def parser() -> argparse.ArgumentParser:
    """The commands: each is the function of its name here, its arguments are in `lib.cli`."""
    main_parser = argparse.ArgumentParser(prog="python -m lib", description="Sharpening Lab.")
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (batch, readme, report, collect, train, score):
        name, told = command.__name__, command.__doc__
        added = commands.add_parser(name, help=told, description=told)
        added.set_defaults(command=command)
        getattr(lib.cli.arguments, name)(added.add_argument)
    return main_parser


def main(argv=None) -> int:
    """Run one command; 0 where it did its work, 1 where a notebook failed, 2 on bad input."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.command(arguments) or 0
    except (ValueError, OSError, ImportError, PolicyError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (OverflowError, MemoryError, RecursionError) as error:  # an input far out of range
        print(f"error: too large to work with ({type(error).__name__}: {error})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        told = _GOING_ON.get(arguments.command, "")
        print(f"interrupted{told}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
