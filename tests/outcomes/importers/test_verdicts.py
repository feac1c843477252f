"""Which score counts, and from which threshold on it is a success."""

import json

import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers

EXAMPLES = ROOT / "data" / "examples"


def load(name, **options):
    return importers.load(EXAMPLES / name, **options)


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


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


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("inspect/two_scorers.json", r"\('match', 'exact'\)\. Choose one: `scorer=\"match\""),
        (
            "lm_eval/two_filters",
            r"'strict' scores 1 of \d .*\('number', 'strict'\)\. Choose one: `filter=\"number\"",
        ),
        ("evalplus/base_eval_results.json", r"\('base', 'plus'\)\. Choose one: `tests=\"base\""),
    ],
)
def test_several_candidates_are_listed_with_the_argument_that_chooses(log, message):
    with pytest.raises(OutcomesError, match=message):
        load(log)


def test_plus_needs_both_statuses():
    base, plus = (load("evalplus/post_eval_results.json", tests=t) for t in ("base", "plus"))
    assert base.report.passed > plus.report.passed
    both = base.outcomes["passed"] | ~plus.outcomes["passed"]
    assert both.all()


def test_an_unknown_option_lists_those_of_the_format():
    with pytest.raises(OutcomesError, match="the format 'inspect' has no option 'metric'"):
        load("inspect/base.eval", metric="acc")


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


def test_an_infinite_score_is_refused(tmp_path):
    with pytest.raises(OutcomesError, match=r"expected a score, a finite number .*; got inf"):
        importers.load(scored_by(tmp_path, float("inf")), threshold=1.0)
