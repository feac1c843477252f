"""Logs of lm-evaluation-harness: which rows are one document, what counts, older versions."""

import gzip
import json
import math

import pytest

from lib import outcomes
from lib.outcomes import OutcomesError, importers


def row(doc=0, score=1.0, **changed):
    """A row with one response, as the tool writes it."""
    settings = {"until": ["\n"], "do_sample": False}
    made = {"doc_id": doc, "target": "4", "resps": [["4"]], "filtered_resps": ["4"]}
    made |= {"filter": "none", "metrics": ["exact_match"], "exact_match": score}
    made |= {"doc_hash": f"hash of {doc}"}
    made["arguments"] = {"gen_args_0": {"arg_0": "2 + 2", "arg_1": settings}}
    return {name: value for name, value in (made | changed).items() if value != "drop"}


def samples(folder, *rows, task="sums", date="_2026-01-01T00-00-00"):
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"samples_{task}{date}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def results(folder, **fields):
    (folder / "results_2026-01-01T00-00-00.json").write_text(json.dumps(fields))


def counted(imported):
    table = outcomes.counts(imported.outcomes)
    keys = zip(table["benchmark"], table["task"], strict=True)
    return dict(zip(keys, zip(table["n"], table["c"], strict=True), strict=True))


# --- which rows are one document ------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"doc_hash": "another"}, {"doc_hash": "drop", "target": "5"}])
def test_reruns_on_other_documents_are_refused(tmp_path, other):
    samples(tmp_path, row())
    samples(tmp_path, row(**other), date="_2026-01-02T00-00-00")
    message = r"line 1: document 0 differs from \S+01-01T\S+, line 1 in 'doc_hash'"
    with pytest.raises(OutcomesError, match=message):
        importers.load(tmp_path, reruns="attempts")


def test_tasks_stay_apart_under_one_name(tmp_path):
    for task, score in (("a", 1.0), ("b", 0.0)):
        samples(tmp_path, row(score=score, doc_hash=task), task=task)
    imported = importers.load(tmp_path, benchmark="all")
    assert counted(imported) == {("all", "a/0"): (1, 1), ("all", "b/0"): (1, 0)}


def test_a_name_without_a_date_tells_the_task(tmp_path):
    for task, score in (("gsm8k", 1.0), ("math", 0.0)):
        samples(tmp_path, row(score=score), task=task, date="")
    assert counted(importers.load(tmp_path)) == {("gsm8k", "0"): (1, 1), ("math", "0"): (1, 0)}


@pytest.mark.parametrize("packed", [False, True])
def test_a_copy_of_a_file_is_no_further_attempt(tmp_path, packed):
    samples(tmp_path / "a" / "model", row())
    copy = samples(tmp_path / "copy" / "model", row())
    if packed:
        copy.with_name(f"{copy.name}.gz").write_bytes(gzip.compress(copy.read_bytes()))
        copy.unlink()
    imported = importers.load(tmp_path, reruns="attempts")
    assert counted(imported) == {("sums", "0"): (1, 1)}
    (skipped,) = imported.report.skipped
    assert f"is a copy of {tmp_path}" in skipped


def test_the_folder_of_a_model_is_that_of_its_results(tmp_path):
    folder = tmp_path / "org__small"
    samples(folder, row(), task="a")
    samples(folder, row(), task="b", date="_2026-01-02T00-00-00")
    results(folder, model_name="org/small")
    assert importers.load(tmp_path).report.tasks == 2


# --- metrics and filters --------------------------------------------------------------------------


def test_each_task_has_its_own_metric_and_filter(tmp_path):
    samples(tmp_path, row(), task="gsm8k")
    code = row(metrics=["pass_at_1"], pass_at_1=0.0, exact_match="drop", filter="code")
    samples(tmp_path, code, task="mbpp")
    imported = importers.load(tmp_path)
    assert counted(imported) == {("gsm8k", "0"): (1, 1), ("mbpp", "0"): (1, 0)}
    assert imported.report.scorer == (
        "exact_match, filter none (gsm8k); pass_at_1, filter code (mbpp)"
    )


def test_runs_of_one_task_by_other_metrics_are_refused(tmp_path):
    samples(tmp_path, row())
    other = row(metrics=["f1"], f1=0.0, exact_match="drop")
    samples(tmp_path, other, date="_2026-01-02T00-00-00")
    with pytest.raises(OutcomesError, match="not all files have a metric in common: 'exact_match'"):
        importers.load(tmp_path, reruns="attempts")


