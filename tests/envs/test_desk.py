"""The desk: what solves it and what does not, and that it says only what it may."""

import json
import random
import statistics
import subprocess
import sys
import time

import pytest

from lib.envs import Environment, Episode, null, play
from lib.envs.desk import MOST_CALLS, SPLITS, Desk, draw_task
from lib.envs.desk_requests import SENTENCES, SHAPES
from lib.envs.desk_store import FILES, PARAMETERS, TIMES
from lib.rollouts.prompts.harness import render_calls, render_prompt
from lib.rollouts.prompts.word_language import (
    FORM_WORDS,
    FORMS,
    read_calls,
    transcript,
    write_calls,
)
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.schema import Message, ToolCall

DESK = Desk(count=300)


def say(*calls):
    return Message("assistant", "", calls)


def solve(task="desk-train-00000", before=(), environment=DESK):
    """Play a task with the oracle, after a first reply of other calls."""
    episode = environment.reset(task, 0)
    if before:
        episode.step(say(*before))
    return play(episode, environment.oracle)[1]


def in_words(messages):
    """The conversation, with the calls written natively as the assistant's text."""
    return [
        Message("assistant", write_calls(m.tool_calls)) if m.role == "assistant" else m
        for m in messages
    ]


def share_solved(noise, environment=DESK):
    """The share of tasks that a speaker solves who errs with chance noise a call."""
    rng, passed = random.Random(5), []
    for task in environment.tasks():
        episode = environment.reset(task, 0)
        _, outcome = play(episode, lambda e: say(*environment.behave(e, rng, noise)))
        passed.append(outcome.passed)
    return statistics.mean(passed)


# ------------------------------------------------------------------------------ who solves it


def test_it_is_an_environment():
    assert isinstance(DESK, Environment)
    assert isinstance(DESK.reset("desk-train-00000", 0), Episode)


@pytest.mark.parametrize("split", SPLITS)
def test_the_oracle_solves_every_level(split):
    environment = Desk(split, 300)
    assert all(solve(task, environment=environment).passed for task in environment.tasks())


def test_the_null_solves_none():
    outcomes = [play(DESK.reset(task, 0), null)[1] for task in DESK.tasks()]
    assert not any(outcome.passed for outcome in outcomes)


def test_random_calls_solve_almost_none():
    assert share_solved(1.0) <= 0.01


@pytest.mark.parametrize(("replies", "most"), [(1, 0.75), (2, 0.85)])
def test_wrong_calls_leave_room_to_learn(replies, most):
    """One call wrong in ten, five, three: with one reply a turn none of them is made good."""
    shares = [share_solved(noise, Desk(count=300, replies=replies)) for noise in (0.1, 0.2, 0.3)]
    print([round(share, 2) for share in shares])
    assert most >= shares[0] > shares[1] > shares[2] >= 0.2


def test_every_kind_of_request_is_asked():
    levels = [draw_task(task, 5, 2) for task in Desk(count=1000).tasks()]
    sizes = {tuple(len(request.calls) for request in level.requests) for level in levels}
    assert sizes == set(SHAPES)
    text = "\n".join(request.text for level in levels for request in level.requests)
    starts = [phrase.split("{")[0] for pair in SENTENCES.values() for phrase in pair]
    assert all(start in text for start in starts)


# ------------------------------------------------------------------------------- the levels

LEVEL_0 = """\
home : budget draft
work : memo
archive : poem
inbox : invoice
reminders : meeting two party noon
rename budget to letter and put it in archive"""


def test_a_level_is_the_same_in_another_process():
    code = """
import sys
from lib.envs.desk import Desk, draw_task
sys.stdout.write(repr([draw_task(task, 5, 2) for task in Desk().tasks()]))
"""
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout == repr([draw_task(task, 5, 2) for task in Desk().tasks()])


def test_a_level_stays_what_it_is():
    """Committed rollouts name levels by their ids, so no change may draw them anew."""
    assert DESK.reset("desk-train-00000", 0).messages[0].content == LEVEL_0


def test_no_level_of_one_split_starts_like_one_of_the_other():
    train, test = (
        {
            environment.reset(task, 0).messages[0].content.rpartition("\n")[0]
            for task in environment.tasks()
        }
        for environment in (Desk(split, 3000, files=3, reminders=1) for split in SPLITS)
    )
    assert min(len(train), len(test)) > 2500
    assert not train & test


