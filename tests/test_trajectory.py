import contextlib
import json
import os
import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.trajectories.jsonl import (
    RolloutWriter,
    from_line,
    iter_rollouts,
    mend,
    read_rollouts,
    to_line,
)
from lib.trajectories.schema import (
    Message,
    Rollout,
    Tool,
    ToolCall,
    TrajectoryError,
    Turn,
    offered_tools,
    tools_key,
)
from lib.trajectories.tokens import Span, Transcript, stored_tokens, token_spans

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


def test_line_round_trip():
    assert from_line(to_line(rollout())) == rollout()


def test_missing_outcome_round_trip():
    missing = rollout(passed=None, reason="server timed out", tools=tools_key([PWD]), turns=())
    assert from_line(to_line(missing)) == missing


def test_a_line_has_one_line_break_and_only_ascii():
    line = to_line(rollout())
    assert line.isascii()
    assert line.decode().splitlines() == [line.decode()[:-1]]


def test_prompts_are_written_once():
    assert json.loads(to_line(rollout()))["turns"][1]["prompt_ids"] == {"kept": 5, "new": [6]}


@settings(deadline=None)
@given(st.lists(st.tuples(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))))
def test_any_prompts_round_trip(ids):
    messages = tuple(Message("assistant", "") for _ in ids)
    turns = tuple(Turn(at, *pair) for at, pair in enumerate(ids))
    whole = rollout(messages=messages, turns=turns)
    assert from_line(to_line(whole)) == whole


def test_offered_tools():
    assert offered_tools([PWD], rollout().messages) == (PWD, Tool("ls"))


def test_tools_key_depends_on_the_tools():
    assert tools_key([PWD]) == tools_key([replace(PWD)])
    assert tools_key([PWD]) != tools_key([replace(PWD, description="")])


def test_tool_reads_the_wrapped_form():
    raw = {"name": "pwd", "description": "d", "parameters": {"type": "object"}}
    wrapped = {"type": "function", "function": raw}
    assert Tool.from_dict(wrapped) == Tool.from_dict(raw) == Tool("pwd", "d", {"type": "object"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"passed": None}, "outcome is missing needs a reason"),
        ({"passed": 1}, "passed must be True, False or None, got 1"),
        ({"attempt": -1}, "attempt must be an integer from 0 up, got -1"),
        ({"task": 3}, "task must be a string, got 3"),
        ({"messages": ()}, "belongs to message 1, but there are 0 messages"),
        ({"turns": (Turn(0),)}, "belongs to message 0, which is not an assistant's"),
    ],
)
def test_bad_rollouts_are_refused(changes, message):
    with pytest.raises(TrajectoryError, match=message):
        rollout(**changes)


def test_bad_messages_are_refused():
    with pytest.raises(TrajectoryError, match=r"role must be one of system, .* got 'bot'"):
        Message("bot", "")
    with pytest.raises(TrajectoryError, match="content must be a string, got NoneType"):
        Message("user", None)


def test_logprobs_match_their_tokens():
    with pytest.raises(TrajectoryError, match="logprobs has 1 values for 2 action tokens"):
        Turn(0, (1,), (2, 3), (-1.0,))
    with pytest.raises(TrajectoryError, match="must be finite"):
        Turn(0, (1,), (2,), (float("nan"),))


def test_what_json_cannot_hold_is_named():
    with pytest.raises(TrajectoryError, match=r"'task_1', 0\) cannot be written .* is a set"):
        to_line(rollout(info={"seen": {1}}))


def test_files_round_trip(tmp_path):
    path = write(tmp_path / "new" / "run.jsonl", rollout(0), rollout(1))
    write(path, rollout(2))
    assert read_rollouts(path) == [rollout(0), rollout(1), rollout(2)]


def test_shards_join_by_concatenation(tmp_path):
    one, two = write(tmp_path / "1", rollout(0)), write(tmp_path / "2", rollout(1))
    (tmp_path / "all").write_bytes(one.read_bytes() + two.read_bytes())
    assert read_rollouts(tmp_path / "all") == [rollout(0), rollout(1)]


