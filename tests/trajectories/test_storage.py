"""Files that survive a kill, and locks that go with their process."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lib.trajectories import storage

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys, time
from lib.trajectories import storage

with storage.lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced(tmp_path):
    storage.write_text(tmp_path / "a", "old")
    storage.write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert names(tmp_path) == ["a"]


def test_an_error_leaves_the_old_file(tmp_path):
    storage.write_text(tmp_path / "a", "old")
    with pytest.raises(KeyError), storage.replacing(tmp_path / "a") as part:
        raise KeyError(part.write_text("half"))
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_characters_that_utf8_cannot_encode_are_an_error_or_escaped(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        storage.write_text(tmp_path / "a", "\ud800")
    assert names(tmp_path) == []
    storage.write_text(tmp_path / "a", "\ud800", errors="backslashreplace")
    assert (tmp_path / "a").read_text() == "\\ud800"


def test_the_first_text_stays(tmp_path):
    assert storage.write_once(tmp_path / "new" / "a", "first") == "first"
    assert storage.write_once(tmp_path / "new" / "a", "second") == "first"
    assert names(tmp_path / "new") == ["a"]


def test_a_file_that_appears_meanwhile_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: False)
    storage.write_once(tmp_path / "a", "first")
    assert storage.write_once(tmp_path / "a", "second") == "first"


def test_without_hard_links_the_first_text_stays_too(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("no hard links here")

    monkeypatch.setattr(storage.os, "link", refuse)
    assert storage.write_once(tmp_path / "a", "first") == "first"
    assert storage.write_once(tmp_path / "a", "second") == "first"
    assert names(tmp_path) == ["a"]


def test_a_second_lock_is_refused_until_the_first_is_released(tmp_path):
    with storage.lock(tmp_path / "a"):
        with (
            pytest.raises(storage.LockedError, match=r"a is in use by another process"),
            storage.lock(tmp_path / "a"),
        ):
            pass
        assert names(tmp_path) == [".a.lock"]
    with storage.lock(tmp_path / "a"):
        pass
    assert names(tmp_path) == []


def test_a_killed_process_releases_its_lock(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "a")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(storage.LockedError), storage.lock(tmp_path / "a"):
            pass
        holder.send_signal(signal.SIGKILL)
    assert names(tmp_path) == [".a.lock"]
    with storage.lock(tmp_path / "a"):
        pass
    assert names(tmp_path) == []


def test_waiting_gets_the_lock_once_it_is_free(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "a")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGKILL)
        with storage.lock(tmp_path / "a", wait=True):
            assert names(tmp_path) == [".a.lock"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").touch()
    with storage.replacing_folder(tmp_path / "model") as part:
        (part / "new").touch()
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["new"]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_written_stays_and_is_named(tmp_path):
    (tmp_path / "model").mkdir()
    with (
        pytest.raises(OSError, match=r"model cannot be written: disk full"),
        storage.replacing_folder(tmp_path / "model"),
    ):
        raise RuntimeError("disk full")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_a_kill_left_of_a_folder_is_removed(tmp_path):
    (tmp_path / "part-model-1").mkdir()
    storage.remove_parts(tmp_path)
    assert not list(tmp_path.iterdir())
