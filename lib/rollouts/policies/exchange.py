"""An exchange with a server over HTTP, bounded in time and in size, that never shows its key.

The clients of HTTP libraries bound the wait for each piece, not for all of them, and unpack a
compressed body whatever its size. So an exchange runs on an event loop, where its deadline ends
whatever it waits for: a name, a connection, redirects, headers, the body of an answer or an error.
"""

import asyncio
import json
import threading
import time
import weakref
import zlib
from collections.abc import Mapping
from concurrent.futures import TimeoutError as NotDone
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from lib.rollouts.policies.redaction import Redactor
from lib.rollouts.policies.server_responses import Malformed

NO_KEY = "none"
"""What is sent to a server without a key, which takes any."""

CONNECT_WITHIN = 10.0  # seconds
MAX_BODY = 64 * 2**20
"""Bytes of an answer, before and after unpacking. 20 log-probs for each of 16,000 tokens take half
of it."""
MAX_ERROR = 64 * 2**10
"""Bytes that are read of the body of an error."""
MAX_REDIRECTS = 5


class Unreachable(Exception):
    """No connection could be made; `slow` where the time for it ran out."""

    def __init__(self, cause: str, *, slow: bool = False):
        super().__init__(cause)
        self.slow = slow


class Broken(Exception):
    """The connection broke; says how."""


class Slow(Exception):
    """The deadline came before the end of the answer."""


class Refused(Exception):
    """An answer with the status of an error.

    status: of HTTP.  text: of the answer, at most 500 characters.  error: its JSON object, or {}.
    retry_after: seconds that the server asks to wait for, None if it does not.
    """

    def __init__(self, status: int, text: str, error: Mapping[str, Any], retry_after: float | None):
        super().__init__(text)
        self.status, self.text, self.error = status, text, error
        self.retry_after = retry_after


