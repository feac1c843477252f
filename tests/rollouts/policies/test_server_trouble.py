"""Servers that fail, refuse, or answer in odd ways."""

import socket
import time
from itertools import pairwise

import pytest

from lib.rollouts.collection import collect, table
from lib.rollouts.policies import PolicyError
from lib.rollouts.policies.server import GIVE_UP_AFTER
from lib.rollouts.prompts import ServerChat
from lib.trajectories.schema import Message
from tests import buttons
from tests.asking import ask, server_policy
from tests.conversations import CALL, continued
from tests.recorder import chat, completion, serving


def call(arguments):
    return {"id": "a", "type": "function", "function": {"name": "press", "arguments": arguments}}


def failing(*answers):
    """Answers one after another, and the last for ever."""
    left = list(answers)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def test_a_timeout_is_missing():
    with serving(lambda body: (0.5, completion("")[1])) as server:
        (reply,) = ask(server_policy(server.address, timeout=0.1))
    assert reply.trouble == "timeout: no reply within 0.1 s"
    assert len(server.bodies) == 1  # what has timed out once is not asked again


def error(status, message):
    return status, {"error": {"message": message}}


LIMITS = [
    "This model's maximum context length is 2048 tokens. However, you requested 2049 tokens",
    "the request exceeds the available context size, try increasing it",
]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_prompt_that_is_too_long_ends_the_attempt(limit):
    with serving(failing(completion("a"), error(400, limit))) as server:
        policy = server_policy(server.address)
        ask(policy)
        (reply,) = ask(policy)
    assert (reply.trouble, reply.turn.finish) == ("", "context")


def test_before_any_answer_too_long_is_no_failure():
    with serving(lambda body: error(400, LIMITS[0])) as server:
        policy = server_policy(server.address)
        assert "too long, before anything was answered" in ask(policy)[0].trouble
        with pytest.raises(PolicyError, match="maximum context length"):
            ask(policy, GIVE_UP_AFTER)


ECHOES = [
    (422, {"detail": [{"msg": "odd", "input": "maximum context length"}]}),
    error(400, "unknown role in 'the context window is too long'"),
]


@pytest.mark.parametrize("echo", ECHOES)
def test_a_refusal_that_repeats_the_request_is_not_taken_for_too_long(echo):
    with serving(failing(completion("a"), echo)) as server:
        policy = server_policy(server.address)
        ask(policy)
        (reply,) = ask(policy)
    assert reply.trouble.startswith("refused (4")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_error_that_passes_is_no_trouble(status):
    with serving(failing(error(status, "busy"), error(status, "busy"), completion("a"))) as server:
        (reply,) = ask(server_policy(server.address))
    assert (reply.message.content, reply.trouble, len(server.bodies)) == ("a", "", 3)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_error_that_stays_is_missing(status):
    with serving(lambda body: error(status, "busy")) as server:
        (reply,) = ask(server_policy(server.address, retries=3))
    assert reply.trouble.startswith(f"server error {status}: ")
    assert len(server.bodies) == 4


def test_a_server_error_that_stays_for_all_stops_the_run():
    with serving(failing(completion("a"), error(503, "busy"))) as server:
        policy = server_policy(server.address, retries=0, concurrency=4)
        ask(policy)
        assert all(reply.trouble for reply in ask(policy, GIVE_UP_AFTER - 1))
        with pytest.raises(PolicyError, match=rf"{server.address} .* row.*503.*retry_missing"):
            ask(policy)


def test_a_reply_in_between_restarts_the_count():
    down = [error(500, "ill")] * (GIVE_UP_AFTER - 1)
    with serving(failing(*down, completion("a"), error(500, "ill"))) as server:
        policy = server_policy(server.address, retries=0, concurrency=1)
        assert len(ask(policy, 2 * GIVE_UP_AFTER - 1)) == 2 * GIVE_UP_AFTER - 1


def test_the_waits_grow():
    came = []

    def busy(body):
        came.append(time.monotonic())
        return error(503, "busy")

    with serving(busy) as server:
        ask(server_policy(server.address, retries=3, first_wait=0.05, longest_wait=1.0))
    waits = [after - before for before, after in pairwise(came)]
    assert waits[0] >= 0.05
    assert waits[2] >= 0.2


def closed_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_an_address_without_a_server_stops_the_run():
    address = f"http://127.0.0.1:{closed_port()}/v1"
    start = time.monotonic()
    with pytest.raises(PolicyError, match=f"no server answers at {address} .*Start it, or"):
        ask(server_policy(address, first_wait=60.0), 4)
    assert time.monotonic() - start < 5


def test_a_server_that_goes_away_stops_the_run():
    with serving(lambda body: completion("a")) as server:
        policy = server_policy(server.address, retries=2)
        ask(policy)
    with pytest.raises(PolicyError, match="a rerun plays the others"):
        ask(policy)


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_wrong_model_stops_the_run(status):
    with serving(lambda body: error(status, "what is m?")) as server:
        server.models = ["one", "two"]
        with pytest.raises(
            PolicyError, match=rf"{server.address} has no model 'm' \(it has 'one', 'two'\)"
        ):
            ask(server_policy(server.address, retries=0))


