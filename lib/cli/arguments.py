"""The arguments of each command of the command line; the commands are in `lib.__main__`.

Every function takes the `add_argument` of its command's parser.
"""

import argparse
from pathlib import Path

from lib import ROOT

_DIALECTS = ("harness", "plain", "chat", "words")
_PARSERS = ("robust", "paper", "exact")

OF_TEXT = {"dialect": "harness", "parser": None, "thinking": False, "seams": "refuse"}
"""Options of `score` that are for text, and what each is where it is not given."""

OF_MERGING = {"alpha": 0.0, "merge": "linear", "density": 0.2, "seed": 0}
"""Options of `score` that are for a merged reference, and what each is where it is not given."""


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
    add("base", type=Path, metavar="BASE", help="log or outcomes of the base model")
    add("post", type=Path, metavar="POST", help="log or outcomes of the post-trained model")
    add(
        "--choose",
        action="append",
        default=[],
        type=_choice,
        metavar="[ARM.]NAME=VALUE",
        help="what to take of a log that has several: scorer=match, filter=strict-match, "
        "threshold=1, format=inspect; post.scorer=... for one arm alone; may come several times",
    )
    add(
        "--column",
        action="append",
        default=[],
        type=_named,
        metavar="NAME=COLUMN",
        help="the file's column for one of ours, task=Problem, in a table with other names",
    )
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
    add(
        "benchmark",
        metavar="BENCHMARK",
        help="such as bfcl:multi_turn_base, or an environment of the lab such as sokoban:test",
    )
    add(
        "model",
        metavar="MODEL",
        help="folder, .gguf file, or smollm2-135m-instruct or gemma-3-270m (make models); with "
        "--server, the name that the server has for it",
    )
    _out(add, "the collection")
    add("-n", type=positive, default=128, help="attempts a task (default: 128)")
    add(
        "--tasks",
        type=positive,
        metavar="COUNT",
        help="the first tasks only (default: all of a benchmark, 200 of the lab's environments)",
    )
    add("--pair", help="name in the table of outcomes (default: the model's)")
    add("--arm", default="base", help="name in the table of outcomes (default: base)")
    _seed(add)
    _spoken(add, "harness")
    add("--temperature", type=float, default=0.7, help="(default: 0.7)")
    add("--top-p", type=float, default=0.95, help="(default: 0.95)")
    add("--top-k", type=int, default=0, help="0 keeps all (default)")
    add("--repetition-penalty", type=float, default=1.0, help="1 is none (default)")
    add("--max-new-tokens", type=int, default=1024, help="of one reply (default: 1024)")
    add("--at-once", type=positive, default=32, help="attempts under way together (default: 32)")
    add("--shard", type=_shard, default=(0, 1), metavar="I/N", help="every N-th task from the I-th")
    add(
        "--retry-missing",
        action="store_true",
        help="run attempts anew that trouble (a timeout, a server error) left without an outcome",
    )
    add(
        "--context",
        type=positive,
        metavar="TOKENS",
        help="longest context of a model here (default: the model's own)",
    )
    _gpu(add)
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


def _named(text):
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return name, value


