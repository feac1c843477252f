"""Scores in a folder, and `python -m lib score`: kills, shards, settings."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import lib
from lib.__main__ import main
from lib.advantage import read_stored, score
from lib.advantage.files import read_scores, score_into
from lib.manifest import CollectionError
from lib.rollout_files import RolloutWriter
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
    return score(policy, reference, [read_stored(one, tokenizer, 256) for one in rollouts])


def same(found, whole):
    assert found.keys == whole.keys
    assert found.passed == whole.passed
    for name in ("steps", "messages", "missing", "counts", "tokens"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    for name in ("policy", "policy_top", "reference"):
        assert np.abs(getattr(found, name) - getattr(whole, name)).max() < 1e-4


def test_a_folder_gives_back_what_was_scored(scoring, whole, tmp_path):
    same(scoring(tmp_path), whole)


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
    assert "was collected with reference" in capsys.readouterr().err


def test_a_missing_reference_is_an_error(file, tmp_path, capsys):
    assert main(command(file, tmp_path / "scores", reference=False)) == 2
    assert "give --reference DIR, or say --policy-only" in capsys.readouterr().err
    assert main(command(file, tmp_path / "alone", "--policy-only", reference=False)) == 0


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
