"""Files of rollouts: round trips, torn lines, writers."""

import contextlib
import json
import os
import warnings
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
from lib.trajectories.schema import Message, TrajectoryError, Turn, tools_key
from tests.stored_rollouts import PWD, rollout, write


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


def test_mend_returns_how_many_bytes_it_cut(tmp_path):
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