def test_torn_last_line_is_skipped_with_a_warning(tmp_path):
    path = write(tmp_path / "run", rollout(0), rollout(1))
    os.truncate(path, path.stat().st_size - 40)
    with pytest.warns(UserWarning, match=r"run:2: the last line is torn and was skipped"):
        assert read_rollouts(path) == [rollout(0)]


def test_torn_line_elsewhere_is_an_error(tmp_path):
    path = tmp_path / "run"
    path.write_bytes(to_line(rollout(0))[:-40] + b"\n" + to_line(rollout(1)))
    with pytest.raises(TrajectoryError, match=r"run:1: not JSON .* only a last line may be torn"):
        read_rollouts(path)


def test_a_line_that_is_still_being_written_is_torn_whatever_follows(tmp_path, monkeypatch):
    line, told = to_line(rollout(0)), []
    came = iter([line, line[:-9], line[-9:], line])

    @contextlib.contextmanager
    def growing(path, mode):  # the rest of a line comes just after its start was read
        yield SimpleNamespace(readline=lambda: next(came, b""))

    monkeypatch.setattr("lib.trajectories.jsonl.open", growing, raising=False)
    assert list(iter_rollouts(tmp_path / "run", on_torn=told.append)) == [rollout(0)]
    assert "run:2: the last line is torn" in told[0]


def test_append_after_any_tear_keeps_every_whole_line(tmp_path):
    first, second = to_line(rollout(0)), to_line(rollout(1))
    path = tmp_path / "run"
    for cut in (*range(0, len(second), 23), len(second) - 2, len(second) - 1):
        path.write_bytes(first + second[:cut])
        write(path, rollout(2))
        whole = [rollout(1)] if cut == len(second) - 1 else []
        assert read_rollouts(path) == [rollout(0), *whole, rollout(2)]


def test_mend_says_what_it_cut(tmp_path):
    path = write(tmp_path / "run", rollout())
    assert mend(path) == 0
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "bench')
    assert mend(path) == 20
    assert path.read_bytes() == to_line(rollout())


def test_a_whole_last_line_without_its_line_break_is_kept(tmp_path):
    path = tmp_path / "run"
    path.write_bytes(to_line(rollout())[:-1])
    assert read_rollouts(path) == [rollout()]
    assert mend(path) == 0
    assert path.read_bytes() == to_line(rollout())


def test_last_of_repeated_attempts_wins(tmp_path):
    failed = rollout(0, passed=False)
    path = write(tmp_path / "run", rollout(0), rollout(1), failed, failed)
    with pytest.warns(UserWarning, match=r"run: 2 repeated \(task, attempt\)"):
        assert read_rollouts(path) == [failed, rollout(1)]
    assert len(list(iter_rollouts(path))) == 4


def test_the_same_attempt_of_two_arms_is_no_repeat(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_rollouts(write(tmp_path / "run", rollout(), rollout(arm="post")))) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "expected an object, got list"),
        (b'{"schema": 2}', "schema is 2, this version reads 1; read the file with"),
        (b'{"schema": 1, "task": "a"}', "incomplete Rollout: .*missing"),
        (b'{"schema": 1, "colour": "a"}', "unknown field 'colour' of a Rollout"),
        (b'{"schema": 1, "messages": 3}', "malformed messages"),
        (
            b'{"schema": 1, "turns": [{"message": 0, "prompt_ids": {"kept": 1}}]}',
            "keeps 1 tokens of the 0 before",
        ),
        (b'{"schema": 1, "messages": [{"role": "bot", "content": ""}]}', "got 'bot'"),
    ],
)
def test_bad_lines_name_file_and_line(tmp_path, line, message):
    path = write(tmp_path / "run", rollout())
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(TrajectoryError, match=f"run:2: .*{message}"):
        read_rollouts(path)


def test_a_second_writer_is_refused(tmp_path):
    with (
        RolloutWriter(tmp_path / "run"),
        pytest.raises(TrajectoryError, match="being written by another process"),
    ):
        RolloutWriter(tmp_path / "run")


