"""A rollout with all that a file may hold."""

from dataclasses import replace

from lib.trajectories.jsonl import RolloutWriter
from lib.trajectories.schema import Message, Rollout, Tool, ToolCall, Turn

PWD = Tool("pwd", "Name the folder.", {"type": "object", "properties": {}})


def rollout(attempt=0, **changes):
    messages = (
        Message("user", "Where are we? é \ud83d\u2028"),
        Message("assistant", "```tool_call\n[]", (ToolCall("pwd", {"deep": [1, {"a": None}]}),)),
        Message("tool", "/home", name="pwd", tools=[Tool("ls")]),
        Message("assistant", "In /home."),
    )
    turns = (
        Turn(1, (1, 2, 3), (4, 5), (-0.5, -0.25), (-1.0, -0.5), "stop"),
        Turn(3, (1, 2, 3, 4, 5, 6), (7,), (0.0,), None, "length"),
    )
    whole = Rollout(
        "bfcl", "gemma", "base", "task_1", attempt, True, "", messages, (PWD,), turns,
        {"sampling": 7}, {"temperature": 0.4}, {"rounds": 1},
    )  # fmt: skip
    return replace(whole, **changes)


def write(path, *rollouts):
    with RolloutWriter(path) as out:
        for each in rollouts:
            out.write(each)
    return path
