"""Files of lm-evaluation-harness: which are read, and which filter, metric and model."""

import json

import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers

EXAMPLES = ROOT / "data" / "examples"


def counted(imported):
    table = outcomes.counts(imported.outcomes)
    return dict(zip(table["task"], zip(table["n"], table["c"], strict=True), strict=True))


def first_row(path):
    return json.loads(path.read_text().splitlines()[0])


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


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


def test_a_share_of_responses_gives_counts_if_the_log_does_not_say_which(tmp_path):
    row = first_row(next((EXAMPLES / "lm_eval/base").glob("*")))
    row = {k: v for k, v in row.items() if k != "exact_match"}
    row |= {"metrics": ["pass@1"], "pass@1": 0.25, "target": "check(f)"}
    imported = importers.load(lines(tmp_path / "samples_code_2026-01-01T00-00-00.jsonl", row))
    assert outcomes.kind(imported.outcomes) == "counts"
    assert counted(imported) == {"0": (8, 2)}


def scored_by(tmp_path, *values):
    """A log of Inspect whose samples have these values by one scorer, in turn."""
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    for number, sample in enumerate(log["samples"]):
        sample["scores"] = {"judge": {"value": values[number % len(values)]}}
    (tmp_path / "log.json").write_text(json.dumps(log))
    return tmp_path / "log.json"


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
    ("score", "message"),
    [
        (0.5, "by the score, 4 of 8 responses are right, but .* 7 equal the target"),
        (0.55, "expected a share of 8 responses, got 0.55"),
        (True, "one true for 8 responses"),
    ],
)
def test_a_share_must_fit_the_responses(tmp_path, score, message):
    row = first_row(next((EXAMPLES / "lm_eval/base").glob("*"))) | {"exact_match": score}
    with pytest.raises(OutcomesError, match=message):
        importers.load(lines(tmp_path / "samples_sums_2026-01-01T00-00-00.jsonl", row))


def test_a_share_after_verdicts_replaces_them_and_the_reverse(tmp_path):
    row = first_row(next((EXAMPLES / "lm_eval/base").glob("*")))
    judged = row | {"target": "t", "filtered_resps": [["T"] * 8], "exact_match": 1.0}
    path = tmp_path / "samples_sums_2026-01-01T00-00-00.jsonl"
    assert counted(importers.load(lines(path, row, judged))) == {"0": (8, 8)}
    assert counted(importers.load(lines(path, judged, row))) == {"0": (8, 7)}
