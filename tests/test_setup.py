"""`make setup`: what it makes, what it leaves alone, and what it says where it cannot work."""

import fcntl
import os
import platform
import shutil
import socket
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path):
    """A copy of all that set-up reads."""
    for name in ("Makefile", "requirements.txt", "pyproject.toml", ".ci"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def start_make(checkout, *arguments, **variables):
    """`make ARGUMENTS` at work, without pip's settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "MAKE"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull}
    return subprocess.Popen(
        ["make", *arguments],
        cwd=checkout,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def make(checkout, *arguments, **variables):
    """What `make ARGUMENTS` writes to standard error when it fails."""
    at_work = start_make(checkout, *arguments, **variables)
    _, said = at_work.communicate(timeout=60)
    assert at_work.returncode == 2  # make's own code for a recipe that failed
    return said


def program(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_missing_python(checkout):
    said = make(checkout, "PYTHON=python-nowhere", "test")
    assert "error: there is no working Python called 'python-nowhere'." in said
    assert "make PYTHON=python3.12 test" in said


def test_a_python_too_old(checkout):
    old = program(checkout / "old", 'case "$2" in *version\\(*) echo 3.9.2 ;; *) exit 1 ;; esac')
    said = make(checkout, f"PYTHON={old}", "reproduce")
    assert f"error: Python 3.11 or newer is needed; '{old}' is Python 3.9.2." in said


def test_a_python_without_venv(checkout):
    bare = program(checkout / "bare", 'case "$2" in *venv*) exit 1 ;; *) echo 3.11.2 ;; esac')
    assert "apt install python3-venv" in make(checkout, f"PYTHON={bare}", "test")


@pytest.fixture
def full_disk(checkout):
    """A PATH by which the disk has no room for a .venv, so that none is ever made."""
    program(checkout / "df", "echo /dev/disk 9 9 1000000 99% /")
    return f"{checkout}{os.pathsep}{os.environ['PATH']}"


def install(checkout):
    """What a set-up leaves that was finished, as far as the next one looks at it."""
    venv.create(checkout / ".venv", with_pip=False, symlinks=True)
    sums = (checkout / "requirements.txt").read_bytes()
    sums = subprocess.run(["cksum"], input=sums, stdout=subprocess.PIPE).stdout.decode().strip()
    lines = f"python {platform.python_version()}\ncheckout {checkout}\nrequirements {sums}\n"
    (checkout / ".venv" / "setup.log").touch()
    (checkout / ".venv" / "setup.stamp").write_text(lines)


def test_a_full_disk(checkout, full_disk):
    said = make(checkout, f"PYTHON={sys.executable}", "test", PATH=full_disk)
    assert "error: the disk is too full for .venv" in said
    assert "there are 1000 MB left" in said


def test_a_finished_venv_is_taken_as_it_is(checkout, full_disk):
    install(checkout)
    at_work = start_make(checkout, "setup", PATH=full_disk)
    assert at_work.communicate(timeout=60) == ("", "")
    assert at_work.returncode == 0


def test_a_venv_that_lost_its_python_is_made_anew(checkout, full_disk):
    install(checkout)
    (checkout / ".venv" / "bin" / "python").unlink()
    said = make(checkout, f"PYTHON={sys.executable}", "setup", PATH=full_disk)
    assert "the disk is too full for .venv" in said


def test_a_venv_to_be_made_anew_keeps_its_python(checkout, full_disk):
    install(checkout)
    (checkout / ".venv" / "setup.stamp").unlink()  # as an interrupted update leaves it
    program(checkout / "python3", "echo 3.9.2; exit 1")
    assert "the disk is too full for .venv" in make(checkout, "setup", PATH=full_disk)


def test_a_second_set_up_waits_for_the_first(checkout, full_disk):
    with (checkout / ".ci" / "setup").open("r+") as held_by_the_first:
        fcntl.flock(held_by_the_first, fcntl.LOCK_EX)
        second = start_make(checkout, f"PYTHON={sys.executable}", "setup", PATH=full_disk)
        said = second.stdout.readline()
        install(checkout)
    assert said == "Another set-up is at work in this folder; waiting for it\n"
    assert second.communicate(timeout=60) == ("", "")
    assert second.returncode == 0


def test_a_folder_with_a_colon(checkout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("a:b") / "checkout"
    shutil.copytree(checkout, folder)
    said = make(folder, f"PYTHON={sys.executable}", "setup")
    assert "error: no .venv can be made in a folder with a colon in its path" in said


def test_a_venv_of_someone_elses_is_left_alone(checkout):
    (checkout / ".venv" / "__pycache__").mkdir(parents=True)
    said = make(checkout, f"PYTHON={sys.executable}", "test")
    assert "error: there is a .venv that was not made by make." in said
    subprocess.run(["make", "clean"], cwd=checkout, check=True, stdout=subprocess.DEVNULL)
    assert (checkout / ".venv" / "__pycache__").is_dir()


def test_clean_removes_what_was_made(checkout):
    install(checkout)
    (checkout / "lib" / "__pycache__").mkdir(parents=True)
    subprocess.run(["make", "clean"], cwd=checkout, check=True, stdout=subprocess.DEVNULL)
    assert not (checkout / ".venv").exists()
    assert list((checkout / "lib").iterdir()) == []


@pytest.mark.slow
def test_an_index_that_cannot_be_reached(checkout):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{bound.getsockname()[1]}/simple"
    python = f"PYTHON={sys.executable}"
    said = make(checkout, python, "test", PIP_INDEX_URL=nobody, PIP_RETRIES="0")
    assert "error: the package index could not be reached." in said
    assert "run the same command again" in said
    assert not (checkout / ".venv" / "setup.stamp").exists()