def test_a_field_that_a_server_does_not_know_stops_the_run():
    with (
        serving(lambda body: error(422, "Unexpected fields: top_k")) as server,
        pytest.raises(PolicyError, match=r"top_k.*another `kind`.*extra=\{field: None\}"),
    ):
        ask(server_policy(server.address))


def test_a_refusal_after_answers_is_missing():
    with serving(failing(completion("a"), error(400, "odd roles"))) as server:
        policy = server_policy(server.address)
        ask(policy)
        (reply,) = ask(policy)
    assert reply.trouble.startswith("refused (400): ")


def test_a_server_of_another_sort_stops_the_run():
    with serving(lambda body: (200, {"hello": "world"})) as server:
        server.models = []
        with pytest.raises(
            PolicyError, match=r"does not answer like an OpenAI-compatible server.*ends in /v1"
        ):
            ask(server_policy(server.address))


def test_a_malformed_answer_before_any_other_is_one_attempts_trouble():
    with serving(failing((200, b""), completion("a"))) as server:
        policy = server_policy(server.address)
        assert ask(policy)[0].trouble.startswith("malformed answer: no JSON")
        assert ask(policy)[0].message.content == "a"


ODD = [
    completion(5),
    (200, {"choices": {"a": 1}}),
    (200, {"choices": [None]}),
    (200, b'{"choices": [{"te'),
    (200, b"\xff"),
    (200, b"[" * 99999),
]
ODD_CHATS = [
    (200, {"choices": [{"message": None}]}),
    chat(content=["a"]),
    chat(tool_calls=[None]),
    chat(tool_calls=[{"function": None}]),
    chat(tool_calls=[{"function": {"name": None}}]),
    chat(tool_calls=[call([1])]),
]


@pytest.mark.parametrize("odd", [*ODD, *ODD_CHATS], ids=range(len(ODD + ODD_CHATS)))
def test_an_answer_of_an_odd_shape_is_tried_again_and_then_trouble(odd):
    prompt_format, good = (ServerChat(), chat(content="a")) if odd in ODD_CHATS else (None, None)
    with serving(failing(good or completion("a"), odd)) as server:
        policy = server_policy(server.address, prompt_format, retries=1)
        ask(policy)
        (reply,) = ask(policy)
    assert reply.trouble.startswith("malformed answer: ")
    assert len(server.bodies) == 3


def test_a_request_on_which_the_connection_breaks_is_missing():
    def answer(body):
        return (200, None) if "poison" in body["prompt"] else completion("a")

    with serving(answer) as server:
        policy = server_policy(server.address, retries=1)
        ask(policy)
        (reply,) = ask(policy, context=continued(Message("user", "poison")))
        assert reply.trouble.startswith("the connection broke (")
        assert ask(policy)[0].message.content == "a"
        with pytest.raises(PolicyError, match="in a row"):
            ask(policy, GIVE_UP_AFTER, continued(Message("user", "poison")))


def test_a_reply_that_trickles_in_is_a_timeout():
    def pieces():
        for _ in range(200):
            time.sleep(0.02)
            yield b" "

    with serving(failing(completion("a"), (200, pieces()))) as server:
        policy = server_policy(server.address, timeout=0.3)
        ask(policy)
        start = time.monotonic()
        (reply,) = ask(policy)
    assert reply.trouble == "timeout: no reply within 0.3 s"
    assert time.monotonic() - start < 2


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"kind must be 'vllm', 'llama.cpp' or .* got 'other'"):
        server_policy("http://127.0.0.1:1/v1", kind="other")


BAD = {"temperature": -1.0, "top_p": 0.0, "top_k": -1, "max_new_tokens": 0, "timeout": 0.0}


@pytest.mark.parametrize("name", BAD)
def test_a_number_out_of_range_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f"{name} is {BAD[name]!r}: it must be"):
        server_policy("http://127.0.0.1:1/v1", **{name: BAD[name]})


def test_a_server_is_collected_from_until_it_stays_in_trouble(tmp_path):
    environment, stays = buttons.Buttons(1), False

    def answer(body):
        return error(503, "down") if stays else completion(CALL.replace("3", "0"))

    with serving(answer) as server:
        policy = server_policy(server.address, retries=0)
        cell = {"pair": "p", "arm": "a", "at_once": 4}
        assert collect(policy, environment, ["t0"], 8, tmp_path, **cell)["passed"].all()
        stays = True
        with pytest.raises(PolicyError, match="retry_missing"):
            collect(policy, environment, ["t0"], 99, tmp_path, **cell)
        assert table(tmp_path)["passed"].isna().sum() == GIVE_UP_AFTER - 1
        stays = False
        again = collect(policy, environment, ["t0"], 50, tmp_path, **cell, retry_missing=True)
    assert len(again) == 50
    assert again["passed"].all()
