"""A server that records what it is asked and answers as a function says."""

import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Recorder(ThreadingHTTPServer):
    """Answers a POST with what `answer(body)` returns, (status, JSON), and keeps the bodies."""

    daemon_threads = True
    request_queue_size = 128  # connections that wait to be taken; the default of 5 resets the rest

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.bodies, self.models = answer, [], ["m"]
        self.address = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.respond(*self.server.answer(body))

    def do_GET(self):
        self.respond(200, {"object": "list", "data": [{"id": m} for m in self.server.models]})

    def respond(self, status, answer):
        if isinstance(status, float):  # seconds without an answer
            time.sleep(status)
            status = 200
        if answer is None:  # the connection breaks
            self.close_connection = True
            return
        if hasattr(answer, "send"):  # piece by piece
            self.send_response(status)
            self.end_headers()
            with suppress(OSError):
                for piece in answer:
                    self.wfile.write(piece)
            return
        written = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(answer):
    with Recorder(answer) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield server
        finally:
            server.shutdown()


def completion(text, finish="stop"):
    return 200, {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}


def chat(**message):
    message = {"role": "assistant", "content": None, **message}
    return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
