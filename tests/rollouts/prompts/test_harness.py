"""The text harness: tools as stubs, transcripts, stops."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from lib import ROOT
from lib.rollouts.prompts.harness import (
    ASSISTANT,
    STOPS,
    STOPS_PAST_PROSE,
    cut_at_stop,
    plain_prompt,
    render_calls,
    render_prompt,
    render_tool,
    render_transcript,
)
from lib.trajectories.schema import Message, Tool, ToolCall
from tests.stored_calls import TOOLS, completions, json_values, patient


def test_the_harness_needs_the_standard_library_only():
    code = "import sys, lib.rollouts.prompts.harness, lib.trajectories.jsonl; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.decode().split()}
    assert not loaded & {"numpy", "pandas", "torch", "transformers", "hypothesis"}


def test_tool_as_a_stub():
    schema = {
        "type": "object",
        "properties": {
            "loud": {"type": "boolean", "description": "Ring\n  loudly.", "default": False},
            "at": {"type": "array", "items": {"type": "integer"}, "description": "Minutes."},
            "tone": {"type": ["string", "null"], "enum": ["low", "high"]},
            "who": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
        "required": ["at"],
    }
    assert render_tool(Tool("set.timer", 'Set """timers""".', schema)) == (
        "def set.timer(at: list[int], loud: bool = False, tone: str | None = None, "
        "who: dict = None):\n"
        "    \"\"\"Set '''timers'''.\n"
        "\n"
        "    Args:\n"
        "        at: Minutes.\n"
        "        loud: Ring loudly.\n"
        "        tone: One of: 'low', 'high'.\n"
        "        who: Members: name (str).\n"
        '    """'
    )


def test_bare_tool_as_a_stub():
    assert render_tool(Tool("pwd")) == "def pwd(): ..."


@patient
@given(json_values, json_values)
def test_any_schema_can_be_rendered(one, other):
    render_tool(Tool("f", "", {"properties": {"a": one, "b": {"anyOf": [{"type": other}]}}}))


def test_prompt():
    messages = [
        Message("user", "Where?"),
        Message("assistant", '```tool_call\n[{"name": "pwd", "arguments": {}}]'),
        Message("tool", "/home"),
    ]
    prompt = render_prompt("Be brief.", [Tool("pwd")], messages)
    assert prompt.startswith("Be brief.\n\nYou can call these tools")
    assert prompt.endswith(
        "### User:\nWhere?\n\n### Assistant:\n"
        '```tool_call\n[{"name": "pwd", "arguments": {}}]\n```\n\n'
        "### Tool output:\n/home\n\n### Assistant:\n"
    )


def test_prompt_without_tools_has_no_contract():
    assert render_prompt("", [], [Message("user", "Hi")]) == f"### User:\nHi\n\n{ASSISTANT}\n"


def test_calls_that_a_server_split_off_are_put_back():
    message = Message("assistant", "", (ToolCall("pwd"),))
    assert render_calls([ToolCall("pwd")]) in render_prompt("", TOOLS, [message])
    written = Message("assistant", '{"name": "pwd", "arguments": {}}', (ToolCall("pwd"),))
    assert render_prompt("", [], [written]).count("pwd") == 1


def test_tools_that_come_later_stand_where_they_came():
    messages = [Message("user", "Hi"), Message("user", "And now?", tools=[Tool("ls")])]
    prompt = render_prompt("", [Tool("pwd")], messages)
    assert prompt.endswith(
        "### User:\nHi\n\n### User:\ndef ls(): ...\n\nAnd now?\n\n### Assistant:\n"
    )


def test_a_plain_prompt_does_not_explain_calls():
    prompt = plain_prompt("Be brief.", [Tool("pwd", "d", {})], [Message("user", "Where?")])
    array = '[{"name": "pwd", "description": "d", "parameters": {}}]'
    assert prompt == f"Be brief.\n\n{array}\n\nWhere?\n\n"


contents = st.text() | completions
turns = st.builds(
    lambda role, content, calls: Message(role, content, calls if role == "assistant" else ()),
    st.sampled_from(["user", "assistant", "tool"]),
    contents,
    st.lists(st.just(ToolCall("pwd")), max_size=1),
)


@patient
@given(st.text(), st.lists(turns, max_size=4), contents, st.lists(turns, max_size=2))
def test_a_longer_prompt_begins_with_the_shorter_and_the_reply(system, before, reply, after):
    prompt = render_prompt(system, TOOLS, before)
    longer = render_prompt(system, TOOLS, [*before, Message("assistant", reply), *after])
    assert longer.startswith(prompt + reply)


@patient
@given(st.lists(turns, max_size=5))
def test_actions_of_a_transcript_are_what_the_assistant_wrote(messages):
    transcript = render_transcript("", [], messages)
    wrote = [transcript.text[span.start : span.end] for span in transcript.actions]
    said = [m for m in messages if m.role == "assistant"]
    assert [span.message for span in transcript.actions] == [
        number for number, m in enumerate(messages) if m.role == "assistant"
    ]
    assert all(text.startswith(m.content) for text, m in zip(wrote, said, strict=True))


def test_stops():
    call = '```tool_call\n[{"name": "pwd", "arguments": {}}]'
    assert cut_at_stop(f"{call}\n```\nmore", STOPS) == (call, "\n```")
    assert cut_at_stop(f"So:\n{call}\n```\nmore", STOPS_PAST_PROSE) == (f"So:\n{call}", "\n```\n")
    assert cut_at_stop("Done.\n\n### User:\nThanks", STOPS) == ("Done.\n", "\n### User:")
    assert cut_at_stop("Done.", STOPS) == ("Done.", None)


def test_prose_first_needs_the_other_stops():
    assert cut_at_stop("So:\n```tool_call\n[]\n```\n", STOPS)[0] == "So:"
