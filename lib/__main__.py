"""The command line: ``python -m lib COMMAND``.

A room is imported only by the command that needs it, so that help comes at once.
"""

import argparse
import sys
from pathlib import Path

from lib import ROOT


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
    claims = collect_claims(sorted((ROOT / "notebooks").glob("*.ipynb")))
    path.write_text(with_claims(path.read_text(encoding="utf-8"), claims), encoding="utf-8")
    print(f"{path.name}: {len(claims)} claims")


def report(arguments):
    """Write a one-page report on two files of outcomes, before and after post-training."""
    from lib.report import write_report

    path = write_report(arguments.base, arguments.post, max_k=arguments.max_k, out=arguments.out)
    print(f"Report: {path}")


def collect(arguments):
    """Collect attempts of a benchmark with a model here or behind a server; rerun to resume."""
    from accelerate import PartialState

    from lib import rollouts
    from lib.benchmarks import open_benchmark

    environment = open_benchmark(arguments.benchmark)
    tasks = environment.tasks()[: arguments.tasks]
    part, parts = arguments.shard
    # Started by torchrun or accelerate launch, each process takes its part of this shard.
    state = PartialState(cpu=not arguments.gpu)
    table = rollouts.collect(
        _policy(arguments, state.device),
        environment,
        tasks,
        arguments.n,
        arguments.out,
        pair=arguments.pair or Path(arguments.model).name,
        arm=arguments.arm,
        seed=arguments.seed,
        at_once=arguments.at_once,
        shard=(part + parts * state.process_index, parts * state.num_processes),
    )
    graded = table["passed"].notna().sum()
    print(
        f"{arguments.out}: {len(table)} attempts, {graded} graded, {table['passed'].sum()} passed"
    )


def _policy(arguments, device):
    from lib import policies

    spoken = {
        "harness": lambda: policies.Harness(parser=arguments.parser),
        "plain": lambda: policies.Plain(parser=arguments.parser),
    }
    fields = {
        name: getattr(arguments, name)
        for name in ("temperature", "top_p", "top_k", "repetition_penalty", "max_new_tokens")
    }
    if arguments.server:
        spoken["chat"] = lambda: policies.ServerChat(thinking=arguments.thinking)
        return policies.ServerPolicy(
            arguments.server,
            arguments.model,
            spoken[arguments.dialect](),
            concurrency=arguments.at_once,
            **fields,
        )
    from lib import generation

    model, tokenizer = generation.load(
        arguments.model, cache=ROOT / "build" / "models", device=str(device)
    )
    spoken["chat"] = lambda: policies.ChatTemplate(
        tokenizer, parser=arguments.parser, thinking=arguments.thinking
    )
    return policies.LocalPolicy(
        generation.Engine(model, tokenizer),
        spoken[arguments.dialect](),
        generation.Sampling(**fields),
        name=Path(arguments.model).name,
    )


def _shard(text):
    part, _, parts = text.partition("/")
    return int(part), int(parts)


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments; each command is the function of its name above."""
    main_parser = argparse.ArgumentParser(prog="python -m lib", description="Sharpening Lab.")
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)

    def command(function):
        added = commands.add_parser(
            function.__name__, help=function.__doc__, description=function.__doc__
        )
        added.set_defaults(command=function)
        return added

    add = command(batch).add_argument
    add(
        "file",
        nargs="?",
        type=Path,
        default=ROOT / "notebooks" / "batch.yml",
        metavar="BATCH.yml",
        help="list of notebooks and parameters (default: notebooks/batch.yml)",
    )
    add("-j", "--jobs", type=int, help="notebooks run at once (default: one a core)")
    add(
        "-o",
        "--out",
        type=Path,
        default=ROOT / "build",
        metavar="DIR",
        help="folder of the executed notebooks and the report (default: build)",
    )
    add("--only", nargs="+", metavar="NAME", help="run only the entries of these names")

    command(readme)

    add = command(report).add_argument
    add("base", type=Path, metavar="BASE", help="outcomes of the base model")
    add("post", type=Path, metavar="POST", help="outcomes of the post-trained model")
    add("--max-k", type=int, metavar="K", help="largest k (default: the most that both allow)")
    add(
        "-o",
        "--out",
        type=Path,
        default=Path("report"),
        metavar="DIR",
        help="folder of the report and its figure (default: report)",
    )
    add = command(collect).add_argument
    add("benchmark", metavar="BENCHMARK", help="such as bfcl:multi_turn_base or bfcl:simple_python")
    add("model", metavar="MODEL", help="folder or .gguf file; with --server, the name it goes by")
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="folder of the collection")
    add("--server", metavar="URL", help="an OpenAI-compatible address, http://.../v1")
    add("--dialect", choices=("harness", "plain", "chat"), default="harness")
    add("--parser", choices=("robust", "paper", "exact"), default="robust")
    add("--thinking", action="store_true", help="let the model reason first (chat)")
    add("-n", type=int, default=128, help="attempts a task (default: 128)")
    add("--tasks", type=int, metavar="COUNT", help="the first tasks only")
    add("--pair", help="name in the table of outcomes (default: the model's)")
    add("--arm", default="base", help="name in the table of outcomes (default: base)")
    add("--seed", type=int, default=0)
    add("--temperature", type=float, default=0.7)
    add("--top-p", type=float, default=0.95)
    add("--top-k", type=int, default=0, help="0 keeps all")
    add("--repetition-penalty", type=float, default=1.0, help="1 is none")
    add("--max-new-tokens", type=int, default=1024)
    add("--at-once", type=int, default=32, help="attempts under way together (default: 32)")
    add("--shard", type=_shard, default=(0, 1), metavar="I/N", help="every N-th task from the I-th")
    add("--gpu", action="store_true", help="run the model on the GPU")
    return main_parser


def main(argv=None) -> int:
    """Run one command; 0 where it did its work, 1 where a notebook failed, 2 on bad input."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.command(arguments) or 0
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
