"""A policy that runs a model on this machine, with the generation engine."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lib.rollouts.policies.protocol import Context, PromptRefused, Reply
from lib.rollouts.prompts.protocol import BREAK, PromptFormat, check_known_tokens, drop_characters
from lib.trajectories.schema import Message, RolloutKey, Turn

if TYPE_CHECKING:
    from lib.generation import Completion, Engine, Sampling


class LocalPolicy:
    """Samples from a model on this machine.

    engine: with a tokenizer.
    sampling: the prompt format's stops are added to its `stop`, the tokenizer's end token to its
        `eos`; all other fields are used as they are.
    name: the model's name in manifests. A fingerprint of the weights is beside it.

    Raises ValueError if the engine has no tokenizer.
    """

    concurrency = None  # rollouts are sampled together, and those of a task share a prompt

    def __init__(
        self, engine: "Engine", prompt_format: PromptFormat, sampling: "Sampling", *, name: str
    ):
        if engine.tokenizer is None:
            raise ValueError("a policy reads and writes text: give Engine(model, tokenizer)")
        self.engine, self.prompt_format = engine, prompt_format
        eos = dict.fromkeys([*sampling.eos, engine.tokenizer.eos_token_id])
        self.sampling = replace(
            sampling,
            stop=tuple(dict.fromkeys([*sampling.stop, *prompt_format.stops])),
            eos=tuple(token for token in eos if token is not None),
        )
        # Small environments repeat the same few texts again and again.
        self.tokenize_short = lru_cache(maxsize=50_000)(self._tokenize)
        self.name = name

    @cached_property
    def settings(self) -> dict[str, Any]:
        """See `lib.rollouts.policies.Policy`. The first access reads all weights."""
        from lib.generation.int8 import dtype_name

        return {
            "policy": "local",
            "model": self.name,
            "weights": fingerprint(self.engine.model),
            "tokenizer": tokenizer_digest(self.engine.tokenizer),
            "dtype": dtype_name(self.engine.model),
            "context": self.engine.context,
            **self.prompt_format.settings,
            "sampling": json.loads(json.dumps(asdict(self.sampling))),
        }

    def start(
        self, keys: Sequence[RolloutKey], temperatures: Sequence[float] | None = None
    ) -> "_Local":
        """Begin rollouts; `temperatures`, one per key, replace that of the sampling."""
        sampling = [self.sampling] * len(keys)
        if temperatures is not None:
            pairs = zip(sampling, temperatures, strict=True)
            sampling = [replace(base, temperature=float(t)) for base, t in pairs]
        return _Local(self, keys, sampling)

    def _tokenize(self, text: str, special_tokens: bool) -> tuple[int, ...]:
        """The tokens of a text; special tokens only where the prompt format writes them."""
        only_text = self.prompt_format.special_tokens
        options = {"add_special_tokens": special_tokens, "split_special_tokens": only_text}
        parts = [text] if only_text else text.split(BREAK)
        tokenizer = self.engine.tokenizer
        return tuple(token for part in parts for token in tokenizer(part, **options)["input_ids"])


SHORT = 200
"""The tokens of texts of up to so many characters are cached."""


class _LastTurn(NamedTuple):
    """The last turn of a rollout; `ending` counts the tokens at its end that ended it."""

    prompt: str
    prompt_ids: list[int]
    tokens: list[int]
    ending: int


class _Local:
    def __init__(self, policy: LocalPolicy, keys, sampling: "list[Sampling]"):
        self.prompt_format, self.sampling = policy.prompt_format, sampling
        self._tokenize_short = policy.tokenize_short
        self.tokenizer = policy.engine.tokenizer
        self.batch = policy.engine.open(keys)
        self.last: dict[int, _LastTurn] = {}

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        refused: dict[int, Reply] = {}
        prompts: dict[int, str] = {}
        for at, context in enumerate(contexts):
            try:
                prompts[at] = self.prompt_format.prompt(context)
            except PromptRefused as error:
                refused[at] = Reply(Message("assistant", ""), Turn(0), str(error))
        replies = iter(
            self._sample(
                [rows[at] for at in prompts],
                [contexts[at] for at in prompts],
                list(prompts.values()),
            )
        )
        return [refused[at] if at in refused else next(replies) for at in range(len(rows))]

    def _sample(self, rows: Sequence[int], contexts: Sequence[Context], prompts: Sequence[str]):
        """The replies to contexts whose prompts are written."""
        if not rows:
            return []
        ids = [self._tokens(row, prompt) for row, prompt in zip(rows, prompts, strict=True)]
        for row, read in zip(rows, ids, strict=True):
            if row not in self.last:
                check_known_tokens(read, self.tokenizer)
        completions = self.batch.reply(rows, ids, [self.sampling[row] for row in rows])
        replies = []
        for row, context, prompt, read, written in zip(
            rows, contexts, prompts, ids, completions, strict=True
        ):
            ending = self._ending(written)
            self.last[row] = _LastTurn(prompt.replace(BREAK, ""), read, written.tokens, ending)
            turn = Turn(
                len(context.messages),
                prompt_ids=read,
                action_ids=written.tokens,
                logprobs=written.log_probs,
                logprobs_t1=written.log_probs_at_1,
                finish=written.reason,
                ending=ending,
            )
            replies.append(
                Reply(self.prompt_format.read(written.text, context), turn, ties=written.ties)
            )
        return replies

    def _tokens(self, row: int, prompt: str) -> list[int]:
        """The tokens of a prompt. If it continues the last turn, that turn's tokens are kept.

        Only what is new is tokenised. The sampled tokens stay as they are, even where the tokenizer
        would choose others for their text. The tokens that ended the last reply are kept as far as
        the prompt holds their text.
        """
        if row in self.last:
            last, plain = self.last[row], prompt.replace(BREAK, "")
            whole = len(last.tokens)
            for kept in range(whole, whole - last.ending - 1, -1):
                text = last.prompt + self._decode(last.tokens[:kept])
                if plain.startswith(text):
                    new = self._encode(drop_characters(prompt, len(text)), special_tokens=False)
                    return last.prompt_ids + last.tokens[:kept] + new
        return self._encode(prompt, special_tokens=self.prompt_format.special_tokens)

    def _ending(self, written: "Completion") -> int:
        """How many tokens at the end are not entirely in the text of the reply."""
        if written.reason == "eos":
            return 1
        count, length = 0, len(written.text)
        while len(self._decode(written.tokens[: len(written.tokens) - count])) > length:
            count += 1
        return count

    def _encode(self, text: str, *, special_tokens: bool) -> list[int]:
        short = self._tokenize_short
        tokenize = short if len(text) <= SHORT else short.__wrapped__
        return list(tokenize(text, special_tokens))

    def _decode(self, tokens: list[int]) -> str:
        return self.tokenizer.decode(
            tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )


def fingerprint(model) -> str:
    """A short key of a model's weights: SHA-256 of every tensor's name, shape, type and bytes.

    It reads all weights, at 1.6 GB/s on one core of a laptop, which is faster than loading them.
    """
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().reshape(-1).contiguous().view(torch.uint8).cpu().numpy())
    return digest.hexdigest()[:16]


def tokenizer_digest(tokenizer) -> str:
    """A short key of the rules that turn text into tokens: SHA-256 of a fast tokenizer's file.

    Padding and truncation are left out, since any call may set them.
    """
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    rules |= {"padding": None, "truncation": None}
    return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]