def two_filters(folder, task="sums"):
    named = ("strict-match", "flexible-extract")
    return samples(folder, *(row(doc, filter=name) for name in named for doc in (0, 1)), task=task)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"filter 'flexible-extract' scores 1 of 1 .*several filters"),
        ("none", r"no filter 'none'; expected one of 'strict-match', 'flexible-extract'"),
    ],
)
def test_a_file_of_several_filters_says_which_it_has_and_how_to_choose(tmp_path, given, message):
    path = two_filters(tmp_path)
    for log in (path, tmp_path):
        with pytest.raises(OutcomesError, match=message) as error:
            importers.load(log, filter=given)
        assert path.name in str(error.value)
        assert '. Choose one: `filter="strict-match"`; for one arm' in str(error.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "not all files have a filter in common"),
        ("none", "not all files have the filter 'none'"),
        ("other", "no file has the filter 'other', and not all files have a filter in common"),
    ],
)
def test_files_without_a_filter_in_common_are_to_be_put_apart(tmp_path, given, message):
    two_filters(tmp_path, task="gsm8k")
    samples(tmp_path, row(), task="sums")
    filters = (
        r"'strict-match', 'flexible-extract' in samples_gsm8k\S+; 'none' in samples_sums\S+\. Put"
    )
    with pytest.raises(OutcomesError, match=f"{message}: {filters}"):
        importers.load(tmp_path, filter=given)


def test_a_filter_that_all_files_have_is_proposed(tmp_path):
    two_filters(tmp_path, task="gsm8k")
    samples(tmp_path, row(filter="flexible-extract"), task="sums")
    with pytest.raises(OutcomesError, match='Choose one: `filter="flexible-extract"'):
        importers.load(tmp_path)


def test_a_choice_with_a_blank_is_quoted_for_the_command_line(tmp_path):
    path = samples(tmp_path, old(0, 1.0))
    with pytest.raises(OutcomesError, match='`filter="not recorded"`'):
        importers.load(path, filter="none")


@pytest.mark.parametrize("score", [math.nan, None])
def test_a_document_without_a_score_is_missing(tmp_path, score):
    imported = importers.load(samples(tmp_path, row(), row(1, score)))
    assert imported.report.missing == {"not scored": 1}
    assert counted(imported) == {("sums", "0"): (1, 1), ("sums", "1"): (0, 0)}


# --- older versions -------------------------------------------------------------------------------


def old(doc, score):
    arguments = [["2 + 2", {"until": ["\n"], "temperature": 0.5}]]
    unknown = dict.fromkeys(("filter", "metrics", "doc_hash"), "drop")
    return row(doc, score, arguments=arguments, target=4, **unknown)


def test_rows_that_do_not_tell_filter_and_metrics_are_read(tmp_path):
    imported = importers.load(samples(tmp_path, old(0, 1.0), old(1, 0.0)), trajectories=True)
    assert counted(imported) == {("sums", "0"): (1, 1), ("sums", "1"): (1, 0)}
    assert imported.report.scorer == "exact_match, filter not recorded"
    assert imported.report.settings == {"temperature": [0.5]}
    assert imported.rollouts[0].messages[0].content == "2 + 2"


def test_rows_of_unrecorded_filters_are_refused(tmp_path):
    path = samples(tmp_path, old(0, 1.0), old(0, 0.0))
    with pytest.raises(
        OutcomesError, match=r"line 2: document 0 comes again. Rows without a 'filter'"
    ):
        importers.load(path)


@pytest.mark.parametrize("target", [3, None, ["4", "four"]])
def test_a_target_need_not_be_text(tmp_path, target):
    assert importers.load(samples(tmp_path, row(target=target))).report.passed == 1


# --- two arms -------------------------------------------------------------------------------------


def test_arms_sampled_and_scored_unalike_have_rows(tmp_path):
    changed = {"until": ["</s>"], "do_sample": True}
    arguments = {"gen_args_0": {"arg_0": "2 + 2", "arg_1": changed}}
    samples(tmp_path / "base", row())
    samples(tmp_path / "post", row(arguments=arguments))
    shots = {"base": 5, "post": 0}
    for arm, n in shots.items():
        limit = {"limit": 3} if arm == "base" else {}
        fields = {"n-shot": {"sums": n}, "versions": {"sums": n + 1}, "config": limit}
        results(tmp_path / arm, **fields)
    rows = importers.differing_settings(*(importers.load(tmp_path / arm) for arm in shots))
    assert rows.values.tolist() == [
        ["n-shot (sums)", "5", "0"],
        ["task version (sums)", "6", "1"],
        ["limit", "3", "not recorded"],
        ["until (sums)", '["\\n"]', '["</s>"]'],
        ["do_sample (sums)", "false", "true"],
    ]


def test_arms_with_other_documents_have_a_row(tmp_path):
    samples(tmp_path / "base", row(), row(1))
    samples(tmp_path / "post", row(), row(1, doc_hash="another"))
    rows = importers.differing_settings(
        *(importers.load(tmp_path / arm) for arm in ("base", "post"))
    )
    assert rows.values.tolist() == [["documents", "those of 1 of 2 tasks ('1')", "others"]]


def test_a_target_that_is_no_text_is_refused(tmp_path):
    path = samples(tmp_path, row(), row(doc=1, target="\ud800"))
    with pytest.raises(
        OutcomesError, match=r"line 2, 'target': expected text that UTF-8 can encode, got '.ud800'"
    ):
        importers.load(path)
