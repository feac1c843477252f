"""`python -m lib score`: the steps of collected attempts, scored by a policy and its reference."""

from functools import partial
from pathlib import Path

from lib.cli import arguments as shared

SUMMARY = "Score the steps of collected attempts by a policy and its reference; rerun to resume."
INTERRUPTED = "the same command goes on with what is not scored"
ALIASES = {"trajectories": "TRAJECTORIES", "tokens_at_once": "--microbatch-tokens"}

OF_TEXT = ("parser", "thinking", "seams")
"""Options that are for text, and would be ignored with the token ids that were sampled."""


def add_arguments(parser):
    parser.add_argument(
        "trajectories",
        nargs="+",
        type=Path,
        metavar="TRAJECTORIES",
        help="files of rollouts (.jsonl), or folders that `collect` made",
    )
    shared.add_out(parser, "the scores")
    parser.add_argument(
        "--top-k",
        type=shared.positive,
        default=20,
        metavar="COUNT",
        help="likeliest tokens that confidence is made of",
    )

    models = parser.add_argument_group("the models")
    models.add_argument(
        "--policy", required=True, metavar="DIR", help="folder of safetensors, or .gguf file"
    )
    models.add_argument("--reference", metavar="DIR", help="its base, or an earlier checkpoint")
    models.add_argument(
        "--policy-only", action="store_true", help="log-probs and confidence, without a reference"
    )
    shared.add_context(models)
    models.add_argument(
        "--microbatch-tokens",
        type=shared.positive,
        default=4096,
        metavar="TOKENS",
        help="tokens of one forward pass; bounds memory",
    )
    shared.add_gpu(models)

    text = parser.add_argument_group(
        "what is read",
        "Without --prompt-format, the token ids that were sampled; with it, the text, tokenised "
        "again as that format writes it.",
    )
    shared.add_prompt_format(text, None)
    text.add_argument(
        "--seams",
        choices=("refuse", "cut"),
        help="where a token would join prompt and action: stop, or tokenise them apart (default: "
        "refuse)",
    )

    merging = parser.add_argument_group("a reference merged with the policy")
    merging.add_argument(
        "--alpha", type=float, default=0.0, help="how far the reference moves to the policy"
    )
    merging.add_argument(
        "--merge",
        choices=("linear", "ties", "dare"),
        help="how, with --alpha above 0 (default: linear)",
    )
    merging.add_argument(
        "--density", type=float, help="share of weights kept by ties and dare (default: 0.2)"
    )
    merging.add_argument("--seed", type=int, help="of dare (default: 0)")


def run(arguments):
    check(arguments)  # before what is slow to import

    from lib.advantage import score

    prompt_format = None
    if arguments.prompt_format is not None:
        from lib.rollouts.policies.opening import check_prompt_format, open_prompt_format

        options = {
            "parser": shared.begun_parser(arguments, "parser"),
            "thinking": arguments.thinking,
        }
        check_prompt_format(arguments.prompt_format, **options)
        prompt_format = partial(open_prompt_format, arguments.prompt_format, **options)
    scored = score(
        arguments.trajectories,
        arguments.policy,
        arguments.reference,
        arguments.out,
        prompt_format=prompt_format,
        seams=arguments.seams or "refuse",
        context=arguments.context,
        top_k=arguments.top_k,
        alpha=arguments.alpha,
        merge=arguments.merge,
        density=arguments.density,
        seed=arguments.seed,
        tokens_at_once=arguments.microbatch_tokens,
        gpu=arguments.gpu,
    )
    if scored is not None:  # this is the main process
        print(
            f"{arguments.out}: {len(scored)} trajectories, {len(scored.counts)} steps, "
            f"{scored.steps_missing.sum()} of them missing "
            f"({(scored.missing == 'context').sum()} past the context)"
        )


def check(arguments):
    """Raise ValueError for options that contradict each other or would be ignored."""
    if (arguments.reference is None) != arguments.policy_only:
        raise ValueError(
            "the progress advantage is a ratio to a reference: give --reference DIR, or say "
            "--policy-only for the policy's log-probs and confidence alone"
        )
    given = [name for name in OF_TEXT if getattr(arguments, name) not in (None, False)]
    if given and arguments.prompt_format is None:
        raise ValueError(
            f"--{given[0]} is only for scoring with a --prompt-format, and would be ignored: add "
            "that, or leave it out"
        )
    shared.check_gpu(arguments.gpu)
