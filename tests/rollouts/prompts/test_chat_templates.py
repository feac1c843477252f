"""The chat templates of 19 families: no conversation is refused, nothing is lost."""

import json

import pytest

from lib.rollouts.policies import Context
from lib.rollouts.prompts import ChatTemplate
from lib.trajectories.schema import Message, Tool, ToolCall
from tests.chat_templates import TEMPLATES
from tests.tiny import with_template

WEATHER = Tool(
    "get_weather",
    "Tells the weather.",
    {"type": "object", "properties": {"at": {"type": "string"}}},
)
BLOCK = '```tool_call\n[{"name": "get_weather", "arguments": {"at": "Oslo"}}]\n```'
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"at": "Oslo"}}\n</tool_call>'


def user(text):
    return Message("user", text)


def act(*places, text="", thought="", ids=()):
    calls = tuple(ToolCall("get_weather", {"at": place}) for place in places)
    calls = tuple(
        ToolCall(c.name, c.arguments, i) for c, i in zip(calls, ids or [None] * 9, strict=False)
    )
    return Message("assistant", text, calls, thought=thought)


def tell(text, id=None):
    return Message("tool", text, name="get_weather", tool_call_id=id)


def say(text, thought=""):
    return Message("assistant", text, thought=thought)


ASK, MORE = user("How is Paris?"), user("And now?")
CONVERSATIONS = {
    "a question": (ASK,),
    "two calls in a reply": (ASK, act("Paris", "Rome"), tell("sunny"), tell("rainy")),
    "two turns": (ASK, act("Paris"), tell("sunny"), say("It is sunny."), MORE),
    "tool answers": (
        ASK,
        act("Paris"),
        tell("sunny"),
        act("Rome"),
        tell("rainy"),
        say("Both."),
        MORE,
    ),
    "ids of a server": (
        *(ASK, act("Paris", "Rome", ids=("chatcmpl-tool-1", "chatcmpl-tool-2"))),
        *(tell("sunny", "chatcmpl-tool-1"), tell("rainy", "chatcmpl-tool-2")),
    ),
    "thinking": (
        *(ASK, act("Oslo", text=f"<think>Hm.</think>{HERMES}", thought="Hm."), tell("sunny")),
        *(say("<think>So.</think>It is sunny.", "So."), MORE),
    ),
    "a thought apart": (ASK, act("Paris", thought="Hm."), tell("sunny"), say("Yes.", "So."), MORE),
    "calls in a block": (
        ASK,
        act("Oslo", text=BLOCK),
        tell("sunny"),
        act("Oslo", text=BLOCK),
        tell("x"),
    ),
    "neighbours": (ASK, MORE, act("Paris"), tell("sunny"), MORE, say("Hm."), say("Yes."), MORE),
    "an empty reply": (ASK, say(""), MORE),
}


@pytest.fixture(scope="module", params=TEMPLATES)
def family(request):
    tokenizer = with_template(TEMPLATES[request.param])
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    return request.param, ChatTemplate(tokenizer)


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_no_conversation_is_refused_and_nothing_is_lost(family, kind):
    _, prompt_format = family
    messages = CONVERSATIONS[kind]
    prompt = prompt_format.prompt(Context("Be brief.", (WEATHER,), messages))
    assert "Be brief." in prompt
    assert (
        "Tells the weather." in prompt
        or "def get_weather" in prompt
        or "type get_weather" in prompt
    )
    for message in messages:
        if message.role == "user" or message.role == "tool":
            assert message.content in prompt
        for call in message.tool_calls:
            written = prompt.count(call.arguments["at"])
            assert written >= sum(call in m.tool_calls for m in messages)
    assert prompt.count("<s>") <= 1


def test_each_call_is_written_once(family):
    _, prompt_format = family
    for messages in (
        (ASK, act("Oslo"), tell("ok")),
        (ASK, act("Oslo", text=BLOCK), tell("ok")),
        (ASK, act("Oslo", text=HERMES), tell("ok")),
    ):
        prompt = prompt_format.prompt(Context("", (WEATHER,), messages))
        assert prompt.count("Oslo") == 1


def test_without_tools_it_is_a_plain_chat(family):
    _, prompt_format = family
    prompt = prompt_format.prompt(Context("Be brief.", (), (ASK, say("Sunny."), MORE, MORE)))
    assert prompt.count("And now?") == 2
    assert "Be brief." in prompt


FORMS = {
    "llama 2": {"calls": False, "answers": False, "merged": True},
    "llama 3.1": {"single": True},
    "mistral 7b": {"calls": False, "answers": False, "merged": True},
    "mistral nemo": {"merged": True, "ids": "short", "lifted": True},
    "gemma 2": {"calls": False, "answers": False, "merged": True},
    "gemma 3": {"calls": False, "answers": False, "merged": True},
    "phi 4 mini": {"calls": False},
    "deepseek r1": {"calls": False, "answers": False},
    "deepseek v3": {"as_text": True},
    "gpt-oss": {"single": True, "lifted": True},
    "kimi": {"ids": "named"},
    "qwen 3": {},
    "hermes": {},
}


def test_the_form_is_the_usual_one_but_for_what_the_template_wants(family):
    name, prompt_format = family
    form = prompt_format._manner(True).form
    usual = {"calls": True, "answers": True, "merged": False, "as_text": False}
    usual |= {"single": False, "ids": "plain", "lifted": False}
    if name in FORMS:
        assert vars(form) == usual | FORMS[name]


def test_a_system_prompt_is_in_the_first_message_where_there_is_no_such_role():
    prompt_format = ChatTemplate(with_template(TEMPLATES["gemma 2"]))
    prompt = prompt_format.prompt(Context("Be brief.", (), (ASK,)))
    assert "<start_of_turn>user\nBe brief.\n\nHow is Paris?<end_of_turn>" in prompt


def test_ids_of_calls_and_answers_are_the_same_nine_letters_and_digits():
    prompt = ChatTemplate(with_template(TEMPLATES["mistral nemo"])).prompt(
        Context("", (WEATHER,), CONVERSATIONS["ids of a server"])
    )
    ids = [part.split('"')[0] for part in prompt.split('id": "')[1:]]
    assert ids[:2] == ids[2:]
    assert all(len(name) == 9 and name.isalnum() for name in ids)


def test_several_calls_of_a_reply_become_one_after_another_with_their_answers():
    prompt = ChatTemplate(with_template(TEMPLATES["llama 3.1"])).prompt(
        Context("", (WEATHER,), CONVERSATIONS["two calls in a reply"])
    )
    places = [prompt.index(word) for word in ('"Paris"', '"sunny"', '"Rome"', '"rainy"')]
    assert places == sorted(places)


def test_a_reply_in_channels_is_passed_on_in_its_parts():
    tokenizer = with_template(TEMPLATES["gpt-oss"])
    names = ["<|channel|>", "<|message|>", "<|start|>", "<|call|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": names})
    prompt_format = ChatTemplate(tokenizer)
    written = (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.get_weather"
        '<|channel|>commentary json<|message|>{"at": "Oslo"}<|call|>'
    )
    context = Context("", (WEATHER,), (ASK,))
    reply = prompt_format.read(written, context)
    prompt = prompt_format.prompt(context._replace(messages=(ASK, reply, tell("sunny"))))
    assert f"<|start|>assistant{written.replace('<|end|><|start|>', '<|end|><|start|>')}" in prompt
    assert json.dumps("sunny") in prompt
