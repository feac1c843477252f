"""Prompt formats: what they write, and the calls that they read."""

import pytest

from lib.rollouts.prompts import ChatTemplate, Harness, Plain
from lib.rollouts.prompts.harness import CONTRACT
from lib.trajectories.schema import Message, ToolCall
from tests import buttons, tiny
from tests.conversations import ASKED, CALL, continued
from tests.tiny import TOOLS_TEMPLATE, with_template


def test_a_harness_prompt_goes_on_from_what_was_written():
    first = Harness().prompt(ASKED)
    written = "I press." + "\n" + CALL.removesuffix("\n```")
    answered = continued(Harness().read(written, ASKED), Message("tool", "ok"))
    assert first.endswith("### Assistant:\n")
    assert Harness().prompt(answered).startswith(first + written + "\n```\n")


@pytest.mark.parametrize("prompt_format", [Harness(), Plain()])
def test_a_text_prompt_format_reads_the_calls(prompt_format):
    message = prompt_format.read(CALL, ASKED)
    assert (message.content, message.tool_calls) == (CALL, (ToolCall("press", {"n": 3}),))


def test_the_parser_is_the_prompt_format():
    torn = CALL.replace('"n": 3}}', '"n": 3,}}')
    assert Harness("robust").read(torn, ASKED).tool_calls
    assert not Harness("exact").read(torn, ASKED).tool_calls
    assert Harness("exact").settings["parser"] == "exact"


def test_a_plain_prompt_gives_no_cue():
    prompt = Plain().prompt(ASKED)
    assert "tool_call" not in prompt
    assert "###" not in prompt
    assert '"press"' in prompt


def test_a_base_model_has_no_chat_template(tokenizer):
    bare = tiny.tokenizer()
    bare.chat_template = None
    with pytest.raises(ValueError, match=r"no chat template.*the prompt_format harness"):
        ChatTemplate(bare)


def test_a_template_without_tools_gets_them_in_the_system_prompt(tokenizer):
    prompt = ChatTemplate(tokenizer).prompt(continued(Message("tool", "ok", name="press")))
    assert prompt.startswith('<|system|>Be brief.\n\n[{"name": "press"')
    assert CONTRACT in prompt
    assert prompt.endswith("<|user|>Press 3.<|end|><|user|>ok<|end|><|assistant|>")


def test_a_template_with_tools_takes_them_itself():
    prompt_format = ChatTemplate(with_template(TOOLS_TEMPLATE))
    prompt = prompt_format.prompt(continued(buttons.press(3), Message("tool", "ok")))
    assert CONTRACT not in prompt
    assert '"name": "press"' in prompt
    assert '<call>{"n": 3}</call>' in prompt
    assert "<|tool|>ok" in prompt
