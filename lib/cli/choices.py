"""What the arguments of a command name: models, policies, dialects, samplers.

A heavy room is imported only by what needs it, so that help comes at once.
"""

import os
import warnings
from pathlib import Path

from lib import ROOT
from lib.cli.arguments import OF_MERGING, OF_TEXT
from lib.trajectories import manifest


def check_options(arguments):
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


def check_server(arguments):
    """Refuse what is of a server alone, or of a model here alone."""
    if arguments.gpu and arguments.server:
        raise ValueError("--gpu is for a model here; a server is started with its own")
    if arguments.context and arguments.server:
        raise ValueError("--context is for a model here; a server is started with its own")
    if arguments.api_key_env and not arguments.server:
        raise ValueError("--api-key-env is for a server: give its address, --server URL")


def check_scoring(arguments):
    """Refuse options of `score` that would be ignored, and set the others to their defaults."""
    if (arguments.reference is None) != arguments.policy_only:
        raise ValueError(
            "the progress advantage is a ratio to a reference: give --reference DIR, or say "
            "--policy-only for the policy's log-probs and confidence alone"
        )
    for names, used, needed in (
        (OF_TEXT, arguments.tokens == "text", "--tokens text"),
        (OF_MERGING, not arguments.policy_only, "--reference DIR"),
        (("merge", "density", "seed"), arguments.alpha, "an --alpha above 0"),
        (("density",), arguments.merge in ("ties", "dare"), "--merge ties or dare"),
        (("seed",), arguments.merge == "dare", "--merge dare"),
    ):
        values = {name: getattr(arguments, name) for name in names}
        given = [name for name, one in values.items() if one is not None and one is not False]
        if given and not used:
            raise ValueError(
                f"--{given[0]} is only for scoring with {needed}, and would be ignored: add that, "
                "or leave it out"
            )
    for name, default in (OF_TEXT | OF_MERGING).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
    check_options(arguments)


def check_spoken(path, dialect):
    """Refuse to read the text of a collection in another dialect than its manifest tells of."""
    told = manifest.settings(path if path.is_dir() else path.parent)
    ours = dialect.settings
    name = _dialect_name(ours["dialect"])
    theirs = _dialect_name(told.get("policy.dialect", name))
    if theirs != name:
        raise ValueError(
            f"{path} was collected with the dialect {theirs}, and is to be read in {name}, a text "
            f"that no attempt there has seen: choose --dialect {theirs}"
        )
    for setting in ("cue", "wording", "thinking"):
        then, now = told.get(f"policy.{setting}"), ours.get(setting)
        if None not in (then, now) and then != now:
            warnings.warn(
                f"{path} was collected with {setting} = {then!r} of the dialect, and is read with "
                f"{now!r}: the scores are of prompts that differ in it",
                stacklevel=2,
            )


def check_sampled_by(paths, tokenizer):
    """Refuse token ids of collections whose manifest says that another tokenizer gave them."""
    from lib.rollouts.policies.local import tokenizer_digest

    ours = tokenizer_digest(tokenizer)
    for path in paths:
        then = manifest.settings(path if path.is_dir() else path.parent).get("policy.tokenizer")
        if then not in (None, ours):
            raise ValueError(
                f"the token ids of {path} are another tokenizer's than that of --policy, to which "
                "they mean other words: name a model of the kind that sampled them, or --tokens "
                "text"
            )


def _dialect_name(told):
    """The --dialect of a dialect's settings: a server's chat is one that a template writes."""
    return "chat" if told in ("chat template", "server chat") else told


def check_texts(attempts, tokenizer):
    """Refuse texts with words that are no tokens of a model of words."""
    from lib.rollouts.prompts.word_language import check_vocabulary, transcript

    words = [word for one in attempts for word in transcript(one.messages).split()]
    try:
        check_vocabulary(tokenizer, dict.fromkeys(words))
    except ValueError as error:
        raise ValueError(f"--dialect words: {error}") from error


def open_environment(name, count=None):
    """The environment of a name; its error speaks of --tasks, which gives the count."""
    from lib import envs

    try:
        return envs.open_environment(name, count=count)
    except ValueError as error:
        raise ValueError(str(error).replace("`count`", "--tasks")) from error


