"""Logs of verifiers: metadata, thresholds, planned rollouts, prompts and answers."""

import json
import shutil

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, OutcomesWarning, importers


def results(folder, *rows):
    path = folder / "results.jsonl"
    common = {"example_id": 0, "prompt": "2 + 2", "answer": "4", "completion": "4", "reward": 1.0}
    path.write_text("".join(json.dumps(common | row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("other", [{"answer": "5"}, {"task": "sums"}])
def test_one_number_for_two_examples_is_refused(tmp_path, other):
    path = results(tmp_path, {}, other)
    message = r"line 2: the 'task' or 'answer' of example 0 differs from \S+, line 1"
    with pytest.raises(OutcomesError, match=message):
        importers.load(path)


def test_two_prompts_of_an_example_are_warned_of(tmp_path):
    path = results(tmp_path, {}, {"prompt": "two and two"}, {"example_id": 1})
    with pytest.warns(OutcomesWarning, match=r"1 example had unlike prompts \(first 0\)"):
        imported = importers.load(path)
    assert imported.report.tasks == 2


def test_other_answers_in_the_other_arm_have_a_row(tmp_path):
    for arm, answer in (("base", "4"), ("post", "5")):
        (tmp_path / arm).mkdir()
        results(tmp_path / arm, {"answer": answer})
    two = [importers.load(tmp_path / arm) for arm in ("base", "post")]
    assert importers.differing_settings(*two)["setting"].tolist() == ["documents"]


EXAMPLES = ROOT / "data" / "examples"


@pytest.fixture
def verifiers(tmp_path):
    return shutil.copytree(EXAMPLES / "verifiers" / "base", tmp_path / "base")


def change(path, **fields):
    document = json.loads(path.read_text()) | fields
    kept = {name: value for name, value in document.items() if value != "drop"}
    path.write_text(json.dumps(kept))
    return path


def test_a_lost_threshold_is_asked_for(verifiers):
    change(verifiers / "metadata.json", pass_threshold="drop", passing=0.5)
    results = verifiers / "results.jsonl"
    results.write_text(results.read_text().replace('"reward": 1.0', '"reward": 0.75'))
    with pytest.raises(OutcomesError, match=r"line 1, 'reward': the score 0\.75 .*threshold"):
        importers.load(verifiers)
    assert importers.load(verifiers, threshold=0.75).report.threshold == 0.75


@pytest.mark.parametrize("name", ["num_examples", "rollouts_per_example", "sampling_args"])
def test_metadata_without_its_plan_is_refused(verifiers, name):
    change(verifiers / "metadata.json", **{name: "drop"})
    with pytest.raises(OutcomesError, match=rf"metadata\.json: no '{name}'; the fields are"):
        importers.load(verifiers)


def test_absent_rollouts_are_noted_by_task(verifiers):
    results = verifiers / "results.jsonl"
    rows = results.read_text().splitlines(keepends=True)
    results.write_text("".join(rows[1:]))
    with pytest.warns(OutcomesWarning, match="planned; task '0' has 3"):
        (note,) = importers.load(verifiers).report.notes
    assert note.endswith("4 attempts at each of 5 tasks were planned; task '0' has 3")


def test_a_setting_written_as_text_is_a_number(verifiers):
    change(verifiers / "metadata.json", sampling_args={"temperature": "0.7"})
    assert importers.load(verifiers).report.settings == {"temperature": [0.7]}


def test_settings_that_are_no_object_are_refused(verifiers):
    change(verifiers / "metadata.json", sampling_args=["temperature"])
    with pytest.raises(
        OutcomesError, match=r"metadata\.json, 'sampling_args': expected .*, got \['temp"
    ):
        importers.load(verifiers)


def test_a_folder_of_both_arms_lists_them():
    with pytest.raises(OutcomesError, match=r"one results\.jsonl.*got 2 \(.*base, .*post\)"):
        importers.load(EXAMPLES / "verifiers")


def test_all_examples_are_planned_however_many(verifiers):
    change(verifiers / "metadata.json", num_examples=-1)
    assert importers.load(verifiers).report.notes == []


@pytest.mark.parametrize("error", ["ModelError()", {"error": "ModelError()"}])
def test_an_error_in_either_spelling_is_missing(tmp_path, error):
    rows = [{"example_id": 0, "reward": reward, "error": None} for reward in (1.0, 0.0)]
    rows[1]["error"] = error
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert importers.load(path).report.missing == {"error: ModelError()": 1}


def test_settings_that_a_client_passes_on_are_compared(verifiers):
    logs = []
    for k in (20, 50):
        sampling = {"extra_body": {"top_k": k, "min_p": k / 100}, "stop": None}
        change(verifiers / "metadata.json", sampling_args=sampling)
        logs.append(importers.load(verifiers))
    rows = importers.differing_settings(*logs).values.tolist()
    assert [row for row in rows if row[0] != "log"] == [
        ["top_k", "20", "50"],
        ["min_p", "0.2", "0.5"],
    ]
