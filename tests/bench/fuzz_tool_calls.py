"""Fuzz the parsers: python tests/bench/fuzz_tool_calls.py [count, 100000 by default]."""

import runpy
import sys
import time
from pathlib import Path

from hypothesis import settings

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    settings.register_profile("long", max_examples=count, deadline=None)
    settings.load_profile("long")
    tests = runpy.run_path(str(Path(__file__).parents[1] / "rollouts" / "test_tool_calls.py"))
    began = time.perf_counter()
    tests["test_fuzzed_text_raises_nothing"]()
    print(f"{count} inputs, three parsers, {time.perf_counter() - began:.0f} s: nothing raised")
