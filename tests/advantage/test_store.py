"""Scores in a folder, and `python -m lib score`: kills, shards, settings."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from lib.advantage import read_stored
from lib.advantage.scores import as_scored
from lib.advantage.scoring import score_into
from lib.advantage.store import read_scores, read_table
from lib.trajectories.manifest import CollectionError
from lib.trajectories.schema import TrajectoryError
from tests.advantage.conftest import same


@pytest.fixture
def scoring(policy, reference, rollouts, tokenizer):
    def run(out, rows=rollouts, **options):
        def read(rollout):
            return read_stored(rollout, tokenizer, 256)

        settings = options.pop("settings", {"read": "stored"})
        score_into(out, policy, reference, rows, read, settings, progress=False, **options)
        return read_scores(out)

    return run


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
