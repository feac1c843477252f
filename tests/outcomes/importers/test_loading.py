"""Logs of every tool: counts as the tools report them, what is missing and why, detection."""

import gzip
import json
import zipfile

import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers
from lib.outcomes.importers.archive import Archive

EXAMPLES = ROOT / "data" / "examples"


TAU_BENCH = ROOT.parent / "shared" / "benchmarks" / "tau-bench" / "gpt-4o-airline.json"


def load(name, **options):
    return importers.load(EXAMPLES / name, **options)


def counted(imported):
    table = outcomes.counts(imported.outcomes)
    return dict(zip(table["task"], zip(table["n"], table["c"], strict=True), strict=True))


def first_row(path):
    return json.loads(path.read_text().splitlines()[0])


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("arm", "rate"), [("base", 0.4375), ("post", 0.6875)])
def test_lm_eval_scores_as_the_harness_printed(arm, rate):
    summary = load(f"lm_eval/{arm}").report
    assert (summary.tasks, summary.attempts) == (6, 48)
    assert summary.passed / summary.scored == rate


@pytest.mark.parametrize("arm", ["base", "post"])
def test_inspect_accuracy_is_the_one_in_the_log(arm):
    imported = load(f"inspect/{arm}.eval")
    with zipfile.ZipFile(EXAMPLES / "inspect" / f"{arm}.eval") as archive:
        members = Archive(EXAMPLES / "inspect" / f"{arm}.eval", archive)
        results = json.loads(members.read("header.json"))["results"]
    (score,) = results["scores"]
    rates = [c / n for n, c in counted(imported).values()]
    assert sum(rates) / len(rates) == pytest.approx(score["metrics"]["accuracy"]["value"])
    assert imported.report.attempts == results["total_samples"]


@pytest.mark.parametrize(("arm", "rate"), [("base", 0.45), ("post", 0.6)])
def test_human_eval_pass_at_1_is_as_the_tool_printed(arm, rate):
    summary = load(f"human_eval/{arm}.jsonl_results.jsonl").report
    assert (summary.tasks, summary.attempts) == (5, 40)
    assert summary.passed / summary.scored == rate


def test_bfcl_counts_are_those_of_the_score_files():
    folder = EXAMPLES / "bfcl" / "post"
    headers = [first_row(path) for path in folder.rglob("*_score.json")]
    summary = load("bfcl/post").report
    assert summary.passed == sum(header["correct_count"] for header in headers)
    assert summary.attempts == sum(header["total_count"] for header in headers)


def test_tau_bench_trajectories_of_gpt_4o():
    if not TAU_BENCH.exists():
        pytest.skip("the published trajectories are not here")
    imported = importers.load(TAU_BENCH, trajectories=True)
    summary = imported.report
    assert (summary.tasks, summary.attempts, summary.unequal) == (50, 200, (4, 4))
    assert summary.passed / summary.scored == 0.42
    assert len(imported.rollouts) == 200
    assert imported.rollouts[0].messages[0].role == "system"


@pytest.mark.parametrize(
    ("log", "missing"),
    [
        (
            "inspect/base.eval",
            {"error: ConnectionError('the server closed the connection')": 1},
        ),
        ("tau2/base.json", {"infrastructure_error": 1}),
        ("bfcl/base", {"inference error: the server timed out": 1}),
        ("verifiers/base", {"error: ModelError": 1}),
    ],
)
def test_trouble_is_missing_with_its_reason(log, missing):
    imported = load(log)
    assert imported.report.missing == missing
    assert imported.outcomes["passed"].isna().sum() == sum(missing.values())


def test_only_the_first_response_was_scored():
    summary = load("lm_eval/two_filters", filter="strict").report
    assert summary.missing == {"not among the 1 of 8 responses that were scored": 42}
    assert summary.skipped == {"rows of the filter 'number'": 6}
    assert any("run lm_eval with the filter take_first_k" in note for note in summary.notes)


def test_a_table_with_other_names_of_columns(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("Problem,Try,ok?\na,0,true\na,1,false\nb,0,\n")
    with pytest.raises(OutcomesError, match="no column 'task'"):
        importers.load(path)
    columns = {"task": "problem", "attempt": "Try", "passed": "ok?"}
    imported = importers.load(path, columns=columns)
    assert counted(imported) == {"a": (2, 1), "b": (0, 0)}
    with pytest.raises(OutcomesError, match=r"no column 'Nr'; the file has 'Problem'"):
        importers.load(path, columns={"task": "Nr"})


def test_an_unknown_format_is_refused_with_its_fields(tmp_path):
    with pytest.raises(OutcomesError, match="unknown format; got objects with 'a', 'b'"):
        importers.load(lines(tmp_path / "a.jsonl", {"a": 1, "b": 2}))


def test_completions_without_a_result_are_a_table(tmp_path):
    rows = [{"task_id": "a", "attempt": i, "completion": "", "passed": i == 0} for i in (0, 1)]
    assert counted(importers.load(lines(tmp_path / "a.jsonl", *rows))) == {"a": (2, 1)}


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("log", ["evalplus/base_eval_results.json", "inspect/two_scorers.json"])
def test_documents_may_be_packed(tmp_path, log, name):
    (tmp_path / name).write_bytes(gzip.compress((EXAMPLES / log).read_bytes()))
    choice = {"scorer": "match"} if "inspect" in log else {"tests": "plus"}
    read = importers.load(tmp_path / name, **choice).outcomes
    assert read.equals(load(log, **choice).outcomes)


def test_a_bomb_of_gzip_is_refused(tmp_path):
    (tmp_path / "a.json").write_bytes(gzip.compress(b" " * 6_000_000))
    with pytest.raises(OutcomesError, match=r"line 1: .* like a gzip bomb"):
        importers.load(tmp_path / "a.json")


def test_a_table_takes_another_name_for_its_one_benchmark(tmp_path):
    rows = [{"task": "a", "n": 4, "c": 1, "benchmark": name} for name in "xy"]
    table = importers.load(lines(tmp_path / "a.jsonl", rows[0]), benchmark="z").outcomes
    assert set(table["benchmark"]) == {"z"}
    with pytest.raises(OutcomesError, match=r"has the benchmarks 'x', 'y', but"):
        importers.load(lines(tmp_path / "b.jsonl", *rows), benchmark="z")


def test_rewards_between_0_and_1_are_counted(tmp_path):
    document = json.loads((EXAMPLES / "tau2" / "base.json").read_text())
    for simulation in document["simulations"][:2]:
        simulation["reward_info"]["reward"] = 0.5
    path = tmp_path / "base.json"
    path.write_text(json.dumps(document))
    assert "2 rewards neither 0 nor 1, counted as failures" in importers.load(path).report.notes
