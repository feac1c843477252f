"""A policy that asks an OpenAI-compatible server: vLLM, llama.cpp, `transformers serve`, others."""

import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing.pool import ThreadPool
from typing import Any, Literal

from lib.rollouts.policies.protocol import Context, PolicyError, Reply
from lib.rollouts.policies.server_responses import (
    Malformed,
    finish_of,
    first_choice,
    likely_of,
    message_of,
    read_body,
    says_too_long,
    text_of,
)
from lib.rollouts.prompts.chat import ServerChat
from lib.rollouts.prompts.harness import cut_at_stop
from lib.rollouts.prompts.protocol import BREAK, PromptFormat
from lib.trajectories.schema import Message, RolloutKey, Turn

Kind = Literal["vllm", "llama.cpp", "transformers"]

_CONNECT_WITHIN = 10.0  # seconds

GIVE_UP_AFTER = 32
"""So many requests in a row that fail after all retries stop the run: by a timeout, a server error,
a broken connection or a malformed answer. The server is then down or far too slow, and all other
attempts would be missing. It is the default number of requests under way, so that a single pause
of the server does not stop the run.
"""


class ServerPolicy:
    """Samples from a model behind an OpenAI-compatible address, with many requests at once.

    address: such as "http://127.0.0.1:8000/v1".  model: its name on the server.
    prompt_format: `ServerChat` uses the chat endpoint, a text format the completions endpoint.
    kind: of the server; sampling fields beyond OpenAI's differ by it, see `sampling_fields`.
    temperature, max_new_tokens, top_p, top_k (0 keeps all), repetition_penalty (1 is none): all
        are sent, since a server takes what is not sent from the settings of the checkpoint, which
        differ between base and post-trained models.
    extra: more fields for the body of each request. None removes a field that a server refuses.
    concurrency: how many requests may be under way at once.
    timeout: seconds for a reply; after that the attempt is missing. A reply that arrives in pieces
        is given up at the first piece or pause after the timeout.
    retries: how often to repeat a request after a broken connection, a full queue, a server error
        or a malformed answer. The first wait is about `first_wait` seconds; each further wait is
        twice as long, up to `longest_wait`.

    The server tokenises by its own rules: the name of a special token in a tool's answer may become
    that token, which `LocalPolicy` prevents.

    A request that is too long for the server ends its attempt with the reason "context". A request
    that the server cannot serve leaves its attempt missing, with the reason. PolicyError is raised
    where all requests would fail alike: no server answers at the address, it does not have the
    model, it refuses a request before it has answered any, or `GIVE_UP_AFTER` requests in a row
    have failed.
    """

    def __init__(
        self,
        address: str,
        model: str,
        prompt_format: PromptFormat | ServerChat,
        *,
        temperature: float,
        max_new_tokens: int,
        top_p: float = 1.0,
        top_k: int = 0,
        repetition_penalty: float = 1.0,
        kind: Kind = "vllm",
        extra: Mapping[str, Any] | None = None,
        api_key: str = "none",
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 5,
        first_wait: float = 1.0,
        longest_wait: float = 60.0,
    ):
        import openai
        import tenacity

        from lib.generation import Sampling

        Sampling(  # checks its fields
            temperature=temperature,
            max_new_tokens=max_new_tokens,
            top_p=top_p,
            top_k=top_k,
            repetition_penalty=repetition_penalty,
        )
        _check_limits(concurrency, timeout, retries, first_wait, longest_wait)
        self.address, self.model, self.prompt_format = address, model, prompt_format
        self.concurrency, self.timeout = concurrency, timeout
        self.sampling = sampling_fields(
            kind,
            temperature=temperature,
            max_new_tokens=max_new_tokens,
            top_p=top_p,
            top_k=top_k,
            repetition_penalty=repetition_penalty,
        )
        if isinstance(prompt_format, ServerChat):
            self.sampling["chat_template_kwargs"] = {"enable_thinking": prompt_format.thinking}
        self.sampling |= extra or {}
        self.sampling = {name: v for name, v in self.sampling.items() if v is not None}
        self.settings = {
            "policy": "server",
            "model": model,
            "kind": kind,
            **prompt_format.settings,
            "sampling": self.sampling,
        }
        self._answered = False
        self._failures_in_a_row, self._counting = 0, threading.Lock()
        self._client = openai.OpenAI(
            base_url=address,
            api_key=api_key,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_WITHIN)),
            max_retries=0,  # its own retries would repeat timeouts too
        )
        self._retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(retries + 1),
            wait=tenacity.wait_exponential_jitter(
                multiplier=first_wait, max=longest_wait, jitter=first_wait
            ),
            retry=tenacity.retry_if_exception(self._may_recover),
            reraise=True,
        )

    def start(self, keys: Sequence[RolloutKey]) -> "_Server":
        return _Server(self, keys)

    def ask(self, context: Context, key: RolloutKey, turn: int) -> Reply:
        """Ask for a reply. The seed sent is a function of the key and the number of the turn."""
        import openai

        try:
            reply = self._retrying(self._send, context, _seed(key, turn))
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            connecting = "Connect" in type(cause).__name__
            if isinstance(error, openai.APITimeoutError) and (self._answered or not connecting):
                return self._trouble(f"timeout: no reply within {self.timeout:g} s")
            if self._answered and not connecting:  # the server runs; this request may break it
                return self._trouble(f"the connection broke ({cause})")
            raise PolicyError(
                f"no server answers at {self.address} ({cause}). Start it, or correct the address. "
                "Collected attempts are kept, and a rerun plays the others."
            ) from error
        except openai.APIStatusError as error:
            return self._refusal(error)
        except Malformed as error:
            if self._answered or self._models():  # so it is an OpenAI-compatible server
                return self._trouble(f"malformed answer: {error}")
            raise PolicyError(
                f"{self.address} does not answer like an OpenAI-compatible server (malformed "
                f"answer: {error}). Give an address that ends in /v1."
            ) from error
        self._answered, self._failures_in_a_row = True, 0
        return reply

    def _trouble(self, reason: str) -> Reply:
        """A missing reply, or PolicyError if too many in a row are missing."""
        with self._counting:
            self._failures_in_a_row += 1
            if self._failures_in_a_row < GIVE_UP_AFTER:
                return _no_reply(trouble=reason)
        raise PolicyError(
            f"{self.address} has failed {GIVE_UP_AFTER} requests in a row after all retries; the "
            f"last one: {reason}. Check the server, or set a longer `timeout` or a lower "
            "`concurrency`. Collected attempts are kept; a rerun with retry_missing plays those "
            "that are missing again."
        )

    def _send(self, context: Context, seed: int) -> Reply:
        chat = isinstance(self.prompt_format, ServerChat)
        endpoint = self._client.chat.completions if chat else self._client.completions
        if chat:
            fields = self.prompt_format.request(context)
        else:
            fields = {"prompt": self.prompt_format.prompt(context).replace(BREAK, "")}
            fields |= {"stop": list(self.prompt_format.stops)} if self.prompt_format.stops else {}
        deadline = time.monotonic() + self.timeout
        with endpoint.with_streaming_response.create(
            model=self.model, seed=seed, extra_body=self.sampling, **fields
        ) as response:
            choice = first_choice(read_body(response, deadline))
        turn, likely = Turn(0, finish=finish_of(choice)), likely_of(choice)
        if not chat:
            # Some servers keep the stop string in the text.
            text, _ = cut_at_stop(text_of(choice, "text"), self.prompt_format.stops)
            return Reply(self.prompt_format.read(text, context), turn, likely=likely)
        text, calls, has_calls = message_of(choice)
        if has_calls:
            return Reply(Message("assistant", text, calls), turn, likely=likely)
        return Reply(self.prompt_format.read(text, context), turn, likely=likely)

    def _may_recover(self, error: BaseException) -> bool:
        """Whether the same request may succeed later."""
        import openai

        if isinstance(error, openai.APIConnectionError):
            return self._answered and not isinstance(error, openai.APITimeoutError)
        if isinstance(error, Malformed):
            return self._answered
        return isinstance(error, openai.APIStatusError) and _is_server_trouble(error)

    def _refusal(self, error) -> Reply:
        answer = error.response.text[:500] or str(error)
        if says_too_long(error):
            if self._answered:
                self._failures_in_a_row = 0
                return _no_reply(finish="context")
            # Perhaps every request is too long for this server. Then no attempt has failed.
            return self._trouble(f"too long, before anything was answered: {answer}")
        unknown = error.status_code == 404
        models = self._models() if unknown or not self._answered else None
        if self.model not in models if models else unknown:
            listed = f"it has {', '.join(map(repr, models))}" if models else "it lists none"
            raise PolicyError(
                f"{self.address} has no model {self.model!r} ({listed}). Give the name of a model "
                f"that it has, and an address that ends in /v1. It answered {error.status_code}: "
                f"{answer}"
            ) from error
        if _is_server_trouble(error):
            return self._trouble(f"server error {error.status_code}: {answer}")
        if self._answered and error.status_code not in (401, 403):  # an expired key stays expired
            self._failures_in_a_row = 0  # the server works; it refuses this request only
            return _no_reply(trouble=f"refused ({error.status_code}): {answer}")
        raise PolicyError(
            f"{self.address} refuses requests to {self.model!r}, with {error.status_code}: "
            f"{answer}. Their fields are those of {self.settings['kind']}: choose another `kind`, "
            "or remove a field with extra={field: None}."
        ) from error

    def _models(self) -> list[str] | None:
        """The models that the server lists, None if it lists none."""
        import openai

        try:
            return [model.id for model in self._client.models.list(timeout=_CONNECT_WITHIN)]
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, RecursionError):
            return None


