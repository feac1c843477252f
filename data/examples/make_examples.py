"""Write base.jsonl and post.jsonl: simulated outcomes of 24 tasks, 16 attempts each.

The base solves many tasks now and then, its post-trained sibling fewer tasks nearly always: success
rates are drawn from a Beta with mean 0.3 and a bimodal one. A few attempts have no score, and one
task was never run on the second arm, as happens in real logs. Run from anywhere; same bytes always.
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main():
    rng = np.random.default_rng(7)
    for arm, (a, b) in {"base": (0.9, 2.1), "post": (0.25, 0.25)}.items():
        rates = rng.beta(a, b, size=24)
        with (HERE / f"{arm}.jsonl").open("w", encoding="utf-8") as file:
            for task, rate in enumerate(rates[: 24 if arm == "base" else 23]):
                for attempt in range(16):
                    row = {"arm": arm, "task": f"task-{task:02}", "attempt": attempt}
                    row["passed"] = bool(rng.random() < rate)
                    if rng.random() < 0.01:
                        row |= {"passed": None, "reason": "server timeout"}
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
