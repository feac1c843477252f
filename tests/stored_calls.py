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
