"""Grade stored completions again: what would another parser have read in the same text?"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lib.envs import Environment
from lib.rollouts.call_formats.thoughts import said, without_thought
from lib.rollouts.tool_calls import Parser, parse_tool_calls
from lib.trajectories.schema import Message, Rollout, offered_tools


def regrade(
    rollouts: Iterable[Rollout], environment: Environment, parser: Parser
) -> Iterator[Rollout]:
    """Grade attempts at single-turn tasks as if `parser` had read their completions.

    The text of a rollout must hold all that the policy wrote, calls included; a text format or a
    chat template leaves it so. Attempts without a completion (there was trouble, or no room in the
    context) are returned unchanged. Raises ValueError for a rollout of another benchmark, or of
    more than one turn.
    """
    for rollout in rollouts:
        if rollout.benchmark != environment.name:
            raise ValueError(f"{rollout.key} is not an attempt at {environment.name}")
        if not rollout.turns or rollout.turns[-1].finish == "context":
            yield rollout
        else:
            yield _regraded(rollout, environment, parser)


def has_valid_call(rollout: Rollout) -> bool:
    """Whether a reply calls a tool that was offered with at least its required arguments."""
    required = {
        tool.name: set(tool.parameters.get("required") or ())
        for tool in offered_tools(rollout.tools, rollout.messages)
    }
    return any(
        call.name in required and required[call.name] <= set(call.arguments)
        for message in rollout.messages
        for call in message.tool_calls
    )


def _regraded(rollout: Rollout, environment: Environment, parser: Parser) -> Rollout:
    number = rollout.turns[0].message
    episode = environment.reset(rollout.task, rollout.attempt)
    try:
        reply = rollout.messages[number]
        calls = parse_tool_calls(said(reply), episode.tools, parser).calls
        reply = Message("assistant", reply.content, calls, thought=reply.thought)
        episode.step(without_thought(reply))
        if len(rollout.turns) > 1 or not episode.done:
            raise ValueError(
                f"{rollout.key} has several turns, and the later ones depend on how the first was "
                "read. Collect it again with the other parser."
            )
        outcome = episode.outcome
    finally:
        episode.close()
    return replace(
        rollout,
        passed=outcome.passed,
        reason=outcome.reason,
        messages=(*rollout.messages[:number], reply),
        tools=episode.tools,
        info=outcome.info,
    )
