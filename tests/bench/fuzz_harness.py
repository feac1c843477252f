"""Fuzz the parsers of tool calls: python tests/bench/fuzz_harness.py [count, 100000 by default]."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    settings.register_profile("long", max_examples=count, deadline=None)
    settings.load_profile("long")
    tests = Path(__file__).parents[1] / "test_harness.py"
    sys.exit(
        pytest.main([f"{tests}::test_fuzzed_text_raises_nothing", "--hypothesis-show-statistics"])
    )
