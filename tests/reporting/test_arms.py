"""Two logs become the two arms of one table."""

import json

import pytest

from lib import ROOT, outcomes
from lib.reporting import arms

EXAMPLES = ROOT / "data" / "examples"


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_swapped_arms_are_refused(tmp_path):
    with pytest.raises(outcomes.OutcomesError, match=r"expected the arm 'base', got 'post'"):
        arms.read_arms(EXAMPLES / "post.jsonl", EXAMPLES / "base.jsonl")


def test_a_histogram_cannot_be_compared_with_tasks(tmp_path):
    base = write(tmp_path / "b.jsonl", {"task": "a", "n": 4, "c": 1})
    post = write(tmp_path / "p.jsonl", {"tasks": 3, "n": 4, "c": 1})
    with pytest.raises(
        outcomes.OutcomesError,
        match="got counts for the base and histogram for the post",
    ):
        arms.read_arms(base, post)


@pytest.mark.parametrize(
    ("name", "label"),
    [("Qwen2.5-7B", "Qwen2.5-7B"), ("a.v1.jsonl.gz", "a.v1"), (".", "there"), ("../post", "post")],
)
def test_a_log_goes_by_its_name_without_its_ending(tmp_path, monkeypatch, name, label):
    for folder in ("there", "post"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "there")
    assert arms.label(name) == label


def test_the_arm_with_another_name_is_to_be_renamed(tmp_path):
    rows = [{"task": "a", "n": 4, "c": c, "arm": arm} for arm, c in (("base", 1), ("inst", 3))]
    path = write(tmp_path / "both.jsonl", *rows)
    warning = pytest.warns(outcomes.OutcomesWarning, match="also holds the arms 'inst'")
    error = pytest.raises(outcomes.OutcomesError, match="rename it to 'post' in the column 'arm'")
    with warning, error:
        arms.read_arms(path, path)


def test_a_file_of_other_arms_is_refused(tmp_path):
    rows = [{"task": "a", "n": 4, "c": 1, "arm": arm} for arm in ("sft", "dpo")]
    path = write(tmp_path / "arms.jsonl", *rows)
    with pytest.raises(
        outcomes.OutcomesError, match=r"arms\.jsonl: expected .* got 'sft' and 'dpo'"
    ):
        arms.read_arms(path, path)
