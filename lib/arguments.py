"""The arguments of each command of the command line; the commands are in `lib.__main__`.

Every function takes the `add_argument` of its command's parser.
"""

import argparse
from pathlib import Path

from lib import ROOT


def batch(add):
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


def readme(add):
    pass


def report(add):
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


def collect(add):
    add("benchmark", metavar="BENCHMARK", help="such as bfcl:multi_turn_base or bfcl:simple_python")
    add(
        "model",
        metavar="MODEL",
        help="folder, .gguf file, or smollm2-135m-instruct or gemma-3-270m (make models); with "
        "--server, the name that the server has for it",
    )
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="folder of the collection")
    add("-n", type=_count, default=128, help="attempts a task (default: 128)")
    add("--tasks", type=_count, metavar="COUNT", help="the first tasks only")
    add("--pair", help="name in the table of outcomes (default: the model's)")
    add("--arm", default="base", help="name in the table of outcomes (default: base)")
    add("--seed", type=int, default=0, help="of all random numbers (default: 0)")
    add("--dialect", choices=("harness", "plain", "chat"), default="harness")
    add("--parser", choices=("robust", "paper", "exact"), default="robust")
    add("--thinking", action="store_true", help="let the model reason first (chat)")
    add("--temperature", type=float, default=0.7, help="(default: 0.7)")
    add("--top-p", type=float, default=0.95, help="(default: 0.95)")
    add("--top-k", type=int, default=0, help="0 keeps all (default)")
    add("--repetition-penalty", type=float, default=1.0, help="1 is none (default)")
    add("--max-new-tokens", type=int, default=1024, help="of one reply (default: 1024)")
    add("--at-once", type=_count, default=32, help="attempts under way together (default: 32)")
    add("--shard", type=_shard, default=(0, 1), metavar="I/N", help="every N-th task from the I-th")
    add(
        "--retry-missing",
        action="store_true",
        help="run attempts anew that trouble (a timeout, a server error) left without an outcome",
    )
    add(
        "--context",
        type=_count,
        metavar="TOKENS",
        help="longest context of a model here (default: the model's own)",
    )
    add("--gpu", action="store_true", help="run the model on the GPU")
    add("--server", metavar="URL", help="an OpenAI-compatible address, http://.../v1")
    add(
        "--server-kind",
        choices=("vllm", "llama.cpp", "transformers"),
        default="vllm",
        help="whose names the sampling fields have (default: vllm)",
    )
    add("--timeout", type=float, default=600.0, help="seconds for one reply (default: 600)")

    add(
        "--api-key-env",
        metavar="NAME",
        help="the environment variable that holds the server's key, if it wants one",
    )


def _count(text):
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 1 up, got {text!r}")


def _shard(text):
    part, _, parts = text.partition("/")
    if all(number.isascii() and number.isdigit() for number in (part, parts)):
        part, parts = int(part), int(parts)
        if part < parts:
            return part, parts
    raise argparse.ArgumentTypeError(
        f"expected I/N with I from 0 to N - 1, such as 0/4 for the first of four, got {text!r}"
    )
