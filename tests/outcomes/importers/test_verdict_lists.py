"""Lists of verdicts: their columns, their lengths, and what is in them."""

import json

import pandas as pd
import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers

EXAMPLES = ROOT / "data" / "examples"


def counted(imported):
    table = outcomes.counts(imported.outcomes)
    return dict(zip(table["task"], zip(table["n"], table["c"], strict=True), strict=True))


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_lists_must_be_as_long_as_what_they_judge(tmp_path):
    row = {"id": "a", "generations": ["x", "y"], "is_correct": [True]}
    with pytest.raises(
        OutcomesError, match="'is_correct' for each of the 2 entries of 'generations'; got 1"
    ):
        importers.load(lines(tmp_path / "a.jsonl", row))


def test_a_task_with_an_empty_list_is_named(tmp_path):
    rows = [{"id": "a", "is_correct": []}, {"id": "b", "is_correct": [True]}]
    report = importers.load(lines(tmp_path / "a.jsonl", *rows)).report
    assert "without an attempt: 1 task, an empty list in 'is_correct' ('a')" in report.lines()
    log = json.loads((EXAMPLES / "evalplus/base_eval_results.json").read_text())
    log["eval"]["HumanEval/0"] = []
    (tmp_path / "e.json").write_text(json.dumps(log))
    report = importers.load(tmp_path / "e.json", tests="base").report
    assert report.untried == {"an empty list of attempts": ["HumanEval/0"]}


def test_blanks_around_the_names_of_a_log_are_dropped_and_noted(tmp_path):
    rows = [{"id": " a", "is_correct": [True]}, {"id": "b", "is_correct": [True]}]
    imported = importers.load(lines(tmp_path / "a.jsonl", *rows))
    assert list(counted(imported)) == ["a", "b"]
    assert "blanks around names were dropped: ' a'" in imported.report.lines()


def test_a_shorter_rerun_is_not_mixed_with_the_longer_run(tmp_path):
    rows = [{"id": "a", "is_correct": [True] * 4}, {"id": "a", "is_correct": [False] * 2}]
    imported = importers.load(lines(tmp_path / "a.jsonl", *rows))
    assert counted(imported) == {"a": (2, 0)}
    assert imported.report.duplicates == 4
    assert "another number of attempts ('a': 4, then 2)" in imported.report.notes[0]


@pytest.mark.parametrize("name", ["\ud800", ""])
def test_a_task_without_a_usable_name_is_refused(tmp_path, name):
    path = lines(tmp_path / "a.jsonl", {"id": name, "is_correct": [True]})
    with pytest.raises(OutcomesError, match=r"a\.jsonl: the task '.*' cannot be a name"):
        importers.load(path)


def test_lists_of_ones_and_zeros_are_verdicts(tmp_path):
    rows = [{"id": "a", "correct": [1, 0, 1]}, {"id": "b", "correct": [1, 1.0, None]}]
    assert counted(importers.load(lines(tmp_path / "a.jsonl", *rows))) == {"a": (3, 2), "b": (2, 2)}
    pd.DataFrame(rows[:1]).to_parquet(tmp_path / "a.parquet")
    assert counted(importers.load(tmp_path / "a.parquet")) == {"a": (3, 2)}


def test_a_list_of_scores_is_refused_as_verdicts(tmp_path):
    path = lines(tmp_path / "a.jsonl", {"id": "a", "correct": [1, 0.5]})
    with pytest.raises(OutcomesError, match=r"expected true, false \(or 1, 0\) or null; got 0\.5"):
        importers.load(path, format="lists")


def test_a_list_with_another_name_is_chosen(tmp_path):
    path = lines(tmp_path / "a.jsonl", {"nr": "a", "ok": [True, False]})
    with pytest.raises(OutcomesError, match=r"`flags=\"ok\"`"):
        importers.load(path)
    assert counted(importers.load(path, flags="ok", task="nr")) == {"a": (2, 1)}
    columns = {"pass_flags": "ok", "task": "nr"}
    assert counted(importers.load(path, columns=columns)) == {"a": (2, 1)}
