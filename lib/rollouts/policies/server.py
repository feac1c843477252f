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
from lib.rollouts.prompts.harness import cut_at_stop
from lib.rollouts.prompts.prompt_formats import BREAK, PromptFormat, ServerChat
from lib.trajectories.schema import Message, RolloutKey, Turn

Kind = Literal["vllm", "llama.cpp", "transformers"]

_CONNECT_WITHIN = 10.0  # seconds

GIVE_UP_AFTER = 32
"""Timeouts, server errors, broken connections and malformed answers in a row, each after its
retries and with no reply in between, that stop the run: the server is then down or far too slow,
and all other attempts would go missing.
As many as there are requests under way by default, so that one pause is not taken for an end.
"""


class ServerPolicy:
    """Samples from a model behind an OpenAI-compatible address, many requests at once.

    address: such as "http://127.0.0.1:8000/v1".  model: as the server names it.
    prompt_format: a text format asks for completions, `ServerChat` for chat.
    kind: whose names the sampling fields beyond OpenAI's have, see `sampling_fields`.
    temperature, max_new_tokens, top_p, top_k (0 keeps all), repetition_penalty (1 is none): all are
        sent, since a server fills what is not sent from the checkpoint's own settings, which
        differ by arm.
    extra: further fields for the body of each request; None leaves one out that a server refuses.
    concurrency: requests under way at once.
    timeout: seconds for one reply; past it the attempt is missing. A reply that trickles in is
        left at the next pause or piece after that.
    retries: of a request that met a broken connection, a full queue, a server error or a malformed
        answer, after waits of about `first_wait` seconds, doubled each time up to `longest_wait`.

    The server turns text to tokens by its own rules: in what a tool answered, the name of a special
    token may become one, which it does not with a model here.

    A request that the server says is too long ends its attempt with the reason "context"; one that
    it cannot serve leaves it missing, with the reason. An address where no server answers, a model
    that it does not have, a refusal before it has answered anything, and trouble `GIVE_UP_AFTER`
    times in a row raise PolicyError, as all requests would fare alike.
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

        Sampling(  # which checks them
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
        self._in_vain, self._counting = 0, threading.Lock()
        self._client = openai.OpenAI(
            base_url=address,
            api_key=api_key,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_WITHIN)),
            max_retries=0,  # it would repeat what has timed out as well
        )
        self._retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(retries + 1),
            wait=tenacity.wait_exponential_jitter(
                multiplier=first_wait, max=longest_wait, jitter=first_wait
            ),
            retry=tenacity.retry_if_exception(self._may_pass),
            reraise=True,
        )

    def start(self, keys: Sequence[RolloutKey]) -> "_Server":
        return _Server(self, keys)

    def ask(self, context: Context, key: RolloutKey, turn: int) -> Reply:
        """One reply; the seed sent is a function of the key and the number of the turn."""
        import openai

        try:
            reply = self._retrying(self._send, context, _seed(key, turn))
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            connecting = "Connect" in type(cause).__name__
            if isinstance(error, openai.APITimeoutError) and (self._answered or not connecting):
                return self._trouble(f"timeout: no reply within {self.timeout:g} s")
            if self._answered and not connecting:  # it is there, and may only break on this request
                return self._trouble(f"the connection broke ({cause})")
            raise PolicyError(
                f"no server answers at {self.address} ({cause}). Start one, or correct the "
                "address; what was collected is kept, and a rerun goes on from it."
            ) from error
        except openai.APIStatusError as error:
            return self._refusal(error)
        except Malformed as error:
            if self._answered or self._models():  # a server of this sort, then
                return self._trouble(f"malformed answer: {error}")
            raise PolicyError(
                f"what answers at {self.address} is no OpenAI-compatible server (malformed answer: "
                f"{error}): give an address that ends in /v1"
            ) from error
        self._answered, self._in_vain = True, 0
        return reply

    def _trouble(self, said: str) -> Reply:
        """A reply that did not come because of the server's state, unless that seems to last."""
        with self._counting:
            self._in_vain += 1
            if self._in_vain < GIVE_UP_AFTER:
                return _no_reply(trouble=said)
        raise PolicyError(
            f"{self.address} has not served {GIVE_UP_AFTER} requests in a row, each tried again as "
            f"often as allowed; the last one: {said}. See to the server, or allow it more time or "
            "fewer requests at once. What was collected is kept; a rerun with retry_missing "
            "repeats what is missing."
        )

    def _send(self, context: Context, seed: int) -> Reply:
        chat = isinstance(self.prompt_format, ServerChat)
        endpoint = self._client.chat.completions if chat else self._client.completions
        if chat:
            asked = self.prompt_format.request(context)
        else:
            asked = {"prompt": self.prompt_format.prompt(context).replace(BREAK, "")}
            asked |= {"stop": list(self.prompt_format.stops)} if self.prompt_format.stops else {}
        deadline = time.monotonic() + self.timeout
        with endpoint.with_streaming_response.create(
            model=self.model, seed=seed, extra_body=self.sampling, **asked
        ) as response:
            choice = first_choice(read_body(response, deadline))
        turn, likely = Turn(0, finish=finish_of(choice)), likely_of(choice)
        if not chat:
            # Some servers keep what stopped them.
            text, _ = cut_at_stop(text_of(choice, "text"), self.prompt_format.stops)
            return Reply(self.prompt_format.read(text, context), turn, likely=likely)
        text, calls, split = message_of(choice)
        if split:
            return Reply(Message("assistant", text, calls), turn, likely=likely)
        return Reply(self.prompt_format.read(text, context), turn, likely=likely)

    def _may_pass(self, error: BaseException) -> bool:
        """Whether the same request may be answered later."""
        import openai

        if isinstance(error, openai.APIConnectionError):
            return self._answered and not isinstance(error, openai.APITimeoutError)
        if isinstance(error, Malformed):
            return self._answered
        return isinstance(error, openai.APIStatusError) and _of_the_server(error)

    def _refusal(self, error) -> Reply:
        said = error.response.text[:500] or str(error)
        if says_too_long(error):
            if self._answered:
                self._in_vain = 0
                return _no_reply(finish="context")
            # All may be, of a server that cannot serve any: then no attempt has failed.
            return self._trouble(f"too long, before anything was answered: {said}")
        lost = error.status_code == 404
        models = self._models() if lost or not self._answered else None
        if self.model not in models if models else lost:
            listed = ", ".join(map(repr, models)) if models else "none that it tells of"
            raise PolicyError(
                f"{self.address} has no model {self.model!r} (it has {listed}): give the name of "
                f"one it has, and an address that ends in /v1. It said {error.status_code}: {said}"
            ) from error
        if _of_the_server(error):
            return self._trouble(f"server error {error.status_code}: {said}")
        if self._answered and error.status_code not in (401, 403):  # a key that expired stays so
            self._in_vain = 0  # it is there, and what it refuses is this request
            return _no_reply(trouble=f"refused ({error.status_code}): {said}")
        raise PolicyError(
            f"{self.address} refuses what it is asked of {self.model!r}, with "
            f"{error.status_code}: {said}. Fields are named as "
            f"{self.settings['kind']} does; choose another `kind`, or leave one out: "
            "extra={field: None}."
        ) from error

    def _models(self) -> list[str] | None:
        """The models that the server names, None if it does not say."""
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
    """The fields of a request that leave a server of this kind nothing to choose.

    vLLM and llama.cpp have names of their own for what OpenAI's interface lacks; `transformers
    serve` takes a whole generation_config, and without one may not sample at all.
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
            # Its own order has the temperature last, and so keeps other tokens.
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
            raise ValueError(f"ServerPolicy: {name} is {value!r}: it must be {expected}")


class _Server:
    def __init__(self, policy: ServerPolicy, keys):
        self.policy, self.keys = policy, [RolloutKey(*key) for key in keys]
        self.turns = [0] * len(self.keys)

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        def ask(number):
            row = rows[number]
            return number, self.policy.ask(contexts[number], self.keys[row], self.turns[row])

        replies: list[Any] = [None] * len(rows)
        if len(rows) == 1:  # as whoever has threads of its own asks
            _, replies[0] = ask(0)
            self.turns[rows[0]] += 1
            return replies
        # The threads of this pool do not keep a process alive: who interrupts need not wait for
        # the replies under way.
        with ThreadPool(max(1, min(len(rows), self.policy.concurrency))) as pool:
            for number, reply in pool.imap_unordered(ask, range(len(rows))):
                replies[number] = reply
        for row in rows:
            self.turns[row] += 1
        return replies


def _seed(key: RolloutKey, turn: int) -> int:
    digest = hashlib.blake2b(json.dumps([*key, turn]).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1


def _of_the_server(error) -> bool:
    """Whether a status speaks of the server's state, not of the request."""
    return error.status_code in (408, 409, 429) or error.status_code >= 500


def _no_reply(*, trouble: str = "", finish: str | None = None) -> Reply:
    return Reply(Message("assistant", ""), Turn(0, finish=finish), trouble)
