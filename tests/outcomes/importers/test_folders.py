"""Folders of several files: runs of BFCL, links, and folders of other tools."""

import json
import shutil

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, importers

EXAMPLES = ROOT / "data" / "examples"


@pytest.fixture
def runs(tmp_path):
    return shutil.copytree(EXAMPLES / "bfcl" / "base", tmp_path / "runs")


def result_of(run):
    return next(run.rglob("*_result.json"))


def score_of(run):
    return next(run.rglob("*_score.json"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: result_of(run).rename(result_of(run).with_name("BFCL_result.json")), "name"),
        (lambda run: result_of(run).unlink(), "no result file, which names its tasks"),
        (lambda run: score_of(run).unlink(), "no score file; run bfcl evaluate"),
        (lambda run: (run / "result").rename(run / "results"), "is not below result/MODEL"),
        (lambda run: [shutil.rmtree(one) for one in run.iterdir()], "has no file of a run"),
    ],
)
def test_a_run_of_bfcl_that_cannot_be_read_is_reported(runs, change, message):
    change(runs / "run-2")
    imported = importers.load(runs)
    assert imported.report.attempts == 15
    about_run = [line for line in imported.report.lines() if "run-2" in line]
    assert any(message in line for line in about_run)


def test_a_copied_run_is_skipped_and_reported(runs):
    shutil.copytree(runs / "run-1", runs / "run-1 (copy)")
    summary = importers.load(runs).report
    assert summary.attempts == 20
    assert any("is a copy of" in reason for reason in summary.skipped)


def test_a_copied_run_with_another_score_is_refused(runs):
    shutil.copytree(runs / "run-0" / "result", runs / "run-9" / "result")
    shutil.copytree(runs / "run-1" / "score", runs / "run-9" / "score")
    with pytest.raises(OutcomesError, match="other failures"):
        importers.load(runs)


def test_runs_behind_links_are_read_once(runs, tmp_path):
    moved = tmp_path / "disk" / "run-1"
    shutil.move(runs / "run-1", moved)
    (runs / "run-1").symlink_to(moved, target_is_directory=True)
    (runs / "latest").symlink_to("run-3", target_is_directory=True)
    (runs / "run-0" / "up").symlink_to("..", target_is_directory=True)
    summary = importers.load(runs).report
    assert summary.attempts == 20
    assert summary.skipped["latest links to a folder that was read already"] == 1


def test_a_link_that_leads_nowhere_is_named(runs):
    result_of(runs / "run-1").unlink()
    (runs / "run-1" / "result/base/non_live/BFCL_v4_simple_python_result.json").symlink_to("gone")
    with pytest.raises(OutcomesError, match=r"run-1.*a broken link"):
        importers.load(runs)


def test_a_linked_folder_of_the_harness_is_read(tmp_path):
    (tmp_path / "run").symlink_to(EXAMPLES / "lm_eval" / "base", target_is_directory=True)
    assert importers.load(tmp_path).report.attempts == 48


@pytest.mark.parametrize("format", ["human_eval", "evalplus", "lists"])
def test_a_folder_of_a_format_that_is_one_file_is_refused(runs, format):
    with pytest.raises(OutcomesError, match=r"runs: is a folder, .* Name a file in it"):
        importers.load(runs, format=format)


def test_a_folder_with_one_log_of_inspect_is_that_log_and_one_of_two_is_to_be_named(tmp_path):
    shutil.copy(EXAMPLES / "inspect" / "base.eval", tmp_path / "one.eval")
    assert importers.load(tmp_path).report.files == [str(tmp_path / "one.eval")]
    shutil.copy(EXAMPLES / "inspect" / "post.eval", tmp_path / "two.eval")
    with pytest.raises(OutcomesError, match=r"holds 2 Inspect logs \(.*one\.eval, .*two"):
        importers.load(tmp_path)


def test_a_folder_of_no_known_tool_lists_the_files_that_could_be_logs(tmp_path):
    for name in ("a.csv", "b.jsonl", "notes.txt"):
        (tmp_path / name).write_text("x")
    with pytest.raises(
        OutcomesError, match=r"may be logs by themselves: \S*a\.csv, \S*b\.jsonl\. Name"
    ):
        importers.load(tmp_path)


def test_bfcl_reads_what_it_scores(tmp_path):
    def write(kind, category, *rows):
        path = tmp_path / kind / "model" / f"BFCL_v4_{category}_{kind}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("result", "memory_kv", {"id": "a", "result": None}, {"id": "b", "result": "x"})
    header = {"accuracy": 0.5, "correct_count": 1, "total_count": 2}
    write("score", "memory_kv", header, {"id": "a", "valid": False})
    write("result", "memory_kv_prereq", {"id": "c", "result": "x"})
    report = importers.load(tmp_path).report
    assert (report.scored, report.passed) == (2, 1)
    (skipped,) = report.skipped
    assert skipped.endswith("has no score file, since it only prepares the memory")
