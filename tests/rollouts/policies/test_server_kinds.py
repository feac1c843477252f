"""Every way of trouble with a server: missing in time, and the key is nowhere."""

import base64
import time
from urllib.parse import quote

import pytest

from lib.rollouts.collection import collect
from lib.rollouts.policies import PolicyError
from lib.rollouts.policies.redaction import Redactor
from lib.rollouts.prompts import ServerChat
from tests import buttons
from tests.asking import ask, server_policy
from tests.trouble_server import ANSWERED, ECHO, KEY, MISSING, answer, message, troubling

TIMEOUT = 0.4
FORMS = [KEY, KEY[3:], base64.b64encode(KEY.encode()).decode(), quote(KEY, safe="")]


def chat_policy(server, **settings):
    settings = {"timeout": TIMEOUT, "retries": 1, "api_key": KEY} | settings
    return server_policy(server.address, ServerChat(), **settings)


def leaks(text):
    return [form for form in FORMS if form in text]


@pytest.mark.parametrize("kind", MISSING)
def test_trouble_is_missing_in_time_and_shows_no_key(kind):
    script = MISSING[kind]
    with troubling(script if callable(script) else lambda server: script) as server:
        policy = chat_policy(server)
        assert ask(policy)[0].message.content == "good"
        start = time.monotonic()
        (reply,) = ask(policy)
        assert time.monotonic() - start < TIMEOUT + 1
    assert reply.trouble
    assert not leaks(repr(reply))


@pytest.mark.parametrize("kind", ANSWERED)
def test_an_odd_answer_is_one_and_shows_no_key(kind):
    with troubling(lambda server: ANSWERED[kind]()) as server:
        policy = chat_policy(server)
        ask(policy)
        (reply,) = ask(policy)
    assert reply.trouble == ""
    assert not leaks(repr(reply))


def test_no_file_of_a_collection_holds_the_key(tmp_path):
    with troubling(lambda server: answer(ECHO, 400)) as server:
        policy = chat_policy(server)
        cell = {"pair": "p", "arm": "a"}
        table = collect(policy, buttons.Buttons(1), ["t0"], 3, tmp_path, **cell)
    assert table["passed"].isna().any()
    assert "Bearer [key]" in str(table["reason"].tolist())
    assert not any(leaks(file.read_text()) for file in tmp_path.iterdir())


@pytest.mark.parametrize("status", [400, 401, 404])
def test_no_message_of_an_error_shows_the_key(status):
    with troubling(lambda server: answer(ECHO, status)) as server:
        server.good = False
        with pytest.raises(PolicyError, match=r"Bearer \[key\]") as error:
            ask(chat_policy(server))
    assert not leaks(str(error.value))


def test_retry_after_is_obeyed():
    came = []

    def script(server):
        came.append(time.monotonic())
        return answer(ECHO, 429, Retry_After="0.3") if len(came) == 1 else message(content="a")

    with troubling(script) as server:
        policy = chat_policy(server, timeout=5)
        ask(policy)
        (reply,) = ask(policy)
    assert reply.message.content == "a"
    assert came[1] - came[0] >= 0.3


def test_a_wait_past_the_deadline_is_not_begun():
    with troubling(lambda server: answer(ECHO, 503, Retry_After="30")) as server:
        policy = chat_policy(server, timeout=5)
        ask(policy)
        start = time.monotonic()
        (reply,) = ask(policy)
    assert time.monotonic() - start < 2
    assert reply.trouble.startswith("server error 503 (wait 30 s): ")


def test_the_deadline_holds_over_all_retries():
    with troubling(lambda server: answer(ECHO, 503)) as server:
        policy = chat_policy(server, timeout=1, retries=99, first_wait=0.2, longest_wait=0.2)
        ask(policy)
        start = time.monotonic()
        assert ask(policy)[0].trouble.startswith("server error 503")
    assert time.monotonic() - start < 2


def test_a_redirect_never_takes_the_key_to_another_host():
    with troubling(lambda server: message(content="far")) as far:
        far.good = False
        place = far.address.replace("127.0.0.1", "localhost") + "/chat/completions"
        with troubling(lambda server: answer("", 307, Location=place)) as near:
            policy = chat_policy(near, timeout=5)
            ask(policy)
            assert ask(policy)[0].message.content == "far"
    assert all("authorization" in request.lower() for request in near.seen)
    assert far.seen
    assert not any("authorization" in request.lower() for request in far.seen)


def test_a_redirect_at_the_same_host_is_followed_with_the_key():
    def script(server):
        there = "/else" in server.seen[-1].split()[1]
        return message(content="there") if there else answer("", 308, Location="/else")

    with troubling(script) as server:
        policy = chat_policy(server, timeout=5)
        ask(policy)
        assert ask(policy)[0].message.content == "there"
    assert "authorization" in server.seen[-1].lower()


@pytest.mark.parametrize("address", ["nourl", "", "ftp://a/v1", "http://", "127.0.0.1:8000/v1"])
def test_an_address_that_is_none_is_refused_at_once(address):
    with pytest.raises(ValueError, match=r"address is '.*': expected .* http://127.0.0.1:8000/v1"):
        server_policy(address)


@pytest.mark.parametrize("key", ["a\nb", "a b", "kö"])
def test_a_key_that_no_header_holds_is_refused_without_showing_it(key):
    with pytest.raises(ValueError, match="api_key cannot be sent: character 2") as error:
        server_policy("http://127.0.0.1:1/v1", api_key=key)
    assert key not in str(error.value)


def test_a_password_in_the_address_is_not_shown():
    with pytest.raises(PolicyError, match=r"http://me:\[key\]@127.0.0.1:9/v1") as error:
        ask(server_policy("http://me:pass-word-1@127.0.0.1:9/v1"))
    assert "pass-word-1" not in str(error.value)


def test_a_key_among_the_extra_fields_is_not_in_the_settings():
    policy = server_policy("http://127.0.0.1:1/v1", api_key=KEY, extra={"user": f"me {KEY}"})
    assert policy.sampling["user"] == f"me {KEY}"
    assert policy.settings["sampling"]["user"] == "me [key]"


def test_a_message_of_nothing_is_not_asked_for_again():
    with troubling(lambda server: message(content=None)) as server:
        policy = chat_policy(server, retries=5)
        ask(policy)
        assert ask(policy)[0].trouble.endswith("its message holds neither content nor calls")
    assert len(server.seen) == 2


def test_a_short_key_is_no_word_to_hide_in_a_reply():
    redact = Redactor(["a"])
    assert redact("Bearer a is a bad key") == "Bearer [key] is [key] bad key"
    assert redact.value({"content": "a cat"}) == {"content": "a cat"}


def test_a_server_is_checked_before_it_is_collected_from():
    with troubling(lambda server: answer({"error": "no such model"}, 404)) as server:
        server.good = False
        chat_policy(server).check()  # it lists the model
        other = replace_model(chat_policy(server), "other")
        with pytest.raises(PolicyError, match=r"has no model 'other' \(it has 'm'\)"):
            other.check()


def replace_model(policy, name):
    policy.model = name
    return policy
