"""The command score: what it writes, and what it says about arguments that do not fit."""

import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pandas as pd
import pytest

import lib.generation.models
from lib.__main__ import main
from lib.advantage.store import read_scores
from lib.trajectories.jsonl import RolloutWriter
from tests.advantage.conftest import FOLDERS, same


@pytest.fixture
def file(rollouts, tmp_path):
    with RolloutWriter(tmp_path / "rollouts.jsonl") as out:
        for rollout in rollouts:
            out.write(rollout)
    return tmp_path / "rollouts.jsonl"


def command(file, out, *more, reference=True):
    models = ["--policy", str(FOLDERS["policy"])]
    models += ["--reference", str(FOLDERS["reference"])] if reference else []
    return ["score", str(file), "-o", str(out), *models, *more]


def test_the_command_scores_a_file_and_writes_a_table(file, whole, tmp_path, capsys):
    out = tmp_path / "scores"
    assert main(command(file, out)) == 0
    said = capsys.readouterr().out
    assert f"{out}: {len(whole)} trajectories, {len(whole.counts)} steps, 0 of them missing" in said
    same(read_scores(out), whole)
    table = pd.read_csv(out / "scores.csv")
    assert table["progress advantage"].notna().all()
    assert main(command(file, out)) == 0
    assert len((out / "scores-000-of-001.jsonl").read_text().splitlines()) == len(whole)


def test_a_merged_reference_is_another_setting(file, tmp_path, capsys):
    out = tmp_path / "scores"
    assert main(command(file, out)) == 0
    assert main(command(file, out, "--alpha", "0.5", "--merge", "ties")) == 2
    assert "was collected with alpha = None, now it is 0.5" in capsys.readouterr().err


def test_a_missing_reference_is_an_error(file, tmp_path, capsys):
    assert main(command(file, tmp_path / "scores", reference=False)) == 2
    assert "give --reference DIR, or say --policy-only" in capsys.readouterr().err
    assert main(command(file, tmp_path / "alone", "--policy-only", reference=False)) == 0


def test_two_attempts_of_one_key_name_both_files(file, rollouts, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    with RolloutWriter(other) as out:
        out.write(replace(rollouts[0], passed=not rollouts[0].passed))
    name, *rest = command(file, tmp_path / "scores")
    assert main([name, str(other), *rest]) == 2
    said = capsys.readouterr().err
    assert f"is in {other} and, another one, in {file}" in said
    assert not (tmp_path / "scores").exists()


def test_a_folder_without_rollouts_is_named(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(command(tmp_path / "empty", tmp_path / "scores")) == 2
    assert f"{tmp_path / 'empty'} holds no rollouts" in capsys.readouterr().err
    assert not (tmp_path / "scores").exists()


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        (["--thinking"], "--thinking is only for scoring with a --prompt-format"),
        (["--seams", "cut"], "--seams is only for scoring with a --prompt-format"),
        (["--merge", "ties"], "--merge is only for scoring with an --alpha above 0"),
        (["--alpha", "0.5", "--density", "0.1"], "--density is only for scoring with --merge ties"),
        (["--alpha", "0.5", "--seed", "0"], "--seed is only for scoring with --merge dare"),
    ],
)
def test_options_that_would_be_ignored_are_refused(file, tmp_path, capsys, options, needed):
    assert main(command(file, tmp_path / "scores", *options)) == 2
    assert needed in capsys.readouterr().err
    assert not (tmp_path / "scores").exists()


@pytest.mark.parametrize(
    "option", [["--alpha", "0.5"], ["--merge", "ties"], ["--density", "0.1"], ["--seed", "0"]]
)
def test_without_a_reference_nothing_is_merged(file, tmp_path, capsys, option):
    assert main(command(file, tmp_path / "scores", "--policy-only", *option, reference=False)) == 2
    assert f"{option[0]} is only for scoring with a --reference" in capsys.readouterr().err


def test_a_reference_beside_policy_only_is_refused(file, tmp_path, capsys):
    assert main(command(file, tmp_path / "scores", "--policy-only")) == 2
    assert "give --reference DIR, or say --policy-only" in capsys.readouterr().err