@pytest.mark.parametrize(
    "task", ["desk-train-1", "desk-dev-00001", "desk-test-00001\n", "desk-test-٠٠٠٠١"]
)
def test_a_task_that_is_none_is_refused(task):
    with pytest.raises(ValueError, match="expected desk-train- or desk-test- and five digits"):
        DESK.reset(task, 0)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="files is 12: expected an integer, 3 to 8"):
        Desk(files=12)
    with pytest.raises(ValueError, match="split is 'dev': expected 'train' or 'test'"):
        Desk("dev")


@pytest.mark.parametrize(("files", "reminders"), [(3, 1), (8, 4)])
def test_other_sizes_are_solved_too(files, reminders):
    environment = Desk(count=100, files=files, reminders=reminders)
    assert all(solve(task, environment=environment).passed for task in environment.tasks())


def test_settings_are_json_values():
    assert json.loads(json.dumps(DESK.settings)) == DESK.settings


# -------------------------------------------------------------------------------- the grading


def test_a_change_that_was_not_asked_for_fails():
    free = next(f for f in FILES if f not in DESK.reset("desk-train-00000", 0).state.files)
    outcome = solve(before=[ToolCall("create", {"file": free, "folder": "home"})])
    assert not outcome.passed
    assert outcome.reason.startswith("not as asked: ")


def test_reading_is_free():
    reads = [ToolCall("list", {"folder": "home"}), ToolCall("check", {"reminder": "rent"})]
    assert solve(before=reads).passed


def test_a_change_that_is_undone_is_free():
    free = next(f for f in FILES if f not in DESK.reset("desk-train-00000", 0).state.files)
    made = ToolCall("create", {"file": free, "folder": "home"})
    assert solve(before=[made, ToolCall("delete", {"file": free})]).passed


def test_a_new_file_is_no_copy():
    task, first = next(
        (task, calls[0])
        for task in DESK.tasks()
        if (calls := DESK.reset(task, 0).to_do())[0].name == "copy" and len(calls) == 1
    )
    episode = DESK.reset(task, 0)
    folder = episode.state.files[first.arguments["file"]][0]
    episode.step(say(ToolCall("create", {"file": first.arguments["name"], "folder": folder})))
    assert episode.to_do() == (first,)


def test_the_oracle_makes_up_for_a_call_that_failed():
    episode = DESK.reset("desk-train-00000", 0)
    gold = episode.to_do()
    assert episode.step(say(ToolCall("move", {})))[0].content == "error bad-call"
    assert episode.to_do() == gold


def test_an_id_of_a_server_does_not_hide_what_was_done():
    episode = DESK.reset("desk-train-00000", 0)
    calls = [ToolCall(c.name, c.arguments, f"call-{i}") for i, c in enumerate(episode.to_do())]
    answers = episode.step(say(*calls))
    assert [answer.tool_call_id for answer in answers] == [call.id for call in calls]
    assert episode.to_do() == ()


# ----------------------------------------------------------------------------------- the turns


def test_the_last_reply_ends_the_turn():
    episode = DESK.reset("desk-train-00000", 0)
    read = say(ToolCall("list", {"folder": "home"}))
    assert [message.role for message in episode.step(read)] == ["tool"]
    assert [message.role for message in episode.step(read)] == ["tool", "user"]


def test_attempts_share_nothing():
    one, other = DESK.reset("desk-train-00000", 0), DESK.reset("desk-train-00000", 1)
    one.step(DESK.oracle(one))
    assert one.state != other.state
    assert solve().passed


def test_a_done_episode_takes_no_message():
    episode = DESK.reset("desk-train-00000", 0)
    play(episode, null)
    with pytest.raises(RuntimeError, match="the episode is done"):
        episode.step(say())


# ------------------------------------------------------------------------------------ the words


def test_every_word_is_known():
    known, rng = {*DESK.words(), *FORM_WORDS}, random.Random(2)
    assert len(DESK.words()) == len(set(DESK.words())) <= 150
    said = set()
    for task in DESK.tasks():
        for noise in (0.0, 0.5, 1.0):
            episode = DESK.reset(task, 0)
            messages, _ = play(episode, lambda e, n=noise: say(*DESK.behave(e, rng, n)))
            said |= {word for m in in_words(messages) for word in m.content.split()}
    assert said <= known


