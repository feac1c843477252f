"""A policy that asks an OpenAI-compatible server: vLLM, llama.cpp, `transformers serve`, others."""

import hashlib
import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from typing import Any

from lib.rollouts.call_formats import split_thought
from lib.rollouts.policies.exchange import (
    CONNECT_WITHIN,
    NO_KEY,
    Broken,
    Exchange,
    Refused,
    Slow,
    Unreachable,
)
from lib.rollouts.policies.protocol import Context, PolicyError, PromptRefused, Reply
from lib.rollouts.policies.server_responses import (
    CutOff,
    Malformed,
    Nothing,
    Withheld,
    finish_of,
    first_choice,
    likely_of,
    message_of,
    says_template_refuses,
    says_too_long,
    text_of,
)
from lib.rollouts.policies.server_settings import Kind, check_limits, sampling_fields
from lib.rollouts.prompts.chat import ServerChat
from lib.rollouts.prompts.harness import cut_at_stop
from lib.rollouts.prompts.protocol import BREAK, PromptFormat
from lib.trajectories.schema import Message, RolloutKey, Turn

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
    api_key: sent as a bearer token. Where the server repeats it, [key] is written instead.
    timeout: seconds for a reply, with all its retries, redirects and waits; after that the attempt
        is missing.
    retries: how often to repeat a request after a broken connection, a full queue, a server error
        or a malformed answer. The first wait is about `first_wait` seconds; each further wait is
        twice as long, up to `longest_wait`. Where the server says how long to wait (Retry-After),
        it is so long, and the request is given up if that is past the timeout.

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
        api_key: str = NO_KEY,
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 5,
        first_wait: float = 1.0,
        longest_wait: float = 60.0,
    ):
        import tenacity

        from lib.generation import Sampling

        Sampling(  # checks its fields
            temperature=temperature,
            max_new_tokens=max_new_tokens,
            top_p=top_p,
            top_k=top_k,
            repetition_penalty=repetition_penalty,
        )
        check_limits(concurrency, timeout, retries, first_wait, longest_wait)
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
        self._exchange = Exchange(address, api_key)
        self.settings = {
            "policy": "server",
            "model": model,
            "kind": kind,
            **prompt_format.settings,
            "sampling": self._exchange.redact.value(self.sampling),
        }
        self._answered = False
        self._failures_in_a_row, self._counting = 0, threading.Lock()
        self._first_wait = first_wait
        self._backoff = tenacity.wait_exponential_jitter(
            multiplier=first_wait, max=longest_wait, jitter=first_wait
        )
        self._retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(retries + 1) | tenacity.stop_before_delay(timeout),
            wait=self._wait,
            retry=tenacity.retry_if_exception(self._may_recover),
            reraise=True,
        )

    def start(self, keys: Sequence[RolloutKey]) -> "_Server":
        return _Server(self, keys)

    def check(self) -> None:
        """Raise PolicyError unless a server answers at the address and has the model.

        The server's list of models tells; if it does not hold the model, a request for one token.
        """
        models = self._models()
        if not models or self.model not in models:
            context = Context("", (), (Message("user", "Hello"),))
            self.ask(context, RolloutKey(0, "check", 0), 0, max_tokens=1)

    def ask(self, context: Context, key: RolloutKey, turn: int, **fields: Any) -> Reply:
        """Ask for a reply. The seed sent is a function of the key and the number of the turn.

        fields: of this request alone.
        """
        deadline = time.monotonic() + self.timeout
        try:
            reply = self._retrying(self._send, context, _seed(key, turn), deadline, fields)
        except PromptRefused as error:
            return _no_reply(trouble=str(error))
        except Slow:
            return self._trouble(f"timeout: no reply within {self.timeout:g} s")
        except Unreachable as error:
            if error.slow and self._answered:
                return self._trouble(f"timeout: no reply within {self.timeout:g} s")
            raise self._no_server(error) from None
        except Broken as error:
            if not self._answered:
                raise self._no_server(error) from None
            return self._trouble(f"the connection broke ({error})")  # this request may break it
        except Refused as error:
            return self._refusal(error)
        except CutOff as error:
            return self._trouble(str(error))
        except Malformed as error:
            if self._answered or self._models():  # so it is an OpenAI-compatible server
                return self._trouble(f"malformed answer: {error}")
            raise PolicyError(
                f"{self._shown} does not answer like an OpenAI-compatible server (malformed "
                f"answer: {error}). Give an address that ends in /v1."
            ) from None
        except Withheld as error:
            reply = _no_reply(trouble=str(error))
        self._answered, self._failures_in_a_row = True, 0
        return reply

    @property
    def _shown(self) -> str:
        """The address in messages, without a password in it."""
        return self._exchange.redact(self.address)

    def _no_server(self, error: Exception) -> PolicyError:
        return PolicyError(
            f"no server answers at {self._shown} ({error}). Start it, or correct the address. "
            "Collected attempts are kept, and a rerun plays the others."
        )

    def _trouble(self, reason: str) -> Reply:
        """A missing reply, or PolicyError if too many in a row are missing."""
        with self._counting:
            self._failures_in_a_row += 1
            if self._failures_in_a_row < GIVE_UP_AFTER:
                return _no_reply(trouble=reason)
        raise PolicyError(
            f"{self._shown} has failed {GIVE_UP_AFTER} requests in a row after all retries; the "
            f"last one: {reason}. Check the server, or set a longer `timeout` or a lower "
            "`concurrency`. Collected attempts are kept; a rerun with retry_missing plays those "
            "that are missing again."
        )

    def _send(self, context: Context, seed: int, deadline: float, more: dict[str, Any]) -> Reply:
        chat = isinstance(self.prompt_format, ServerChat)
        more = {"model": self.model, "seed": seed, **self.sampling, **more}
        if chat:
            answer = self._chat(context, more, deadline)
        else:
            fields = {"prompt": self.prompt_format.prompt(context).replace(BREAK, "")}
            fields |= {"stop": list(self.prompt_format.stops)} if self.prompt_format.stops else {}
            answer = self._exchange.post("/completions", fields | more, deadline)
        choice = first_choice(answer)
        turn, likely = Turn(0, finish=finish_of(choice)), likely_of(choice)
        if not chat:
            # Some servers keep the stop string in the text.
            text, _ = cut_at_stop(text_of(choice), self.prompt_format.stops)
            return Reply(self.prompt_format.read(text, context), turn, likely=likely)
        message, has_calls = message_of(choice, context.tools, self.prompt_format.parser)
        if has_calls:
            thoughts = message.thought, split_thought(message.content).thought
        else:  # the server may have left some in the text
            read = self.prompt_format.read(message.content, context)
            message, thoughts = read, (message.thought, read.thought)
        thought = "\n\n".join(filter(None, dict.fromkeys(thoughts)))
        return Reply(replace(message, thought=thought), turn, likely=likely)

    def _chat(self, context: Context, more: dict[str, Any], deadline: float) -> Any:
        """The answer to a chat request, in the first form that the server's template takes."""
        refusals = []
        for fields in self.prompt_format.requests(context):
            try:
                return self._exchange.post("/chat/completions", fields | more, deadline)
            except Refused as error:
                refusals.append(error)
                if not says_template_refuses(error.status, error.text):
                    break
        raise refusals[0]

    def _wait(self, state) -> float:
        """Seconds to wait before the next try."""
        asked = getattr(state.outcome.exception(), "retry_after", None)
        if asked is None:
            return self._backoff(state)
        # Many requests wait together, and need not come back together.
        return asked + random.uniform(0, self._first_wait)

    def _may_recover(self, error: BaseException) -> bool:
        """Whether the same request may succeed later."""
        if isinstance(error, CutOff | Nothing):
            return isinstance(error, CutOff)
        if isinstance(error, Unreachable | Broken | Malformed):
            return self._answered and not getattr(error, "slow", False)
        return isinstance(error, Refused) and _is_server_trouble(error)

    def _refusal(self, error: Refused) -> Reply:
        status, answer = error.status, error.text
        if says_too_long(status, error.error):
            if self._answered:
                self._failures_in_a_row = 0
                return _no_reply(finish="context")
            # Perhaps every request is too long for this server. Then no attempt has failed.
            return self._trouble(f"too long, before anything was answered: {answer}")
        unknown = status == 404
        models = self._models() if unknown or not self._answered else None
        if self.model not in models if models else unknown:
            raise PolicyError(
                f"{self._shown} has no model {self.model!r} ({_listed(models)}). Give the name of "
                f"a model that it has, and an address that ends in /v1. It answered {status}: "
                f"{answer}"
            )
        if _is_server_trouble(error):
            wait = f" (wait {error.retry_after:g} s)" if error.retry_after is not None else ""
            return self._trouble(f"server error {status}{wait}: {answer}")
        if self._answered and status not in (401, 403):  # an expired key stays expired
            self._failures_in_a_row = 0  # the server works; it refuses this request only
            return _no_reply(trouble=f"refused ({status}): {answer}")
        remedy = (
            "Give it the key that it wants."
            if status in (401, 403)
            else f"Their fields are those of {self.settings['kind']}: choose another `kind`, or "
            "remove a field with extra={field: None}."
        )
        raise PolicyError(
            f"{self._shown} refuses requests to {self.model!r}, with {status}: {answer}. {remedy}"
        )

    def _models(self) -> list[str] | None:
        """The models that the server lists, None if it lists none."""
        deadline = time.monotonic() + min(self.timeout, CONNECT_WITHIN)
        try:
            answer = self._exchange.get("/models", deadline)
            return [model["id"] for model in answer["data"]]
        except (Unreachable, Broken, Slow, Refused, ValueError, LookupError, TypeError):
            return None


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


def _is_server_trouble(error: Refused) -> bool:
    """Whether the status of an error is about the state of the server, not about the request."""
    return error.status in (408, 409, 429) or error.status >= 500


def _listed(models: Sequence[str] | None) -> str:
    if not models:
        return "it lists none"
    more = f" and {len(models) - 8} more" if models[8:] else ""
    return f"it has {', '.join(map(repr, models[:8]))}{more}"


def _no_reply(*, trouble: str = "", finish: str | None = None) -> Reply:
    return Reply(Message("assistant", ""), Turn(0, finish=finish), trouble)
