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
from tests.recorder import serving

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
        ("--seed", "-1", "expected a whole number from 0 up, got '-1'"),
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


LAKE = ["collect", "frozenlake", "m", "--server"]


@pytest.mark.parametrize("name", ["bfcl:nosuch", "frozenlake:nosuch"])
def test_a_part_that_an_environment_does_not_have(tmp_path, capsys, name):
    assert main(["collect", name, "m", "-o", str(tmp_path)]) == 2
    expected = f"error: there is no environment '{name}': expected {name.partition(':')[0]}: with"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("out", ["README.md", "README.md/deep/er"])
def test_a_file_in_the_place_of_the_folder(tmp_path, capsys, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").touch()
    assert main([*LAKE, "http://127.0.0.1:9/v1", "-o", out]) == 2
    assert f"error: --out is '{out}': expected a folder, but" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["nourl", "http://127.0.0.1:9/v1"])
def test_without_a_server_no_collection_is_begun(tmp_path, capsys, address):
    out = tmp_path / "out"
    assert main([*LAKE, address, "-o", str(out)]) == 2
    assert ("--server is 'nourl'" if address == "nourl" else "no server answers") in (
        capsys.readouterr().err
    )
    assert not out.exists()


def test_a_model_that_a_server_does_not_list_begins_no_collection(tmp_path, capsys):
    with serving(lambda body: (404, {"error": {"message": "no such model"}})) as server:
        server.models = ["one"]
        assert main([*LAKE, server.address, "-o", str(tmp_path / "out")]) == 2
    assert "has no model 'm' (it has 'one')" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