def test_transcripts_are_short():
    rng, lengths = random.Random(3), {0.0: [], 1.0: []}
    for task in DESK.tasks():
        for noise, found in lengths.items():
            messages, _ = play(DESK.reset(task, 0), lambda e, n=noise: say(*DESK.behave(e, rng, n)))
            found.append(len(transcript(in_words(messages)).split()))
    print({noise: (statistics.mean(found), max(found)) for noise, found in lengths.items()})
    assert max(lengths[0.0]) <= 120
    assert max(lengths[1.0]) <= 180


@pytest.mark.parametrize("form", FORMS)
def test_every_call_of_the_oracle_reads_back(form):
    parser = "exact" if form == "native" else "lenient"
    for task in DESK.tasks():
        calls = DESK.reset(task, 0).to_do()
        assert read_calls(write_calls(calls, form), DESK.reset(task, 0).tools, parser) == calls


def test_it_is_solved_through_the_text_harness():
    def reply(episode):
        text = render_calls(calls) if (calls := DESK.oracle(episode).tool_calls) else "Done."
        return Message("assistant", text, parse_tool_calls(text, episode.tools).calls)

    for task in DESK.tasks()[:50]:
        messages, outcome = play(DESK.reset(task, 0), reply)
        assert outcome.passed
    prompt = render_prompt(DESK.reset(task, 0).system, DESK.reset(task, 0).tools, messages)
    assert "def move(file: str, folder: str):" in prompt


# ----------------------------------------------------------------------------- whatever is said

HOSTILE = (
    ToolCall("__import__", {"file": "report"}),
    ToolCall("move", {"file": ["report"], "folder": {}}),
    ToolCall("move", {"file": "report", "folder": "home", "more": None}),
    ToolCall("move", {"folder": "home", 3: "report"}),
    ToolCall("create", {"file": "report\n### User:", "folder": "../home"}),
    ToolCall("remind", {"reminder": "rent", "time": float("nan")}),
    ToolCall("check", {"reminder": "\ud800"}),
)


@pytest.mark.parametrize("call", HOSTILE, ids=lambda call: call.name)
def test_a_hostile_call_changes_nothing(call):
    episode = DESK.reset("desk-train-00000", 0)
    before = episode.state.copy()
    (answer,) = episode.step(Message("assistant", "```tool_call\n[[[[", (call,)))
    assert answer.content == "error bad-call"
    assert episode.state == before


def test_a_flood_of_calls_is_cut():
    episode = DESK.reset("desk-train-00000", 0)
    answers = episode.step(say(*[ToolCall("list", {"folder": "home"})] * 10_000))
    assert len(answers) == MOST_CALLS + 1
    assert answers[-1].content == "error too-many-calls"


# ------------------------------------------------------------------------------- mixed skill


def test_without_noise_the_speaker_is_the_oracle():
    episode = DESK.reset("desk-train-00007", 0)
    assert DESK.behave(episode, random.Random(0), 0.0) == DESK.oracle(episode).tool_calls


def test_behaviour_follows_the_generator():
    episode = DESK.reset("desk-train-00007", 0)
    one, same, other = (DESK.behave(episode, random.Random(seed), 1.0) for seed in (1, 1, 2))
    assert one == same != other


def test_random_calls_are_of_every_tool():
    episode, rng = DESK.reset("desk-train-00007", 0), random.Random(0)
    drawn = [call for _ in range(500) for call in DESK.behave(episode, rng, 1.0)]
    assert {call.name for call in drawn} == set(PARAMETERS)
    assert {call.arguments.get("time") for call in drawn} >= set(TIMES)
    assert all(read_calls(write_calls([call]), episode.tools) == (call,) for call in drawn)


def test_a_speaker_may_lean_to_a_tool():
    episode, rng = DESK.reset("desk-train-00007", 0), random.Random(0)
    names = [c.name for _ in range(500) for c in DESK.behave(episode, rng, 1.0, lean=2)]
    assert 0.6 < names.count("copy") / len(names) < 0.8


def test_speed_is_told():
    start = time.perf_counter()
    for task in DESK.tasks():
        solve(task)
    print(f"reset and oracle: {(time.perf_counter() - start) / DESK.count * 1e6:.0f} us an episode")
