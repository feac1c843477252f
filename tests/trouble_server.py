"""A server that answers well once, and then in one way of trouble for ever: bytes and pauses."""

import gzip
import json
import socketserver
import threading
import time
from contextlib import contextmanager, suppress

KEY = "sk-Ab/9+x-0123456789"


def head(status=200, **headers):
    lines = [f"HTTP/1.1 {status} x", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(body, status=200, **headers):
    """A whole response with a JSON value, a text or bytes as its body."""
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    body = text.encode() if isinstance(text, str) else text
    headers = {"Content_Type": "application/json", "Content_Length": len(body)} | headers
    return [head(status, Connection="close", **headers) + body]


def message(finish="stop", **fields):
    return answer(
        {"choices": [{"message": {"role": "assistant", **fields}, "finish_reason": finish}]}
    )


def drip(data, pause=0.05):
    """Byte by byte, for ever if it must be."""
    for at in range(len(data)):
        yield data[at : at + 1]
        yield pause


def endless(first, piece=b" ", pause=0.05):
    yield first
    while True:
        yield piece
        yield pause


class Trouble(socketserver.ThreadingTCPServer):
    """Answers a POST by `script(server)`: bytes to send, seconds to wait; `seen` keeps requests."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.seen, self.good = script, [], True
        self.address = f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            request += line
        length = [
            int(v[15:]) for v in request.split(b"\r\n") if v.lower().startswith(b"content-len")
        ]
        self.rfile.read(sum(length))
        self.server.seen.append(request.decode())
        if request.startswith(b"GET"):
            script = answer({"data": [{"id": "m"}]})
        elif self.server.good:
            self.server.good, script = False, message(content="good")
        else:
            script = self.server.script(self.server)
        with suppress(OSError):
            for step in script:
                if isinstance(step, bytes):
                    self.wfile.write(step)
                else:
                    time.sleep(step)


@contextmanager
def troubling(script):
    with Trouble(script) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield server
        finally:
            server.shutdown()


def bomb(size):
    return gzip.compress(b" " * size)


def call(**fields):
    return {"id": "a", "type": "function", "function": {"name": "press", **fields}}


ECHO = {"error": {"message": f"no access for Bearer {KEY}"}}
ESCAPED = json.dumps(ECHO).replace("sk-", "\\u0073k-")

MISSING = {
    # shapes of an answer
    "an empty body": answer(b""),
    "html": answer("<html>502</html>", Content_Type="text/html"),
    "a list": answer([{"message": {"content": "x"}}]),
    "a string": answer('"hello"'),
    "a torn body": answer(b'{"choices": [{"mess'),
    "no UTF-8": answer(b"\xff\xfe"),
    "deep nesting": answer(b"[" * 99999),
    "an integer of many digits": answer(b"1" * 99999),
    "no choices": answer({"choices": []}),
    "choices is an object": answer({"choices": {"a": 1}}),
    "a choice of null": answer({"choices": [None]}),
    "an error with status 200": answer(ECHO),
    "no message": answer({"choices": [{"finish_reason": "stop"}]}),
    "a message of null": answer({"choices": [{"message": None}]}),
    "a text in the place of a message": answer({"choices": [{"text": "x"}]}),
    "a message without content": message(),
    "content null": message(content=None),
    "content a number": message(content=5),
    "content an object": message(content={"text": "x"}),
    "content a list of text": message(content=["x"]),
    "content an empty list": message(content=[]),
    "calls that are no list": message(tool_calls={"a": 1}),
    "a call of null": message(tool_calls=[None]),
    "a call without a function": message(tool_calls=[{"id": "a"}]),
    "a call without a name": message(tool_calls=[{"function": {"arguments": "{}"}}]),
    "arguments a number": message(tool_calls=[call(arguments=5)]),
    # how it ended
    "finish error": message(finish="error", content="half"),
    "finish abort": message(finish="abort", content="half"),
    "finish content_filter": message(finish="content_filter", content=None),
    # statuses
    "400 that repeats the key": answer(ECHO, 400),
    "422 that escapes the key": answer(ESCAPED, 422),
    "429": answer(ECHO, 429),
    "500 in html": answer(f"<p>{KEY}</p>", 500),
    "503 with Retry-After of an hour": answer(ECHO, 503, Retry_After=3600),
    "503 with Retry-After as a date": answer(
        ECHO, 503, Retry_After="Fri, 01 Jan 2100 00:00:00 GMT"
    ),
    "529 with a huge body": answer(b"x" * 3_000_000, 529),
    # connections
    "it closes at once": [],
    "it closes in the headers": [b"HTTP/1.1 200 OK\r\nContent-Le"],
    "it closes in the body": [head(Content_Length=99) + b'{"choices"'],
    "it is not HTTP": [b"SSH-2.0-OpenSSH\r\n"],
    "broken chunks": [head(Transfer_Encoding="chunked") + b"zz\r\n"],
    "headers without an end": lambda server: endless(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", 0),
    # slowness
    "silence": [60.0],
    "silence after the headers": [head(Content_Length=9), 60.0],
    "headers that drip": lambda server: drip(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 999),
    "a body that drips": lambda server: endless(head(Content_Length=99999)),
    "an error that drips": lambda server: endless(head(500, Content_Length=99999)),
    "hints that drip": lambda server: endless(b"HTTP/1.1 103 x\r\n\r\n" * 2, head(103)),
    "a redirect that drips": lambda server: drip(
        b"HTTP/1.1 307 x\r\nLocation: /v1/chat/completions\r\n" + b"X-A: b\r\n" * 999
    ),
    "the body of a redirect that drips": lambda server: endless(
        head(307, Location="/v1/chat/completions", Content_Length=99999)
    ),
    "redirects in a circle": answer("", 307, Location="/v1/chat/completions"),
    "a redirect that makes it a GET": answer("", 302, Location=f"/login?key={KEY}"),
    # sizes
    "a gzip bomb": answer(bomb(10**8), Content_Encoding="gzip"),
    "a gzip bomb as an error": answer(bomb(10**8), 500, Content_Encoding="gzip"),
    "a broken gzip": answer(b"no gzip", Content_Encoding="gzip"),
    "an unknown encoding": answer(b"x", Content_Encoding=KEY),
    "a length that lies": [head(Content_Length=10**15) + b"x", 60.0],
}
"""Ways of trouble, each with its response: the attempt is missing, never a failure."""


def well(content, **headers):
    body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    return answer(body, **headers)


ANSWERED = {
    "gzip": lambda: answer(
        gzip.compress(well("yes")[0].split(b"\r\n\r\n")[1]), Content_Encoding="gzip"
    ),
    "empty text": lambda: well(""),
    "the key in the text": lambda: well(f"Bearer {KEY}"),
    "the key in a call": lambda: message(tool_calls=[call(arguments=json.dumps({"n": KEY}))]),
    "the key in a thought": lambda: message(content="x", reasoning_content=KEY),
    "a refusal": lambda: message(content=None, refusal="No."),
    "an unknown finish": lambda: message(finish="because", content="x"),
    "odd log-probs": lambda: answer(
        {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [None, {"token": 1}]}}]}
    ),
}
"""Odd answers that are answers."""
