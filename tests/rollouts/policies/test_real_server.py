"""A real server: `transformers serve`."""

import os
import signal
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from lib.envs import play
from lib.generation import Engine, Sampling
from lib.rollouts.policies import Context, LocalPolicy, PolicyError, ServerPolicy
from lib.rollouts.prompts import Harness, ServerChat
from lib.trajectories.schema import Message, RolloutKey
from tests import buttons, tiny
from tests.asking import ask


def local(model, prompt_format, tokenizer, **settings):
    sampling = Sampling(**{"temperature": 1.0, "max_new_tokens": 12, **settings})
    return LocalPolicy(Engine(model, tokenizer), prompt_format, sampling, name="tiny")


def closed_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """`transformers serve` with the tiny model: its address and the model's name."""
    folder = tiny.save(tmp_path_factory.mktemp("served") / "model")
    port, log = closed_port(), folder.parent / "log"
    command = ["serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with log.open("wb") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "transformers.cli.transformers", *command],
            stdout=file,
            stderr=file,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def wait_for(address, server, log, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the server did not come up: {log.read_text(errors='replace')[-2000:]}")


def real_policy(real, prompt_format, **settings):
    address, model = real
    sampling = {"temperature": 1.0, "max_new_tokens": 8, "kind": "transformers", "timeout": 60}
    return ServerPolicy(address, model, prompt_format, **(sampling | settings))


@pytest.mark.slow
def test_a_real_server_completes_a_harness_prompt(real):
    replies = ask(real_policy(real, Harness()), 4)
    assert not any(reply.trouble for reply in replies)
    assert {reply.turn.finish for reply in replies} <= {"stop", "length"}
    assert len({reply.message.content for reply in replies}) > 1  # it samples


@pytest.mark.slow
def test_a_real_server_samples_by_the_seed(real):
    policy = real_policy(real, Harness())
    assert ask(policy) == ask(policy)


@pytest.mark.slow
def test_a_real_server_keeps_to_the_sampling_fields(real, model, tokenizer):
    """The most likely token each time, as here: by temperature 0, and by the kept tokens."""
    greedy = local(model, Harness(), tokenizer, temperature=0, max_new_tokens=8)
    tokens = ask(greedy)[0].turn.action_ids
    expected = tokenizer.decode(tokens, skip_special_tokens=True)  # as the server does
    for settings in ({"temperature": 0.0}, {"top_k": 1}, {"top_p": 1e-6}):
        (reply,) = ask(real_policy(real, Harness(), **settings))
        assert reply.message.content == expected, settings


@pytest.mark.slow
def test_a_real_server_chats(real):
    environment = buttons.Buttons()
    session = real_policy(real, ServerChat()).start([RolloutKey(0, "t1", 0)])
    episode = environment.reset("t1", 0)
    messages = list(episode.messages)

    def reply(episode):
        context = Context(episode.system, episode.tools, tuple(messages))
        (one,) = session.reply([0], [context])
        assert (one.trouble, one.turn.finish) in {("", "stop"), ("", "length")}
        messages.extend([one.message, Message("user", "go on")])
        return one.message

    _, outcome = play(episode, reply)
    assert outcome.passed is False


@pytest.mark.slow
def test_a_real_server_without_the_model_stops_the_run(real):
    with pytest.raises(PolicyError, match=r"has no model 'other' \(it has .*model'\).*pinned to"):
        ask(real_policy((real[0], "other"), Harness()))


@pytest.mark.slow
def test_a_real_server_names_the_field_that_it_does_not_know(real):
    with pytest.raises(PolicyError, match=r"422: .*top_k.*choose another `kind`"):
        ask(real_policy(real, Harness(), kind="vllm"))