def sampling_fields(
    kind: Kind,
    *,
    temperature: float,
    max_new_tokens: int,
    top_p: float,
    top_k: int,
    repetition_penalty: float,
) -> dict[str, Any]:
    """The fields of a request that set all of a server's sampling, by the kind of the server.

    vLLM and llama.cpp have their own names for what OpenAI's interface lacks. `transformers serve`
    takes a whole generation_config; without it, it may not sample at all.

    Raises ValueError for an unknown kind.
    """
    known = {"temperature": temperature, "top_p": top_p, "max_tokens": max_new_tokens}
    if kind == "transformers":
        config = {
            "do_sample": temperature > 0,
            "temperature": temperature if temperature > 0 else 1.0,
            "top_p": top_p,
            "top_k": top_k,
            "min_p": 0.0,
            "typical_p": 1.0,
            "epsilon_cutoff": 0.0,
            "eta_cutoff": 0.0,
            "repetition_penalty": repetition_penalty,
            "no_repeat_ngram_size": 0,
            "num_beams": 1,
            "max_new_tokens": max_new_tokens,
        }
        return known | {"generation_config": json.dumps(config)}
    neutral = {"min_p": 0.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    known |= {"top_k": top_k or -1, **neutral}
    if kind == "vllm":
        return known | {"repetition_penalty": repetition_penalty}
    if kind == "llama.cpp":
        return known | {
            "repeat_penalty": repetition_penalty,
            "repeat_last_n": -1,
            "mirostat": 0,
            "dynatemp_range": 0.0,
            # By default the temperature comes last, so that top_k and top_p keep other tokens.
            "samplers": ["penalties", "temperature", "top_k", "top_p"],
        }
    raise ValueError(f"kind must be 'vllm', 'llama.cpp' or 'transformers', got {kind!r}")


def _check_limits(concurrency, timeout, retries, first_wait, longest_wait) -> None:
    checks = [
        ("concurrency", concurrency, concurrency >= 1, "at least 1"),
        ("timeout", timeout, 0 < timeout < float("inf"), "seconds, above 0"),
        ("retries", retries, retries >= 0, "at least 0; 0 tries once"),
        ("first_wait", first_wait, 0 <= first_wait < float("inf"), "seconds, at least 0"),
        ("longest_wait", longest_wait, 0 <= longest_wait < float("inf"), "seconds, at least 0"),
    ]
    for name, value, good, expected in checks:
        if not good:
            raise ValueError(f"ServerPolicy.{name} is {value!r}: it must be {expected}")


class _Server:
    def __init__(self, policy: ServerPolicy, keys):
        self.policy, self.keys = policy, [RolloutKey(*key) for key in keys]
        self.turns = [0] * len(self.keys)

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        def ask(number):
            row = rows[number]
            return number, self.policy.ask(contexts[number], self.keys[row], self.turns[row])

        replies: list[Any] = [None] * len(rows)
        if len(rows) == 1:  # the caller may have threads of its own
            _, replies[0] = ask(0)
            self.turns[rows[0]] += 1
            return replies
        # The threads of this pool are daemons: an interrupt need not wait for replies under way.
        with ThreadPool(max(1, min(len(rows), self.policy.concurrency))) as pool:
            for number, reply in pool.imap_unordered(ask, range(len(rows))):
                replies[number] = reply
        for row in rows:
            self.turns[row] += 1
        return replies


def _seed(key: RolloutKey, turn: int) -> int:
    digest = hashlib.blake2b(json.dumps([*key, turn]).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1


def _is_server_trouble(error) -> bool:
    """Whether the status of an error is about the state of the server, not about the request."""
    return error.status_code in (408, 409, 429) or error.status_code >= 500


def _no_reply(*, trouble: str = "", finish: str | None = None) -> Reply:
    return Reply(Message("assistant", ""), Turn(0, finish=finish), trouble)
