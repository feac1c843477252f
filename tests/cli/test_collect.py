"""The command collect: several processes, and what it says about wrong arguments."""

import json
import os
import subprocess
import sys

import pytest

from lib import ROOT
from lib.__main__ import main, make_parser
from lib.cli.collect import server_policy
from lib.rollouts.collection import table
from lib.trajectories.store import read_collection
from tests import tiny
from tests.bench.kills import essence

COMMAND = ("-m", "lib", "collect", "bfcl:simple_python")


def command_line(out, model, *launcher, tasks="3"):
    few = ("--tasks", tasks, "-n", "3", "--max-new-tokens", "4", "--concurrency", "4")
    done = subprocess.run(
        [sys.executable, *launcher, *COMMAND, str(model), "-o", str(out), *few],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_two_processes_give_what_one_gives(tmp_path):
    pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    model = tiny.save(tmp_path / "model")
    said = command_line(tmp_path / "one", model)
    assert said == f"{tmp_path / 'one'}: 9 attempts, 9 graded, 0 passed\n"
    two = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    said = command_line(tmp_path / "two", model, *two)
    assert said == f"{tmp_path / 'two'}: 9 attempts, 9 graded, 0 passed\n"  # once, when all is done
    assert len(list((tmp_path / "two").glob("rollouts-*"))) == 2
    assert table(tmp_path / "one").equals(table(tmp_path / "two"))
    one, two = (
        {rollout.key: essence(rollout) for rollout in read_collection(tmp_path / name)}
        for name in ("one", "two")
    )
    assert one == two


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    common = ["collect", "bfcl:simple_python", "m", "-o", str(tmp_path)]
    assert main([*common, "--server", "http://127.0.0.1:9/v1"]) == 2
    assert "error: no server answers at http://127.0.0.1:9/v1" in capsys.readouterr().err
    assert main(["collect", "chess", "m", "-o", str(tmp_path)]) == 2
    assert "error: there is no environment 'chess'" in capsys.readouterr().err
    manifest = {"version": 2, "policy.policy": "local", "policy.sampling.temperature": 0.1}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert main(common) == 2  # before it looks for a model
    assert f"error: {tmp_path} was collected with arm = None" in capsys.readouterr().err
    assert main([*common, "--thinking"]) == 2
    assert "error: --thinking is a switch of chat templates, and" in capsys.readouterr().err
    server = ["--server", "http://127.0.0.1:9/v1"]
    assert main([*common, *server, "--context", "8"]) == 2
    assert "--context is for a model of this machine" in capsys.readouterr().err
    assert main([*common, *server, "--api-key-env", "NO_SUCH_KEY"]) == 2
    assert "the environment has no NO_SUCH_KEY" in capsys.readouterr().err
    assert main([*common, *server, "--top-p", "2"]) == 2
    assert "--top-p is 2.0: it must be in (0, 1]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--tasks", "-1", "expected a whole number from 1 up, got '-1'"),
        ("-n", "0", "expected a whole number from 1 up, got '0'"),
        ("--shard", "x", "expected I/N with I from 0 to N - 1, such as 0/4 for the first of four"),
        ("--shard", "4/4", "got '4/4'"),
    ],
)
def test_an_argument_that_is_no_number_says_what_it_takes(capsys, option, value, expected):
    with pytest.raises(SystemExit):
        make_parser().parse_args(["collect", "b", "m", "-o", "o", f"{option}={value}"])
    assert expected in capsys.readouterr().err


def test_the_key_of_a_server_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "secret")
    arguments = ["collect", "b", "m", "-o", "o", "--server", "http://127.0.0.1:9/v1"]
    policy = server_policy(make_parser().parse_args([*arguments, "--api-key-env", "SOME_KEY"]))
    assert policy._exchange._client.headers["Authorization"] == "Bearer secret"
    assert "secret" not in str(policy.settings)