def make_sampler(arguments):
    """Where the temperatures of training come from; an option that it would ignore is refused."""
    from lib import training
    from lib.ptgs import PTGS

    shape = {name: getattr(arguments, name) for name in ("tau", "pivot_start", "pivot_end")}
    shape = {name: value for name, value in shape.items() if value is not None}
    if shape and arguments.sampler != "ptgs":
        option = f"--{next(iter(shape)).replace('_', '-')}"
        raise ValueError(
            f"{option} is only with --sampler ptgs, here it is {arguments.sampler}: leave it out"
        )
    if arguments.log is not None and arguments.sampler in ("fixed", "ptgs"):
        raise ValueError(
            f"--log is only with --sampler yoked or shuffled, here it is {arguments.sampler}: "
            "leave it out"
        )
    if arguments.sampler == "fixed":
        return training.FixedTemperature(arguments.temperature)
    if arguments.sampler == "ptgs":
        return training.PTGSSchedule(
            PTGS(t_ref=arguments.temperature, seed=arguments.seed, **shape)
        )
    if arguments.log is None:
        raise ValueError(
            f"--sampler {arguments.sampler} replays a PTGS run: give --log RUN/steps.jsonl"
        )
    if arguments.sampler == "yoked":
        return training.YokedSchedule(arguments.log)
    return training.ShuffledSchedule(arguments.log, arguments.seed)


def server_policy(arguments):
    """A policy behind a server."""
    from lib.rollouts import policies

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


def check_words(arguments, environment, tokenizer):
    """Refuse a model of words that cannot read those of an environment, or write its calls."""
    from lib.rollouts.prompts.word_language import check_vocabulary

    if arguments.dialect == "words":
        if not hasattr(environment, "words"):
            raise ValueError(
                f"--dialect words is for the environments of the lab, not for "
                f"{environment.name}: choose another dialect"
            )
        check_vocabulary(tokenizer, environment.words())


def local_policy(arguments, environment, state):
    """A policy of a model here, its words checked against the benchmark."""
    from lib import generation
    from lib.rollouts import policies

    sampling = generation.Sampling(**_sampling(arguments))
    path = _model_path(arguments.model)
    model, tokenizer = load_model(path, state)
    check_words(arguments, environment, tokenizer)
    engine = generation.Engine(model, tokenizer, context=arguments.context)
    dialect = make_dialect(arguments, tokenizer)
    return policies.LocalPolicy(engine, dialect, sampling, name=Path(path).name)


def known_settings(arguments):
    """The settings that a policy of a model here will have, as far as they need no model."""
    from lib.generation.models import PACKAGED_MODELS

    dialect = _reading(arguments)
    if arguments.dialect != "chat":
        dialect = _text_dialect(arguments).settings
    known = {"policy": "local", **dialect, "sampling": _sampling(arguments)}
    if arguments.model not in PACKAGED_MODELS:  # those packaged have the names of their files
        known["model"] = Path(arguments.model).name
    return known


def _model_path(name):
    from lib.generation import models

    if name in models.PACKAGED_MODELS:
        return models.find_model(name, ROOT / "build" / "models")
    return name


def load_model(path, state):
    """Model and tokenizer of a path or a packaged name, on the device of a process."""
    from lib import generation

    with state.local_main_process_first():  # which converts a GGUF file that the others then find
        found = generation.load(
            _model_path(path), cache=ROOT / "build" / "models", device=str(state.device)
        )
    generation.limit_threads(found[0])
    return found


def make_dialect(arguments, tokenizer):
    """How a model here is spoken to."""
    from lib.rollouts import policies

    if arguments.dialect == "chat":
        return policies.ChatTemplate(tokenizer, **_reading(arguments))
    return _text_dialect(arguments)


def _reading(arguments):
    return {"parser": arguments.parser or "robust", "thinking": arguments.thinking}


def _text_dialect(arguments):
    from lib.rollouts import policies
    from lib.rollouts.prompts import word_language

    if arguments.dialect == "words":
        return word_language.WordLanguage()
    kinds = {"harness": policies.Harness, "plain": policies.Plain}
    return kinds[arguments.dialect](parser=_reading(arguments)["parser"])


def _sampling(arguments):
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "max_new_tokens")
    return {name: getattr(arguments, name) for name in names}
