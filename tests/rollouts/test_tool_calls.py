"""From text to tool calls, by each parser."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.rollouts.lenient_json import MAX_DEPTH
from lib.rollouts.prompts.harness import STOPS_PAST_PROSE, cut_at_stop, render_calls
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.schema import Tool, ToolCall
from tests.stored_calls import CASES, PARSERS, TOOLS, completions, json_values, patient


def calls_of(text, parser="robust"):
    return [(c.name, c.arguments) for c in parse_tool_calls(text, TOOLS, parser=parser).calls]


def block(text):
    return f"```tool_call\n{text}\n```"


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_robust_parser_returns_what_was_meant(case):
    assert calls_of(case["text"]) == [(c["name"], c["arguments"]) for c in case["calls"]]


@pytest.mark.parametrize("parser", PARSERS)
def test_text_as_asked_needs_no_repair(parser):
    parsed = parse_tool_calls(block('[{"name": "pwd", "arguments": {}}]'), TOOLS, parser=parser)
    assert parsed == ((ToolCall("pwd"),), ())


def test_repairs_are_named():
    text = block("[{'name': 'set_timer', 'arguments': {'minutes': '5', 'loud': True},}]")
    assert parse_tool_calls(text, TOOLS).repairs == (
        "quotes that JSON does not have",
        "Python literal",
        "trailing comma",
        "minutes cast to integer",
    )


def test_repairs_of_what_was_not_used_are_not_named():
    text = "[it's, so] " + block('[{"name": "pwd", "arguments": {}}]') + "\n```json\n[1,]\n```"
    assert parse_tool_calls(text, TOOLS).repairs == ()


def test_dropped_calls_are_named():
    text = block('[{"name": "rm", "arguments": {}}, {"name": "mv", "argum')
    assert parse_tool_calls(text, TOOLS).repairs == (
        "unknown tool 'rm' dropped",
        "torn call dropped",
    )


def test_unknown_parser():
    with pytest.raises(
        ValueError, match="one of 'native', 'robust', 'paper', 'exact', got 'strict'"
    ):
        parse_tool_calls("", TOOLS, parser="strict")


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        ('[{"name": "pwd", "arguments": {},},]', "trailing comma"),
        ("[{“name”: “pwd”, “arguments”: {}}]", "curly quotes"),
        ('[{"name": "set_timer", "arguments": {"loud": True}}]', "Python literal"),
        ("[{'name': 'pwd', 'arguments': {}}]", "single quotes"),
        ('[{"name": "set_timer", "arguments": {"minutes": "5"}}]', "minutes cast to integer"),
        ('[{"name": "rm", "arguments": {}}]', "unknown tool 'rm' dropped"),
    ],
)
def test_leniency_of_the_paper(text, repair):
    for whole in (block(text), f"Let me see. {text} Done."):
        parsed = parse_tool_calls(whole, TOOLS, parser="paper")
        assert parsed.repairs == (repair,)
        assert len(parsed.calls) == ("rm" not in text)


def test_paper_repairs_text_and_so_changes_values():
    text = block('[{"name": "search", "arguments": {"query": "a,]b",},},]')
    assert calls_of(text, "paper") == [("search", {"query": "a]b"})]


@pytest.mark.parametrize(
    "text",
    [
        '[{"name": "pwd", "arguments": {}}, {"name": "rm", "arguments": {}}]',
        '[{"name": "pwd", "arguments": {}, "id": 1}]',
        '[{"name": "pwd"}]',
        '[{"name": "pwd", "arguments": ""}]',
        '[{"name": "pwd", "arguments": {},}]',
        '[{"name": "pwd", "arguments": {}}] so',
        '[{"name": ["pwd"], "arguments": {}}]',
        '[{"name": "set_timer", "arguments": {"minutes": NaN}}]',
        '[{"name": "set_timer", "arguments": {"minutes": 1e999}}]',
    ],
)
def test_exact_parser_repairs_nothing(text):
    assert calls_of(block(text), "exact") == calls_of(text, "exact") == []


def test_exact_parser_takes_the_whole_text_or_its_block():
    call = '{"name": "pwd", "arguments": {}}'
    for text in (call, f"[{call}]", block(f"[{call}]"), f"So:\n```tool_call\n[{call}]"):
        assert calls_of(text, "exact") == [("pwd", {})]


@pytest.mark.parametrize("parser", PARSERS)
def test_deep_nesting_does_not_overflow(parser):
    for deep in ("[" * 5000 + "]" * 5000, '{"a":' * 5000 + "1" + "}" * 5000, "[" * 5000):
        assert calls_of(deep, parser) == []
        call = block(f'[{{"name": "search", "arguments": {{"query": "x", "filters": {deep}}}}}]')
        assert calls_of(call, parser) == []


def test_nesting_up_to_the_limit_is_read():
    inner = "[" * (MAX_DEPTH - 3) + "]" * (MAX_DEPTH - 3)
    for limit, count in ((inner, 1), (f"[{inner}]", 0)):
        text = f'[{{"name": "search", "arguments": {{"query": {limit}}}}}]'
        assert [len(calls_of(text, parser)) for parser in PARSERS] == [count] * 3


HOSTILE = [
    "{", "[", '"', "'", "```tool_call\n", "[{", '{"', '{"a":', '["', "['", "“", '[{"name": "', "`",
    "```tool_call\n[", '```tool_call\n{"name": "', "```\n", '["\\', "\\", "[,", "[a", "{}", "[]}",
    "\n", "[ ", '"\n', '{"name": "pwd", "arguments": {}}, ', '{"name": "a", "arguments": "{',
    '{"a": "b" "c":', "9", "[1,", "[1e", "[-", ",", '", "', '": "', "```json\n{}\n", "é[“",
    "\ud83d",
]  # fmt: skip


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("start", ["", "[", '{"a": "', '```tool_call\n[{"name": "pwd", "arg": "'])
def test_a_megabyte_of_anything_returns_at_once(start, parser):
    for unit in HOSTILE:
        text = (start + unit * (1_000_000 // len(unit)))[:1_000_000]
        taken = []
        while min(taken, default=1) > 0.3 and len(taken) < 5:  # the machine may be busy
            began = time.process_time()
            parse_tool_calls(text, TOOLS, parser=parser)
            taken.append(time.process_time() - began)
        assert min(taken) < 0.3, unit


VALUES = {
    "string": st.text(),
    "integer": st.integers(),
    "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "array": st.lists(json_values, max_size=3),
    "object": st.dictionaries(st.text(), json_values, max_size=3),
    None: json_values,
}


@st.composite
def tools_and_calls(draw):
    """Draw any tools, and calls that keep to their schemas."""
    tools, calls = [], []
    for name in draw(st.lists(st.text(), unique=True, max_size=3)):
        kinds = draw(st.dictionaries(st.text(), st.sampled_from(list(VALUES)), max_size=3))
        schema = {key: {"type": kind} if kind else {} for key, kind in kinds.items()}
        tools.append(Tool(name, draw(st.text()), {"type": "object", "properties": schema}))
        for _ in range(draw(st.integers(0, 2))):
            arguments = {key: draw(VALUES[kind]) for key, kind in kinds.items()}
            calls.append(ToolCall(name, arguments))
    return tools, tuple(draw(st.permutations(calls)))


@patient
@given(tools_and_calls(), st.sampled_from(["robust", "exact"]))
def test_calls_survive_rendering_and_parsing(drawn, parser):
    tools, calls = drawn
    text = render_calls(calls)
    assert parse_tool_calls(text, tools, parser=parser) == (calls, ())
    cut, stop = cut_at_stop(f"I will.\n{text}\n", STOPS_PAST_PROSE)
    assert stop == "\n```\n"
    assert parse_tool_calls(cut, tools, parser=parser) == (calls, ())


@settings(patient, max_examples=max(500, settings.default.max_examples))
@given(completions)
def test_fuzzed_text_raises_nothing(text):
    for parser in PARSERS:
        parsed = parse_tool_calls(text, TOOLS, parser=parser)
        assert {call.name for call in parsed.calls} <= {tool.name for tool in TOOLS}
        json.dumps([call.arguments for call in parsed.calls], allow_nan=False)
        assert all(isinstance(repair, str) for repair in parsed.repairs)
