"""A policy that runs a model here, by the decode engine."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from lib.policies.dialects import Dialect
from lib.policies.protocol import Context, Key, Reply
from lib.trajectory import Turn

if TYPE_CHECKING:
    from lib.generation import Engine, Sampling


class LocalPolicy:
    """Samples from a model of this machine.

    engine: with a tokenizer.  sampling: every field of it is used as it is, but for `stop`, which
    the dialect gives, and `eos`, to which the tokenizer's end token is added.
    name: the model's name in manifests; its weights are told apart by their fingerprint.
    """

    def __init__(self, engine: "Engine", dialect: Dialect, sampling: "Sampling", *, name: str):
        if engine.tokenizer is None:
            raise ValueError("a policy reads and writes text: give Engine(model, tokenizer)")
        self.engine, self.dialect = engine, dialect
        eos = dict.fromkeys([*sampling.eos, engine.tokenizer.eos_token_id])
        self.sampling = replace(
            sampling,
            stop=tuple(dict.fromkeys([*sampling.stop, *dialect.stops])),
            eos=tuple(token for token in eos if token is not None),
        )
        self.settings = {
            "policy": "local",
            "model": name,
            "weights": fingerprint(engine.model),
            "context": engine.context,
            **dialect.settings,
            "sampling": json.loads(json.dumps(asdict(self.sampling))),
        }

    def start(self, keys: Sequence[Key]) -> "_Local":
        return _Local(self, keys)


class _Local:
    def __init__(self, policy: LocalPolicy, keys):
        self.policy = policy
        self.batch = policy.engine.open(keys)
        self.read = {}  # row -> (text, token ids) of all it has read and written

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        policy = self.policy
        prompts = [policy.dialect.prompt(context) for context in contexts]
        ids = [self._tokens(row, prompt) for row, prompt in zip(rows, prompts, strict=True)]
        replies = []
        for row, prompt, prompt_ids, context, completion in zip(
            rows, prompts, ids, contexts, self.batch.reply(rows, ids, policy.sampling), strict=True
        ):
            written = policy.engine.tokenizer.decode(
                completion.tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
            self.read[row] = prompt + written, prompt_ids + completion.tokens
            turn = Turn(
                0,
                prompt_ids=prompt_ids,
                action_ids=completion.tokens,
                logprobs=completion.log_probs,
                logprobs_t1=completion.log_probs_at_1,
                finish=completion.reason,
            )
            message = policy.dialect.read(completion.text, context)
            replies.append(Reply(message, turn, ties=completion.ties))
        return replies

    def _tokens(self, row, prompt) -> list[int]:
        """The prompt's tokens; those read and written before stay as they were, if it goes on so.

        Tokenising only what is new keeps the tokens that were sampled, which may not be the ones
        the tokenizer would choose for their text.
        """
        text, ids = self.read.get(row, ("", []))
        first = not ids or not prompt.startswith(text)
        rest = prompt if first else prompt[len(text) :]
        more = self.policy.engine.tokenizer(
            rest, add_special_tokens=first and self.policy.dialect.special_tokens
        )["input_ids"]
        return list(more) if first else ids + list(more)


def fingerprint(model) -> str:
    """A short key of a model's weights: shapes and a sample of the values of every tensor."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().flatten()
        sample = flat[:: max(1, len(flat) // 64)][:64].float().cpu().numpy()
        digest.update(f"{name}{tuple(tensor.shape)}".encode() + sample.tobytes())
    return digest.hexdigest()[:16]