def test_a_line_that_fails_half_way_is_taken_back(tmp_path):
    class FullDisk:
        """Takes ten bytes and then no more, as a disk that fills up does."""

        def __init__(self, file):
            self.file, self.took = file, 0

        def write(self, line):
            if self.took:
                raise OSError("no space left")
            self.took = self.file.write(line[:10])
            return self.took

        def __getattr__(self, name):
            return getattr(self.file, name)

    with RolloutWriter(tmp_path / "run") as out:
        out.write(rollout(0))
        whole, out._file = out._file, FullDisk(out._file)
        with pytest.raises(OSError, match="no space"):
            out.write(rollout(1))
        out._file = whole
        out.write(rollout(2))
    assert read_rollouts(tmp_path / "run") == [rollout(0), rollout(2)]


# Text with actions "go" and "stop"; one offset per token.
TRANSCRIPT = Transcript("ask go say stop.", (Span(1, 4, 6), Span(3, 11, 15)))


def test_pieces_join_to_the_text():
    pieces = TRANSCRIPT.pieces()
    assert "".join(text for text, _ in pieces) == TRANSCRIPT.text
    assert [text for text, span in pieces if span] == ["go", "stop"]


def test_pieces_without_text_before_or_after():
    assert Transcript("go", (Span(0, 0, 2),)).pieces() == [("go", Span(0, 0, 2))]


def test_token_spans():
    offsets = [(0, 0), (0, 4), (4, 5), (5, 6), (6, 11), (11, 15), (15, 16)]
    assert token_spans(offsets, TRANSCRIPT.actions) == [(2, 4), (5, 6)]


def test_an_action_past_the_context_limit_is_missing():
    assert token_spans([(0, 4), (4, 6), (6, 11), (11, 13)], TRANSCRIPT.actions) == [(1, 2), None]


@pytest.mark.parametrize("offsets", [[(0, 3), (3, 6), (6, 16)], [(0, 4), (4, 7), (7, 16)]])
def test_a_token_across_the_seam_is_an_error(offsets):
    with pytest.raises(TrajectoryError, match="crosses the edge of the action of message 1"):
        token_spans(offsets, TRANSCRIPT.actions)


def test_stored_tokens():
    assert stored_tokens(rollout()) == ((1, 2, 3, 4, 5, 6, 7), [(3, 5), (6, 7)])


@pytest.mark.parametrize(("following", "last"), [((1, 2, 4, 9), 3), ((1, 2, 4, 5, 9), 4)])
def test_what_ended_a_turn_may_be_gone_from_the_next(following, last):
    turns = (Turn(1, (1, 2), (4, 5, 6), ending=2), Turn(3, following, (7, 8), ending=1))
    ids, ranges = stored_tokens(rollout(turns=turns))
    assert ids == (*following, 7, 8)
    assert ranges == [(2, last), (len(following), len(ids))]


def test_more_than_the_ending_of_a_turn_may_not_be_gone():
    turns = (Turn(1, (1, 2), (4, 5, 6), ending=1), Turn(3, (1, 2, 4, 9), (7,)))
    with pytest.raises(TrajectoryError, match=r"does not begin with the tokens of turn 0"):
        stored_tokens(rollout(turns=turns))


def test_an_ending_is_part_of_the_action():
    with pytest.raises(TrajectoryError, match="ending is 3, expected 0 to 2 action tokens"):
        Turn(1, (1,), (2, 3), ending=3)


def test_stored_tokens_of_text_tokenised_anew():
    turns = (Turn(1, (1, 2), (4,)), Turn(3, (1, 2, 9), (7,)))
    with pytest.raises(TrajectoryError, match=r"does not begin with the tokens of turn 0"):
        stored_tokens(rollout(turns=turns))
    with pytest.raises(TrajectoryError, match=r"turn 0 of .* has no stored token ids"):
        stored_tokens(rollout(turns=(Turn(1),)))
