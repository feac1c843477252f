"""Two arms scored or made by other rules are warned of, and choices reach the arm they are for."""

import gzip
import json
import shutil

import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers
from lib.reporting import arms, comparison_report, notebook_parameters

EXAMPLES = ROOT / "data" / "examples"


def load(name, **options):
    return importers.load(EXAMPLES / name, **options)


def differing(base, post):
    return importers.differing_settings(base, post)["setting"].tolist()


def test_other_scorers_have_a_row():
    two = [load("inspect/two_scorers.json", scorer=name) for name in ("match", "exact")]
    assert "scored by" in differing(*two)


def test_other_thresholds_have_a_row():
    two = [load("verifiers/base", threshold=value) for value in (0.5, 1.0)]
    assert "threshold" in differing(*two)


def test_other_formats_have_a_row():
    assert "format" in differing(
        load("lists/base.jsonl"), load("human_eval/base.jsonl_results.jsonl")
    )


@pytest.mark.parametrize("log", ["inspect/base.eval", "bfcl/base"])
def test_one_log_for_both_arms_has_a_row(log, tmp_path):
    source = EXAMPLES / log
    copy = (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / source.name)
    assert differing(load(log), importers.load(copy)) == ["log"]


def test_one_log_packed_for_an_arm_has_a_row(tmp_path):
    content = (EXAMPLES / "lists" / "base.jsonl").read_bytes()
    (tmp_path / "post.jsonl.gz").write_bytes(gzip.compress(content))
    two = [load("lists/base.jsonl"), importers.load(tmp_path / "post.jsonl.gz")]
    assert differing(*two) == ["log"]


@pytest.mark.parametrize("counted", [False, True])
def test_one_log_in_two_formats_has_a_row(tmp_path, counted):
    table = outcomes.read(EXAMPLES / "base.jsonl").drop(columns="arm")
    table.to_csv(tmp_path / "base.csv", index=False)
    table = outcomes.counts(table.assign(arm="base")) if counted else table
    table.drop(columns="arm", errors="ignore").to_parquet(tmp_path / "post.parquet")
    two = [importers.load(tmp_path / name) for name in ("base.csv", "post.parquet")]
    assert differing(*two) == ["outcomes"]


def test_two_logs_may_both_fail_everywhere(tmp_path):
    for arm, why in (("base", "too long"), ("post", "wrong")):
        rows = [{"task": f"t{i}", "passed": False, "reason": why, "attempt": 0} for i in range(40)]
        (tmp_path / f"{arm}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    two = [importers.load(tmp_path / f"{arm}.jsonl") for arm in ("base", "post")]
    assert differing(*two) == []


def test_a_file_of_both_arms_may_be_given_twice(tmp_path):
    path = tmp_path / "both.jsonl"
    rows = [{"task": "a", "n": 4, "c": c, "arm": arm} for arm, c in (("base", 1), ("post", 3))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert differing(*(importers.load(path, arm=arm) for arm in ("base", "post"))) == []


def test_the_page_warns_of_one_log_for_both_arms(tmp_path):
    path = EXAMPLES / "lists" / "base.jsonl"
    text = comparison_report.compare(path, path, out=tmp_path).with_suffix(".md").read_text()
    assert "**Warning: unequal settings.**" in text
    assert "| the same content: base.jsonl" in text


def test_a_choice_for_one_arm_goes_before_one_for_both():
    chosen = {"post.scorer": "exact", "scorer": "match"}
    assert arms.options_by_arm(chosen, {"task": "Problem"}) == {
        "base": {"scorer": "match", "columns": {"task": "Problem"}},
        "post": {"scorer": "exact", "columns": {"task": "Problem"}},
    }
    with pytest.raises(OutcomesError, match=r"'old\.scorer': expected NAME, base\.NAME or post"):
        arms.options_by_arm({"old.scorer": "match"})


def test_the_notebook_takes_the_choices_of_the_command():
    notebook = ROOT / "notebooks" / "08_your_own_models.ipynb"
    taken = set(notebook_parameters.known_parameters(notebook))
    assert {"base", "post", "choose", "columns", "benchmarks", "max_k"} <= taken


def test_a_choice_that_a_log_lacks_is_answered_with_those_it_has():
    with pytest.raises(
        OutcomesError, match=r"no score 'judge'; .*scorer=\"match\"`; for one arm a"
    ):
        load("inspect/base.eval", scorer="judge")
