"""Texts with tool calls, and the calls that are meant (tests/data/tool_calls.jsonl)."""

import json
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lib.trajectories.schema import Tool

# The machine may be busy, and the first text drawn builds tables of characters.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PARSERS = ("robust", "paper", "exact")
_lines = (Path(__file__).parent / "data" / "tool_calls.jsonl").read_text("utf-8").splitlines()
TOOLS = [Tool.from_dict(tool) for tool in json.loads(_lines[0])["tools"]]
CASES = [json.loads(line) for line in _lines[1:]]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


FRAGMENTS = [
    "{", "}", "[", "]", '"', "'", "“", "”", ",", ":", ";", "\\", "\n", "`", "```", "\n```\n", " ",
    "```tool_call\n", "```json\n", '{"name": "', '"name"', '"arguments": {', "pwd", "set_timer",
    '"minutes": "5"', "True", "null", "1e9", "-", "\\u00", "\\ud83d", "9" * 400, "parameters",
    '"arguments": "{\\"a\\": 1}"', "NaN", "é", "\ud800", "\x00", "it's", "// x\n", "<tool_call>",
    '[{"name": "pwd", "arguments": {}}]',
]  # fmt: skip
completions = st.one_of(
    st.text(st.characters()),
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join),
    # A completion that was right, with a few characters deleted, doubled or replaced.
    st.builds(
        lambda case, edits: edit(case["text"], edits),
        st.sampled_from(CASES),
        st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["", *FRAGMENTS])), max_size=4),
    ),
)


def edit(text, edits):
    for where, piece in edits:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + 1 :]
    return text
