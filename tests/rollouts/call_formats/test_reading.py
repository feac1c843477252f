"""Replies are read by the tokenizer's response template, and arguments as servers send them."""

import json
from argparse import Namespace

import pytest

from lib.cli.arguments import begun_parser
from lib.rollouts.call_formats import read_arguments, read_reply
from lib.rollouts.policies import Context
from lib.rollouts.policies.opening import known_settings
from lib.rollouts.prompts import ChatTemplate, ServerChat
from lib.trajectories.schema import Message, Tool, ToolCall
from tests import tiny
from tests.conversations import ASKED, continued
from tests.tiny import with_template

PRESS = Tool("press", "", {"properties": {"n": {"type": "integer"}, "why": {"type": "string"}}})
NATIVE = '<tool_call>\n{"name": "press", "arguments": {"n": 3}}\n</tool_call>'

# A syntax that no other reader knows.
TEMPLATE = {
    "start_anchor": "<|assistant|>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>", "content": "text"},
        "tool_calls": {
            "open_pattern": r"\[\[(?P<name>\w+) ",
            "close": "]]",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{name}", "arguments": "{content}"},
            },
        },
        "content": {"close": "<|end|>", "content": "text"},
    },
}


@pytest.fixture
def own():
    tokenizer = tiny.tokenizer()
    tokenizer.response_template = TEMPLATE
    return tokenizer


def test_the_template_of_the_tokenizer_is_tried_first(own):
    read = read_reply('So: [[press {"n": 3}]] [[press {"n": 4}]]<|end|>', [PRESS], own)
    assert read.calls == (ToolCall("press", {"n": 3}), ToolCall("press", {"n": 4}))


def test_the_template_reads_no_thought(own):
    text = '[[press {"n": 3}]]</think>Well.'
    assert read_reply(f"<think>{text}", [PRESS], own).calls == ()
    assert read_reply(text, [PRESS], own, prompt="<|assistant|><think>").calls == ()


@pytest.mark.parametrize(
    "text",
    [NATIVE, f"[[press not json]] {NATIVE}", f'[[other {{"n": 3}}]]\n{NATIVE}'],
)
def test_what_the_template_cannot_read_is_read_by_what_it_shows(own, text):
    assert read_reply(text, [PRESS], own).calls == (ToolCall("press", {"n": 3}),)


@pytest.mark.parametrize("template", [{}, {"fields": 3}, "x", {**TEMPLATE, "version": 9}])
def test_a_template_that_is_broken_is_none(own, template):
    own.response_template = template
    assert read_reply(NATIVE, [PRESS], own).calls == (ToolCall("press", {"n": 3}),)


def test_a_chat_reads_the_models_own_format(own):
    own.chat_template = tiny.TOOLS_TEMPLATE
    reply = ChatTemplate(own).read('[[press {"n": 3}]]', ASKED)
    assert reply == Message("assistant", '[[press {"n": 3}]]', (ToolCall("press", {"n": 3}),))


def test_a_chat_knows_that_its_template_opened_a_thought():
    tokenizer = with_template(tiny.TOOLS_TEMPLATE)
    assert ChatTemplate(tokenizer).read(NATIVE, ASKED).tool_calls
    reply = ChatTemplate(tokenizer, thinking=True).read(NATIVE, ASKED)
    assert (reply.content, reply.tool_calls, reply.thought) == (NATIVE, (), NATIVE)
    reply = ChatTemplate(tokenizer, thinking=True).read(f"3?</think>{NATIVE}", ASKED)
    assert (reply.tool_calls, reply.thought) == ((ToolCall("press", {"n": 3}),), "3?")


def test_calls_in_the_models_format_are_given_to_the_template_apart():
    prompt_format = ChatTemplate(with_template(tiny.TOOLS_TEMPLATE))
    reply = prompt_format.read(f"I press.\n{NATIVE}", ASKED)
    prompt = prompt_format.prompt(continued(reply, Message("tool", "ok")))
    assert "<|assistant|>I press." in prompt
    assert prompt.count('<call>{"n": 3}</call>') == 1
    assert "<tool_call>" not in prompt
    request = next(ServerChat().requests(continued(reply, Message("tool", "ok"))))
    (_, _, sent, _) = request["messages"]
    assert sent["content"] == "I press."
    assert sent["tool_calls"][0]["function"]["name"] == "press"


def test_a_server_that_leaves_calls_in_the_text():
    reply = ServerChat().read(f"<think>3?</think>{NATIVE}", Context("", (PRESS,), ()))
    assert (reply.tool_calls, reply.thought) == ((ToolCall("press", {"n": 3}),), "3?")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (None, {}),
        ("", {}),
        ("null", {}),
        ("[]", {}),
        ([], {}),
        ({}, {}),
        ('{"n": "3"}', {"n": 3}),
        ('"{\\"n\\": 3}"', {"n": 3}),
        ("{'n': 3}", {"n": 3}),
        ('{"n": 3} and so on', {"n": 3}),
        ('{"n": 3}{"n": 4}', {"n": 3}),
        ('{"why": """a "b" c"""}', {"why": 'a "b" c'}),
        ('{"n": 3', None),
        ("3", None),
        ('["n"]', None),
        (3, None),
        ("press 3", None),
    ],
)
def test_arguments_as_servers_send_them(sent, read):
    assert read_arguments(sent, PRESS) == read


def test_arguments_are_cast_only_for_a_known_tool():
    assert read_arguments('{"n": "3"}') == {"n": "3"}


def test_chat_is_read_in_native_formats_and_the_harness_as_it_asks():
    for name, parser in {"chat": "native", "harness": "robust", "plain": "robust"}.items():
        assert known_settings("m", prompt_format=name)["parser"] == parser
        assert known_settings("m", prompt_format=name, parser="exact")["parser"] == "exact"


@pytest.mark.parametrize(
    ("asked", "there", "parser"),
    [
        (None, "robust", "robust"),
        (None, "native", "native"),
        (None, None, None),
        ("paper", "robust", "paper"),
    ],
)
def test_a_collection_goes_on_with_the_parser_that_it_was_begun_with(
    tmp_path, asked, there, parser
):
    if there:
        (tmp_path / "manifest.json").write_text(json.dumps({"policy.parser": there}))
    arguments = Namespace(parser=asked, prompt_format="chat", out=tmp_path)
    assert begun_parser(arguments, "policy.parser") == parser
