"""Scores in a folder, and `python -m lib score`: kills, shards, settings."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lib.generation.models
from lib.__main__ import main
from lib.advantage import read_stored, token_scores
from lib.advantage.scores import as_scored
from lib.advantage.scoring import score_into
from lib.advantage.store import read_scores, read_table
from lib.trajectories.jsonl import RolloutWriter
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import TrajectoryError
from tests.advantage.conftest import FOLDERS


@pytest.fixture
def scoring(policy, reference, rollouts, tokenizer):
    def run(out, rows=rollouts, **options):
        def read(rollout):
            return read_stored(rollout, tokenizer, 256)

        settings = options.pop("settings", {"read": "stored"})
        score_into(out, policy, reference, rows, read, settings, progress=False, **options)
        return read_scores(out)

    return run


@pytest.fixture(scope="module")
def whole(policy, reference, rollouts, tokenizer):
    return token_scores(policy, reference, [read_stored(one, tokenizer, 256) for one in rollouts])


def same(found, whole):
    assert found.keys == whole.keys
    assert found.passed == whole.passed
    for name in ("steps", "messages", "missing", "counts", "tokens"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    for name in ("policy", "policy_top", "reference"):
        assert np.abs(getattr(found, name) - getattr(whole, name)).max() < 1e-4


def test_a_folder_gives_back_what_was_scored(scoring, whole, tmp_path):
    same(scoring(tmp_path), whole)


def test_a_folder_and_a_parquet_file_are_read_as_the_same_table(scoring, tmp_path):
    scored = scoring(tmp_path)
    table = read_table(tmp_path)
    table.to_parquet(tmp_path / "scores.parquet")
    for source in (tmp_path / "scores.parquet", tmp_path):
        same(as_scored(read_table(source)), scored)


def test_a_parquet_file_of_something_else_is_named_with_what_it_lacks(tmp_path):
    pd.DataFrame({"task": ["t"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x.parquet has no column 'attempt': expected a table"):
        read_table(tmp_path / "x.parquet")


def test_a_rerun_goes_on_after_a_torn_line(scoring, whole, rollouts, tmp_path):
    scoring(tmp_path, rollouts[:20])
    path = tmp_path / "scores-000-of-001.jsonl"
    before = path.read_bytes()
    path.write_bytes(before[:-30])
    same(scoring(tmp_path), whole)
    lines = path.read_bytes().splitlines(keepends=True)
    assert b"".join(lines[:19]) == b"".join(before.splitlines(keepends=True)[:19])
    assert len(lines) == len(rollouts)


def test_shards_give_what_one_gives(scoring, whole, tmp_path):
    for part in (1, 0):
        scoring(tmp_path, shard=(part, 2))
    same(read_scores(tmp_path), whole)


def test_without_a_reference_none_is_read_back(policy, rollouts, tokenizer, tmp_path):
    def read(rollout):
        return read_stored(rollout, tokenizer, 256)

    score_into(tmp_path, policy, None, rollouts[:3], read, {}, progress=False)
    assert read_scores(tmp_path).reference is None


def test_another_setting_is_refused(scoring, tmp_path):
    scoring(tmp_path)
    with pytest.raises(CollectionError, match="top_k = 20, now it is 5"):
        scoring(tmp_path, top_k=5)


def test_a_folder_without_scores_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no scores in"):
        read_scores(tmp_path)


def test_an_attempt_that_was_graded_anew_is_scored_anew(scoring, rollouts, tmp_path):
    scoring(tmp_path, rollouts[:3], shard=(0, 2))
    changed = [replace(one, passed=not one.passed) for one in rollouts[:3]]
    found = scoring(tmp_path, changed, shard=(0, 1))  # in a file that sorts before the other one
    assert found.passed == tuple(one.passed for one in changed)
    with pytest.raises(FileNotFoundError, match="no scores of these trajectories"):
        read_scores(tmp_path, of=rollouts[:1])


def test_lines_of_before_digests_are_read_and_scored_anew(scoring, rollouts, tmp_path):
    scoring(tmp_path, rollouts[:2])
    path = tmp_path / "scores-000-of-001.jsonl"
    old = [json.loads(line) for line in path.read_text().splitlines()]
    for line in old:
        del line["digest"], line["revision"]
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    assert len(read_scores(tmp_path)) == 2
    for these in (rollouts[:2], rollouts[2:]):
        with pytest.raises(FileNotFoundError, match="no scores of these trajectories"):
            read_scores(tmp_path, of=these)
    scoring(tmp_path, rollouts[:2])
    assert len(path.read_text().splitlines()) == 4


def test_a_key_that_comes_twice_is_refused_before_a_folder_is_made(scoring, rollouts, tmp_path):
    with pytest.raises(ValueError, match="is there 2 times"):
        scoring(tmp_path / "scores", [rollouts[0], rollouts[0]])
    assert not (tmp_path / "scores").exists()


def test_repeated_lines_are_read(scoring, whole, tmp_path):
    scoring(tmp_path)
    path = tmp_path / "scores-000-of-001.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    same(read_scores(tmp_path), whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["policy"].pop(),
        lambda line: line["reference"].pop(),
        lambda line: line["counts"].pop(),
        lambda line: line["tokens"].pop(),
        lambda line: line.update(key=["a"]),
        lambda line: line.update(key=["a", "b", "c", {}, 1]),
        lambda line: line.update(passed="yes"),
        lambda line: line.update(revision="x"),
        lambda line: line.update(policy=[None] * len(line["policy"])),
    ],
)
def test_a_line_whose_columns_do_not_fit_is_named(scoring, rollouts, tmp_path, change):
    scoring(tmp_path, rollouts[:3])
    path = tmp_path / "scores-000-of-001.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    line = json.loads(first)
    change(line)
    path.write_text(json.dumps(line) + "\n" + "".join(rest))
    with pytest.raises(TrajectoryError, match=r"scores-000-of-001.jsonl:1: not a line of scores"):
        read_scores(tmp_path)


def test_one_trajectory_without_a_reference_is_named(scoring, rollouts, tmp_path):
    scoring(tmp_path, rollouts[:3])
    path = tmp_path / "scores-000-of-001.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    line = json.loads(first)
    del line["reference"]
    path.write_text(json.dumps(line) + "\n" + "".join(rest))
    with pytest.raises(ValueError, match=r"has no scores of a reference .*, others have"):
        read_scores(tmp_path)


def test_scores_without_their_manifest_are_not_added_to(scoring, rollouts, tmp_path):
    scoring(tmp_path, rollouts[:3])
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(CollectionError, match=r"manifest.json is missing beside scores-000"):
        scoring(tmp_path, settings={"read": "otherwise"})


# ------------------------------------------------------------------------------ the command line


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
    assert "tokens of a prompt are unknown to the model: choose the --prompt-format" in said
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
