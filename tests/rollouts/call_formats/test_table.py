"""The table of call formats is its own test."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.rollouts.call_formats import read_reply
from lib.rollouts.call_formats.rows import EXAMPLE_TOOLS
from lib.rollouts.call_formats.table import BARE, FORMATS
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.schema import Tool
from tests.stored_calls import edit, patient

EXAMPLES = [(row, example) for row in FORMATS + BARE for example in row.examples]
_lines = (Path(__file__).parents[2] / "data" / "real_models.jsonl").read_text("utf-8").splitlines()
TOOLS = [Tool.from_dict(tool) for tool in json.loads(_lines[0])["tools"]]
CASES = [json.loads(line) for line in _lines[1:]]


def calls_of(text, **options):
    read = read_reply(text, EXAMPLE_TOOLS, **options)
    assert {call.name for call in read.calls} <= {"get_weather", "python"}
    return tuple(call.arguments for call in read.calls)


def test_the_table_is_as_large_as_it_should_be():
    assert len(FORMATS + BARE) >= 30
    assert len(EXAMPLES) >= 70


@pytest.mark.parametrize(("row", "example"), EXAMPLES)
def test_each_example_is_read(row, example):
    read = read_reply(example.text, EXAMPLE_TOOLS)
    assert tuple(call.arguments for call in read.calls) == example.calls
    assert read.marked
    assert "get_weather" not in read.content


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_what_models_wrote(case):
    calls = read_reply(case["text"], TOOLS).calls
    assert [{"name": c.name, "arguments": c.arguments} for c in calls] == case["calls"]


@pytest.mark.parametrize(("row", "example"), EXAMPLES)
def test_prose_before_a_call_changes_nothing(row, example):
    if "analysis" not in example.text:
        assert calls_of(f"I will look it up.\n\n{example.text}") == example.calls


@pytest.mark.parametrize(("row", "example"), EXAMPLES)
@pytest.mark.parametrize(
    "thought",
    ["<think>\n{}\n</think>\n\nIt is sunny.", "{}\n</think>\n\nIt is sunny.", "<think>\nSo {}"],
)
def test_a_call_in_a_thought_is_never_read(row, example, thought):
    assert calls_of(thought.format(example.text)) == ()


@pytest.mark.parametrize(("row", "example"), EXAMPLES)
def test_a_call_that_an_example_shows_is_not_read(row, example):
    if "```" not in example.text and row in FORMATS and "analysis" not in example.text:
        shown = f"This is what it looks like:\n\n```text\n{example.text}\n```\n\nNow you know."
        assert calls_of(shown) == ()


@pytest.mark.parametrize("row", [row for row in FORMATS if row.tags])
def test_a_tag_within_a_sentence_or_in_backticks_is_not_read(row):
    for example in row.examples:
        text = example.text.replace("\n", " ")
        if "<|" not in text and text.startswith("<") and text.endswith(">"):
            assert calls_of(f"You could write {text} for this, but I will not.") == ()
        assert calls_of(f"The tags are `{text}` here.") == ()


@pytest.mark.parametrize(
    "text",
    [
        'You would write get_weather(city="Paris"), but I have no need of it.',
        '[get_weather(city="Paris")] is how to ask for it. Shall I?',
        'Call get_weather{"city": "Paris"} to see it.',
        'get_weather{"city": "Paris"}\nis what I would write.',
        'You could send {"name": "get_weather", "arguments": {"city": "Paris"}} for it.',
        "call:get_weather{city:Paris} is the syntax.",
        "The tool get_weather takes a city (Paris, say) and days.",
        '<|channel|>final<|message|>I might call get_weather with {"city": "Paris"}.<|return|>',
        "I use the <tool_call> tag for this.",
        "[TOOL_CALLS] is the marker of Mistral.",
        ">>> get_weather('Paris')\n'sunny'",
        '`[{"name": "python"}]` would be wrong.',
    ],
)
def test_what_is_only_mentioned_is_not_read(text):
    assert calls_of(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par',
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nPar",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n",
        '<function=get_weather>{"city": "Par',
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Par",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n",
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Par',
        '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Par',
        '<|tool_call>call:get_weather{city:<|"|>Par',
        '[get_weather(city="Paris", uni',
        '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Par',
        '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Par',
        '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Par',
        '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Par',
        'get_weather{"city": "Par',
        # A whole call in the argument of a torn one is no call.
        'python{"code": "[{\\"name\\": \\"get_weather\\", \\"arguments\\": {}}]',
        '<function=python><parameter=code>{"name": "get_weather", "arguments": {"city": "Rome"}}',
    ],
)
def test_a_torn_call_is_dropped(text):
    assert calls_of(text) == ()


def test_the_whole_reply_in_a_fence_is_an_act():
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    assert calls_of(f"```xml\n{call}\n```") == ({"city": "Paris"},)


@pytest.mark.parametrize("name", ["functions.python", "default_api.python", "tools.python"])
def test_a_namespace_is_dropped(name):
    for text in (f'[{name}(code="1")]', f'<tool_call>{{"name": "{name}", "arguments": '
                 '{"code": "1"}}</tool_call>'):  # fmt: skip
        assert calls_of(text) == ({"code": "1"},)


def test_a_name_with_a_dot_that_was_offered_keeps_it():
    tools = [Tool("functions.f"), Tool("f")]
    (call,) = read_reply('<tool_call>{"name": "functions.f"}</tool_call>', tools).calls
    assert call.name == "functions.f"


def test_values_without_quotes_get_the_types_of_the_schema():
    types = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "a": "array"}
    properties = {name: {"type": kind} for name, kind in types.items()}
    properties["u"] = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    tool = Tool("f", "", {"properties": properties})
    values = {"s": "03", "i": "3", "n": "2.5", "b": "true", "a": '["x", 1]', "u": "7", "q": "{}"}
    written = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in values.items())
    (call,) = read_reply(f"<function=f>\n{written}</function>", [tool]).calls
    expected = {"s": "03", "i": 3, "n": 2.5, "b": True, "a": ["x", 1], "u": 7, "q": {}}
    assert call.arguments == expected


def test_code_keeps_its_lines_and_tags():
    code = "\n  if x < 1:\n    print('</parameter>')\n\n```\n<b>"
    text = f"<function=python>\n<parameter=code>\n{code}\n</parameter>\n</function>"
    assert calls_of(f"<tool_call>\n{text}\n</tool_call>") == ({"code": code},)


def test_python_strings_are_read_as_python_reads_them():
    text = r"""[python(code='print("it\'s")\n'), python(code=""" + '"""a\n"b" c""")]'
    assert calls_of(text) == ({"code": 'print("it\'s")\n'}, {"code": 'a\n"b" c'})


@pytest.mark.parametrize("parser", ["robust", "native"])
def test_triple_quotes_in_json(parser):
    text = '```tool_call\n[{"name": "python", "arguments": {"code": """print("hi")"""}}]\n```'
    (call,) = parse_tool_calls(text, EXAMPLE_TOOLS, parser).calls
    assert call.arguments == {"code": 'print("hi")'}
    assert not parse_tool_calls(text, EXAMPLE_TOOLS, "exact").calls


PIECES = sorted(
    {example.text[:size] for _, example in EXAMPLES for size in (12, 24, 48, 400)}
    | {"<parameter=a>", "<arg_key>a</arg_key><arg_value>", "get_weather(a='", "call:python{a:",
       "```json\n", "```x\n<tool_call>\n", "call:python{a:x,,", '"""', '"\\', "<x>", "</a>", " ",
       "\n<think>", "</think>", "analysisA", "[[", '{"a":'}
)  # fmt: skip


@pytest.mark.parametrize("start", ["", "<tool_call>", "[python(code='", "call:python{code:"])
def test_400_kilobytes_of_anything_are_read_at_once(start):
    for unit in PIECES:
        text = (start + unit * (400_000 // len(unit) + 1))[:400_000]
        taken = []
        while min(taken, default=2) > 0.6 and len(taken) < 5:  # the machine may be busy
            began = time.process_time()
            read_reply(text, EXAMPLE_TOOLS)
            taken.append(time.process_time() - began)
        assert min(taken) < 0.6, unit


@patient
@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["", "\ud800", *PIECES])), max_size=4),
)
def test_damaged_calls_raise_nothing(picked, edits):
    read = read_reply(edit(picked[1].text, edits), EXAMPLE_TOOLS)
    json.dumps([call.arguments for call in read.calls], allow_nan=False)
