"""What a server is sent, and how its answers are read."""

import json
import threading
import time
from dataclasses import replace

import pytest

from lib.rollouts.policies.protocol import PromptRefused
from lib.rollouts.prompts import Harness, ServerChat
from lib.rollouts.prompts.rendering import render
from lib.trajectories.schema import Message, RolloutKey, ToolCall
from tests.asking import ask, server_policy
from tests.chat_templates import TEMPLATES
from tests.conversations import ASKED, CALL
from tests.recorder import chat, completion, serving
from tests.tiny import with_template

COMMON = {"model": "m", "temperature": 0.7, "top_p": 0.95, "max_tokens": 9}
NEUTRAL = {"min_p": 0.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
FIELDS = {
    "vllm": {"top_k": 40, "repetition_penalty": 1.1, **NEUTRAL},
    "llama.cpp": {
        "top_k": 40,
        "repeat_penalty": 1.1,
        "repeat_last_n": -1,
        "mirostat": 0,
        "dynatemp_range": 0.0,
        "samplers": ["penalties", "temperature", "top_k", "top_p"],
        **NEUTRAL,
    },
}


@pytest.mark.parametrize("kind", FIELDS)
def test_every_sampling_field_is_sent(kind):
    with serving(lambda body: completion("")) as server:
        ask(server_policy(server.address, kind=kind, top_p=0.95, top_k=40, repetition_penalty=1.1))
    (body,) = server.bodies
    assert body.pop("prompt") == Harness().prompt(ASKED)
    assert body.pop("stop") == list(Harness().stops)
    assert type(body.pop("seed")) is int
    assert body == COMMON | FIELDS[kind]


def test_transformers_serve_gets_a_whole_generation_config():
    with serving(lambda body: completion("")) as server:
        ask(server_policy(server.address, kind="transformers", top_p=0.95, repetition_penalty=1.1))
    config = json.loads(server.bodies[0]["generation_config"])
    assert COMMON.items() <= server.bodies[0].items()
    assert config["do_sample"] is True
    assert (config["temperature"], config["top_p"], config["top_k"]) == (0.7, 0.95, 0)
    assert (config["repetition_penalty"], config["max_new_tokens"]) == (1.1, 9)


def test_keeping_all_tokens_is_sent_too():
    with serving(lambda body: completion("")) as server:
        ask(server_policy(server.address))
    assert (server.bodies[0]["top_k"], server.bodies[0]["repetition_penalty"]) == (-1, 1.0)


def test_a_chat_sends_messages_tools_and_the_thinking_switch():
    with serving(lambda body: chat(content="hello")) as server:
        ask(server_policy(server.address, ServerChat()))
        ask(server_policy(server.address, ServerChat(thinking=True)))
    off, on = server.bodies
    assert [m["role"] for m in off["messages"]] == ["system", "user"]
    assert off["tools"][0]["function"]["name"] == "press"
    assert "stop" not in off
    assert off["chat_template_kwargs"] == {"enable_thinking": False}
    assert on["chat_template_kwargs"] == {"enable_thinking": True}


def test_extra_fields_are_sent_and_none_leaves_one_out():
    with serving(lambda body: completion("")) as server:
        policy = server_policy(server.address, extra={"min_p": None, "priority": 1})
        ask(policy)
    assert "min_p" not in server.bodies[0]
    assert server.bodies[0]["priority"] == policy.settings["sampling"]["priority"] == 1


def test_the_seed_is_a_function_of_key_and_turn():
    with serving(lambda body: completion("")) as server:
        for _ in range(2):
            session = server_policy(server.address).start(
                [RolloutKey(0, "t", 0), RolloutKey(0, "t", 1)]
            )
            for row in (0, 1, 0):
                session.reply([row], [ASKED])
    seeds = [body["seed"] for body in server.bodies]
    assert seeds[:3] == seeds[3:]
    assert len(set(seeds)) == 3


def test_replies_come_to_the_rollouts_that_asked():
    def echo(body):
        time.sleep(0.05 * (body["seed"] % 3))
        return completion(str(body["seed"]))

    with serving(echo) as server:
        policy = server_policy(server.address, concurrency=4)
        together = [reply.message.content for reply in ask(policy, 8)]
        alone = [ask(policy, number + 1)[number].message.content for number in (0, 5)]
    assert [together[0], together[5]] == alone
    assert len(set(together)) == 8


def test_requests_are_under_way_together():
    gate = threading.Barrier(8)

    def wait(body):
        gate.wait(timeout=4)
        return completion("")

    with serving(wait) as server:
        assert len(ask(server_policy(server.address, concurrency=8), 8)) == 8


def call(arguments):
    return {"id": "a", "type": "function", "function": {"name": "press", "arguments": arguments}}


def test_a_chat_server_splits_off_the_calls():
    with serving(lambda body: chat(content="Hm.", tool_calls=[call('{"n": 3}')])) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message == Message("assistant", "Hm.", (ToolCall("press", {"n": 3}, "a"),))


def test_calls_that_the_server_left_in_the_text_are_read():
    with serving(lambda body: chat(content=CALL)) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message == Message("assistant", CALL, (ToolCall("press", {"n": 3}),))


@pytest.mark.parametrize("arguments", ["{torn", "[1]", "[" * 9999, "3"])
def test_a_call_that_the_server_tore_stays_text(arguments):
    with serving(lambda body: chat(tool_calls=[call(arguments)])) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message == Message("assistant", f"\npress {arguments}")


REPAIRED = [
    (None, {}),
    ("", {}),
    ("[]", {}),
    ("null", {}),
    ({"n": 3}, {"n": 3}),
    ('{"n": "3"}', {"n": 3}),
    ("{'n': 3}", {"n": 3}),
    ('{"n": 3,}', {"n": 3}),
    ('{"n": 3}</tool_call>', {"n": 3}),
    (json.dumps('{"n": 3}'), {"n": 3}),
]


@pytest.mark.parametrize(("arguments", "read"), REPAIRED)
def test_arguments_are_repaired_as_in_a_text(arguments, read):
    with serving(lambda body: chat(tool_calls=[call(arguments)])) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message == Message("assistant", "", (ToolCall("press", read, "a"),))


def test_the_exact_parser_repairs_no_arguments():
    with serving(lambda body: chat(tool_calls=[call("{'n': 3}")])) as server:
        (reply,) = ask(server_policy(server.address, ServerChat(parser="exact")))
    assert reply.message == Message("assistant", "\npress {'n': 3}")


def test_a_legacy_function_call_is_read():
    old = {"name": "press", "arguments": '{"n": 3}'}
    with serving(lambda body: chat(function_call=old)) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message.tool_calls == (ToolCall("press", {"n": 3}),)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_what_a_server_calls_reasoning_is_the_thought(field):
    with serving(lambda body: chat(content="Yes.", **{field: CALL})) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message == Message("assistant", "Yes.", thought=CALL)


def test_a_reply_that_only_thought_acts_on_nothing():
    with serving(lambda body: chat(reasoning_content=CALL)) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply == replace(reply, message=Message("assistant", "", thought=CALL), trouble="")


def test_a_thought_inside_the_content_is_no_act():
    content = f"<think>{CALL}</think>Yes."
    with serving(lambda body: chat(content=content)) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert (reply.message.content, reply.message.tool_calls) == (content, ())
    assert reply.message.thought == CALL


def test_content_in_parts_is_joined():
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]
    with serving(lambda body: chat(content=parts)) as server:
        (reply,) = ask(server_policy(server.address, ServerChat()))
    assert reply.message == Message("assistant", "Yes.", thought="Hm.")


TURNS = (
    *(Message("user", "ask-1"), Message("user", "ask-2")),
    Message("assistant", "", (ToolCall("press", {"n": 1}), ToolCall("press", {"n": 2}))),
    *(Message("tool", "told-1", name="press"), Message("tool", "told-2", name="press")),
    Message("user", "ask-3"),
)
FAMILIES = ["llama 3.1", "mistral nemo", "mistral 7b", "gemma 2", "gemma 3", "qwen 3", "chatml"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_form_that_the_template_of_the_server_takes_comes_to_be_sent(family):
    """The server fills in a real template, and refuses what it refuses."""
    tokenizer = with_template(TEMPLATES[family])

    def answer(body):
        messages = json.loads(json.dumps(body["messages"]))
        for call in [call for m in messages for call in m.get("tool_calls", ())]:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        try:
            return chat(content=render(tokenizer, messages, tools=body.get("tools")))
        except PromptRefused as error:
            return 400, {"error": {"message": str(error)}}

    with serving(answer) as server:
        policy = server_policy(server.address, ServerChat())
        (reply,) = ask(policy, context=ASKED._replace(messages=TURNS))
    assert reply.trouble == ""
    contents = [message.content for message in TURNS]
    assert all(content in reply.message.content for content in contents)
