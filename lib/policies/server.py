"""A policy that asks an OpenAI-compatible server: vLLM, llama.cpp, `transformers serve`, others."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lib.policies.dialects import Dialect, ServerChat
from lib.policies.protocol import Context, Key, PolicyError, Reply
from lib.trajectory import Message, ToolCall, Turn

_CONTEXT_WORDS = ("context length", "context window", "maximum context", "context size", "too long")


class ServerPolicy:
    """Samples from a model behind an OpenAI-compatible address, many requests at once.

    address: such as "http://127.0.0.1:8000/v1".  model: as the server names it.
    dialect: a text dialect asks for completions, `ServerChat` for chat.
    temperature, max_new_tokens, top_p, top_k (0 keeps all), repetition_penalty: all are sent, since
        a server fills what is not sent from the checkpoint's own settings, which differ by arm.
    extra: further fields for the body of each request, and overrides (a server that refuses a field
        gets it as None, which leaves it out).
    timeout: seconds for one reply; past it the attempt is missing.  retries: of a request that met a
        connection error, a full queue or a server error, with growing waits between.

    A request that the server says is too long ends its attempt with the reason "context". An address
    without a server, or a model the server does not have, raises PolicyError: nothing would work.
    """

    def __init__(
        self,
        address: str,
        model: str,
        dialect: Dialect | ServerChat,
        *,
        temperature: float,
        max_new_tokens: int,
        top_p: float = 1.0,
        top_k: int = 0,
        repetition_penalty: float = 1.0,
        extra: Mapping[str, Any] | None = None,
        api_key: str = "none",
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 4,
    ):
        import openai

        self.address, self.model, self.dialect = address, model, dialect
        self.concurrency, self.timeout = concurrency, timeout
        self.fields = {"temperature": temperature, "top_p": top_p, "max_tokens": max_new_tokens}
        self.body = {"top_k": top_k, "repetition_penalty": repetition_penalty}
        if isinstance(dialect, ServerChat):
            self.body["chat_template_kwargs"] = {"enable_thinking": dialect.thinking}
        self.body = {k: v for k, v in (self.body | dict(extra or {})).items() if v is not None}
        self.settings = {
            "policy": "server",
            "model": model,
            **dialect.settings,
            "sampling": self.fields | self.body,
        }
        self.client = openai.OpenAI(
            base_url=address, api_key=api_key, timeout=timeout, max_retries=retries
        )

    def start(self, keys: Sequence[Key]) -> "_Server":
        return _Server(self, keys)

    def ask(self, context: Context, key: Key, turn: int) -> Reply:
        """One reply; the seed sent is a function of the key and the number of the turn."""
        import openai

        name = json.dumps([*key, turn]).encode()
        seed = int.from_bytes(hashlib.blake2b(name, digest_size=4).digest(), "little") >> 1
        try:
            if isinstance(self.dialect, ServerChat):
                return self._chat(context, seed)
            return self._complete(context, seed)
        except openai.APITimeoutError:
            return _nothing(trouble=f"timeout: no reply within {self.timeout:g} s")
        except openai.APIConnectionError as error:
            raise PolicyError(
                f"no server answers at {self.address} ({error.__cause__ or error}). Start one, or "
                "correct the address; what was collected is kept, and a rerun goes on from it."
            ) from error
        except openai.NotFoundError as error:
            raise PolicyError(
                f"{self.address} has no model {self.model!r}; it has {self._models()}. ({error})"
            ) from error
        except openai.BadRequestError as error:
            if any(words in str(error).lower() for words in _CONTEXT_WORDS):
                return _nothing(finish="context")
            raise self._refused(error) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise self._refused(error) from error
        except openai.UnprocessableEntityError as error:
            raise self._refused(error) from error
        except openai.APIStatusError as error:
            return _nothing(trouble=f"server error {error.status_code}")

    def _complete(self, context, seed) -> Reply:
        answer = self.client.completions.create(
            model=self.model,
            prompt=self.dialect.prompt(context),
            stop=list(self.dialect.stops) or None,
            seed=seed,
            n=1,
            extra_body=self.body,
            **self.fields,
        )
        choice = answer.choices[0]
        message = self.dialect.read(choice.text or "", context)
        return Reply(message, Turn(0, finish=choice.finish_reason))

    def _chat(self, context, seed) -> Reply:
        answer = self.client.chat.completions.create(
            model=self.model,
            seed=seed,
            n=1,
            extra_body=self.body,
            **self.dialect.request(context),
            **self.fields,
        )
        choice = answer.choices[0]
        calls = [_tool_call(call) for call in choice.message.tool_calls or ()]
        message = Message(
            "assistant", choice.message.content or "", tuple(call for call in calls if call)
        )
        return Reply(message, Turn(0, finish=choice.finish_reason))

    def _models(self) -> str:
        import openai

        try:
            return ", ".join(model.id for model in self.client.models.list()) or "none"
        except openai.OpenAIError:
            return "a list it does not tell"

    def _refused(self, error) -> PolicyError:
        return PolicyError(
            f"{self.address} refused the request for {self.model!r}: {error}. If it does not know a "
            "field, leave it out with extra={field: None}."
        )


class _Server:
    def __init__(self, policy: ServerPolicy, keys):
        self.policy, self.keys = policy, [Key(*key) for key in keys]
        self.turns = [0] * len(self.keys)

    def reply(self, rows: Sequence[int], contexts: Sequence[Context]) -> list[Reply]:
        with ThreadPoolExecutor(self.policy.concurrency) as pool:
            asked = [
                pool.submit(self.policy.ask, context, self.keys[row], self.turns[row])
                for row, context in zip(rows, contexts, strict=True)
            ]
            try:
                replies = [one.result() for one in asked]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        for row in rows:
            self.turns[row] += 1
        return replies


def _nothing(*, finish: str | None = None, trouble: str = "") -> Reply:
    return Reply(Message("assistant", ""), Turn(0, finish=finish), trouble)


def _tool_call(call) -> ToolCall | None:
    """A call as the server read it; None if its arguments are no JSON object."""
    try:
        arguments = json.loads(call.function.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return ToolCall(call.function.name, arguments, call.id) if isinstance(arguments, dict) else None