def test_attempts_that_come_twice_and_alike_count_once_with_a_warning(file, tmp_path, whole):
    again = tmp_path / "again.jsonl"
    again.write_bytes(file.read_bytes())
    name, *rest = command(file, tmp_path / "scores")
    with pytest.warns(UserWarning, match=f"{len(whole)} attempts come twice and alike"):
        assert main([name, str(again), *rest]) == 0
    same(read_scores(tmp_path / "scores"), whole)


def test_a_gpu_that_is_not_there_is_named(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(command(file, tmp_path / "scores", "--gpu")) == 2
    assert "--gpu: torch finds no GPU here" in capsys.readouterr().err
    assert not (tmp_path / "scores").exists()


@pytest.mark.parametrize(("option", "device"), [([], "cpu"), (["--gpu"], "cuda:3")])
def test_models_are_loaded_where_they_are_to_run(file, tmp_path, monkeypatch, option, device):
    loaded = []

    class Process:
        is_main_process, process_index, num_processes = True, 0, 1

        def __init__(self, cpu, timeout):
            self.device = "cpu" if cpu else "cuda:3"

        local_main_process_first = wait_for_everyone = destroy_process_group = nullcontext

    def load(path, *, device, **options):
        loaded.append(device)
        return real(path, **options)

    real = lib.generation.models.load
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("accelerate.PartialState", Process)
    monkeypatch.setattr("lib.generation.models.load", load)
    assert main(command(file, tmp_path / "scores", *option)) == 0
    assert loaded == [device] * 2


def test_words_that_the_model_has_not_are_refused(rollouts, tmp_path, capsys):
    path = tmp_path / "said.jsonl"
    said = [replace(one, content="[ shove left ]") for one in rollouts[0].messages]
    with RolloutWriter(path) as out:
        out.write(replace(rollouts[0], messages=said, turns=()))
    text = ["--prompt-format", "words"]
    assert main(command(path, tmp_path / "scores", *text)) == 2
    assert "the model's vocabulary has no word 'shove'" in capsys.readouterr().err


def test_another_prompt_format_than_the_manifest_tells_of_is_refused(file, tmp_path, capsys):
    (tmp_path / "manifest.json").write_text('{"policy.dialect": "words"}')
    assert main(command(file, tmp_path / "scores", "--prompt-format", "harness")) == 2
    assert "was collected with the prompt format words, and would be read in harness" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("prompt_format", ["harness", "plain"])
def test_a_prompt_format_that_the_model_does_not_know_is_refused(
    file, tmp_path, capsys, prompt_format
):
    text = ["--prompt-format", prompt_format]
    assert main(command(file, tmp_path / "scores", *text)) == 2
    said = capsys.readouterr().err
    assert "tokens of a prompt are unknown to the model. Choose the --prompt-format" in said
    assert not (tmp_path / "scores").exists()


@pytest.mark.slow
def test_two_processes_give_what_one_gives(file, whole, tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(lib.ROOT)}
    out = tmp_path / "scores"
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
    ]
    started = subprocess.run(
        [*launch, "-m", "lib", *command(file, out)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert started.returncode == 0, started.stderr
    assert {path.name for path in out.glob("scores-*.jsonl")} == {
        "scores-000-of-002.jsonl",
        "scores-001-of-002.jsonl",
    }
    same(read_scores(out), whole)


def test_ids_that_another_tokenizer_gave_are_refused(file, tmp_path, capsys):
    (file.parent / "manifest.json").write_text('{"policy.tokenizer": "another"}')
    assert main(command(file, tmp_path / "scores")) == 2
    assert "are from another tokenizer than that of the policy" in capsys.readouterr().err


def test_a_policy_that_is_its_own_reference_is_told(file, tmp_path):
    models = ["--policy", str(FOLDERS["policy"]), "--reference", str(FOLDERS["policy"])]
    with pytest.warns(UserWarning, match="every progress advantage is 0"):
        main(["score", str(file), "-o", str(tmp_path / "scores"), *models])