class Exchange:
    """Exchanges with the server at an address, many at once.

    address: without the last part of the path, "http://127.0.0.1:8000/v1".
    api_key: sent as a bearer token, but not to the host of a redirect.

    Raises ValueError for an address that is none, or a key that no header can hold.
    """

    def __init__(self, address: str, api_key: str):
        import httpx2

        url, key = _checked(address), _checked_key(api_key)
        self.redact = Redactor(["" if key == NO_KEY else key, url.password])
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"Accept-Encoding": "identity", **bearer},
            timeout=httpx2.Timeout(None, connect=CONNECT_WITHIN),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )
        self._loop = _event_loop()
        weakref.finalize(self, _close, self._client, self._loop)

    def post(self, path: str, fields: Mapping[str, Any], deadline: float) -> Any:
        """The JSON value that answers a POST; `deadline` is on the clock of `time.monotonic`.

        Raises Unreachable, Broken, Slow, Refused, and Malformed for an answer that is no JSON.
        """
        return self._ask("POST", path, json.dumps(fields).encode(), deadline)

    def get(self, path: str, deadline: float) -> Any:
        """The JSON value that answers a GET, as `post`."""
        return self._ask("GET", path, None, deadline)

    def _ask(self, method: str, path: str, body: bytes | None, deadline: float) -> Any:
        import httpx2

        seconds = deadline - time.monotonic()
        work = asyncio.run_coroutine_threadsafe(
            self._exchange(method, path, body, max(seconds, 0)), self._loop
        )
        try:
            # The loop keeps to the deadline itself, unless its thread is gone, as after a fork.
            status, headers, answer = work.result(timeout=max(seconds, 0) + 1)
        except (TimeoutError, NotDone):
            work.cancel()
            raise Slow from None
        except httpx2.ConnectTimeout as error:
            raise Unreachable(self._cause(error), slow=True) from None
        except httpx2.ConnectError as error:
            raise Unreachable(self._cause(error)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            if isinstance(error, Malformed):
                raise
            raise Broken(self._cause(error)) from None
        if status >= 300:
            raise self._refused(status, headers, answer)
        return self._json(answer)

    def _cause(self, error: Exception) -> str:
        return self.redact(str(error) or type(error).__name__)

    async def _exchange(self, method, path, body, seconds) -> tuple[int, Mapping[str, str], bytes]:
        async with asyncio.timeout(seconds):
            content = {"Content-Type": "application/json"} if body is not None else {}
            request = self._client.build_request(method, path, content=body, headers=content)
            for _ in range(MAX_REDIRECTS + 1):
                # Redirects are followed here: the client would read their bodies to the end.
                response = await self._client.send(request, stream=True, follow_redirects=False)
                try:
                    after = response.next_request
                    if after is None or after.method != method:
                        most = MAX_BODY if response.is_success else MAX_ERROR
                        return response.status_code, response.headers, await _read(response, most)
                    request = after
                finally:
                    await response.aclose()
            raise Malformed(f"more than {MAX_REDIRECTS} redirects")

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes) -> Refused:
        text = body.decode("utf-8", "replace")
        if status < 400:
            text = f"it redirects to {headers.get('location', '?')}: give that address"
        try:
            error = self.redact.value(json.loads(text))
            text = json.dumps(error, ensure_ascii=False)  # without escapes in the key
        except (ValueError, RecursionError):
            error = {}
        text = self.redact(text)
        error = error if isinstance(error, dict) else {}
        inner = error.get("error")
        error = inner if isinstance(inner, dict) else {"message": inner} if inner else error
        wait = _retry_after(headers.get("retry-after", ""))
        return Refused(status, text[:500] or f"HTTP {status}", error, wait)

    def _json(self, body: bytes) -> Any:
        try:
            return self.redact.value(json.loads(body.decode("utf-8")))
        except (ValueError, RecursionError) as error:
            cause = self.redact(f"{type(error).__name__}: {error}")[:200]
            raise Malformed(f"no JSON ({cause})") from None


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """The loop of all exchanges. Its thread is a daemon: an interrupt need not wait for it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="exchanges with servers", daemon=True).start()
    return loop


def _close(client, loop: asyncio.AbstractEventLoop) -> None:
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(client.aclose(), loop)


async def _read(response, most: int) -> bytes:
    """The body of a response; of an error, what comes first."""
    packed, cut = bytearray(), not response.is_success
    async for piece in response.aiter_raw():
        packed += piece
        if len(packed) > most:
            if not cut:
                raise Malformed(f"it is longer than {most:,} bytes")
            break
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("identity", ""):
        return bytes(packed[:most])
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Malformed(f"it is encoded as {coding[:40]!r}, which was not asked for")
    unpacker = zlib.decompressobj(wbits=47)  # of gzip or zlib, by the header
    try:
        body = unpacker.decompress(bytes(packed), most)
    except zlib.error as error:
        raise Malformed(f"its {coding} encoding is broken ({error})") from None
    if unpacker.unconsumed_tail and not cut:
        raise Malformed(f"it is longer than {most:,} bytes")
    return body


def _retry_after(header: str) -> float | None:
    """The seconds to wait of a Retry-After header: a number of them, or a date of HTTP."""
    header = header.strip()
    if header.isascii() and header.replace(".", "", 1).isdigit() and len(header) < 20:
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _checked(address: str):
    import httpx2

    try:
        url = httpx2.URL(address)
    except (httpx2.InvalidURL, TypeError, ValueError):
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host:
        shown = address if "@" not in str(address) else "..."
        raise ValueError(
            f"address is {shown!r}: expected that of an OpenAI-compatible server, such as "
            "http://127.0.0.1:8000/v1"
        )
    return url


def _checked_key(api_key: str) -> str:
    key = api_key.strip()
    bad = next((at for at, letter in enumerate(key) if not "!" <= letter <= "~"), None)
    if bad is not None:
        raise ValueError(
            f"api_key cannot be sent: character {bad + 1} of it is not one of the printable ASCII "
            "characters that a header may hold. Check how it was copied."
        )
    return key