def _choice(text):
    """(name, value) of one choice, the name with its arm where it has one."""
    name, value = _named(text)
    arm, dot, rest = name.partition(".")
    if dot and arm not in ("base", "post"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected base.{rest} or post.{rest}")
    chosen = rest if dot else name
    if chosen == "columns":
        raise argparse.ArgumentTypeError(f"{text!r}: columns are given by --column NAME=COLUMN")
    if chosen == "threshold":
        try:
            value = float(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a number") from error
    return name, (value.split(",") if chosen == "ignore" else value)


def _out(add, what):
    add("-o", "--out", type=Path, required=True, metavar="DIR", help=f"folder of {what}")


def _seed(add):
    add("--seed", type=int, default=0, help="of all random numbers (default: 0)")


def _gpu(add):
    add("--gpu", action="store_true", help="run the model, or both, on the GPU")


def _spoken(add, default):
    """How a model is spoken to, and how its calls are read."""
    add(
        "--dialect",
        choices=_DIALECTS,
        default=default,
        help="how the model is spoken to; words: as those made in the lab (default: %(default)s)",
    )
    add(
        "--parser",
        choices=_PARSERS,
        help="reads calls, in all dialects but words (default: robust)",
    )
    add("--thinking", action="store_true", help="let the model reason first (chat)")


def positive(text):
    """A whole number from 1 up, as the argument of a command line."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 1 up, got {text!r}")


def train(add):
    add("model", metavar="MODEL", help="folder of safetensors, of the lab or real")
    add(
        "environment",
        metavar="ENVIRONMENT",
        help="frozenlake, sokoban, desk, or a benchmark such as bfcl:...",
    )
    _out(add, "the run")
    add("--algorithm", choices=("grpo", "ppo"), default="grpo", help="(default: grpo)")
    add(
        "--sampler",
        choices=("fixed", "ptgs", "yoked", "shuffled"),
        default="fixed",
        help="where each group's temperature comes from (default: fixed)",
    )
    add(
        "--log",
        type=Path,
        metavar="STEPS.jsonl",
        help="step log of the PTGS run of the same seed (yoked, shuffled)",
    )
    add(
        "--temperature",
        type=float,
        default=1.0,
        help="fixed, or of PTGS's pivot; entropy and KL are logged at it too (default: 1)",
    )
    add("--tau", type=float, help="largest factor of PTGS (ptgs; default: 1.5)")
    add("--pivot-start", type=float, help="(ptgs; default: 0.25)")
    add("--pivot-end", type=float, help="(ptgs; default: 0.5)")
    _spoken(add, "words")
    add(
        "--tasks",
        type=positive,
        metavar="COUNT",
        help="size of the pool (default: 200, or all of a benchmark that has fewer)",
    )
    for name, kind, told, usual in (
        ("steps", int, "policy iterations", "200"),
        ("groups", int, "tasks a step", "8"),
        ("group-size", int, "rollouts a group", "16"),
        ("minibatch", int, "rollouts of one gradient step", "32"),
        ("rows-at-once", int, "sequences in one forward pass, for memory", "32"),
        ("learning-rate", float, "of the policy", "3e-4, of ppo 2e-4"),
        ("max-new-tokens", int, "of one reply", "16"),
        ("max-turns", int, "replies of one attempt", "200"),
        ("entropy-bonus", float, "weight in the objective", "0"),
        ("kl-weight", float, "weight of the KL to the start", "0"),
        ("filter-mass", float, "share of reward deviation that is trained on", "1"),
    ):
        add(f"--{name}", type=kind, help=f"{told} (default: {usual})")
    add("--reward", choices=("passed", "return"), help="(default: passed)")
    _seed(add)
    add("--lora", type=positive, metavar="RANK", help="train adapters of this rank; needs peft")
    _gpu(add)


def score(add):
    add(
        "trajectories",
        nargs="+",
        type=Path,
        metavar="TRAJECTORIES",
        help="files of rollouts (.jsonl), or folders that `collect` made",
    )
    add("--policy", required=True, metavar="DIR", help="folder of safetensors, or .gguf file")
    add("--reference", metavar="DIR", help="its base, or an earlier checkpoint")
    add("--policy-only", action="store_true", help="log-probs and confidence, without a reference")
    _out(add, "the scores")
    add(
        "--tokens",
        choices=("stored", "text"),
        default="stored",
        help="the token ids that were sampled, or the text anew (default: stored)",
    )
    add(
        "--dialect",
        choices=_DIALECTS,
        help=f"how the text is written (text; default: {OF_TEXT['dialect']})",
    )
    add("--parser", choices=_PARSERS, help="not of words (text)")
    add("--thinking", action="store_true", help="let the template show reasoning (text, chat)")
    add(
        "--seams",
        choices=("refuse", "cut"),
        help="where a token would join prompt and action: stop, or tokenise apart (text; default: "
        f"{OF_TEXT['seams']})",
    )
    add("--context", type=positive, metavar="TOKENS", help="longest context (default: the models')")
    add(
        "--top-k", type=positive, default=20, help="tokens that confidence is made of (default: 20)"
    )
    for name, kind, told in (
        ("alpha", {"type": float}, "merge the reference this far to the policy"),
        ("merge", {"choices": ("linear", "ties", "dare")}, "with --alpha"),
        ("density", {"type": float}, "of TIES and DARE"),
        ("seed", {"type": int}, "of DARE"),
    ):
        add(f"--{name}", **kind, help=f"{told} (default: {OF_MERGING[name]})")
    add("--tokens-at-once", type=positive, default=4096, help="of a forward pass (default: 4096)")
    _gpu(add)


def _shard(text):
    part, _, parts = text.partition("/")
    if all(number.isascii() and number.isdigit() for number in (part, parts)):
        part, parts = int(part), int(parts)
        if part < parts:
            return part, parts
    raise argparse.ArgumentTypeError(
        f"expected I/N with I from 0 to N - 1, such as 0/4 for the first of four, got {text!r}"
    )
