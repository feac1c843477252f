"""What a log says of its own run, set against what is in it."""

import json
import shutil

import pytest

from lib import ROOT, importers
from lib.outcomes import OutcomesError

EXAMPLES = ROOT / "data" / "examples"


@pytest.fixture
def verifiers(tmp_path):
    return shutil.copytree(EXAMPLES / "verifiers" / "base", tmp_path / "base")


def change(path, **fields):
    document = json.loads(path.read_text()) | fields
    kept = {name: value for name, value in document.items() if value != "drop"}
    path.write_text(json.dumps(kept))
    return path


def test_a_threshold_that_is_lost_is_asked_for(verifiers):
    change(verifiers / "metadata.json", pass_threshold="drop", passing=0.5)
    results = verifiers / "results.jsonl"
    results.write_text(results.read_text().replace('"reward": 1.0', '"reward": 0.75'))
    with pytest.raises(OutcomesError, match=r"line 1, 'reward': the score 0\.75 .* threshold"):
        importers.load(verifiers)
    assert importers.load(verifiers, threshold=0.75).report.threshold == 0.75


@pytest.mark.parametrize("name", ["num_examples", "rollouts_per_example", "sampling_args"])
def test_metadata_without_its_plan_is_refused(verifiers, name):
    change(verifiers / "metadata.json", **{name: "drop"})
    with pytest.raises(OutcomesError, match=rf"metadata\.json: no '{name}'; it has"):
        importers.load(verifiers)


def test_rollouts_that_are_not_there_are_told_by_task(verifiers):
    results = verifiers / "results.jsonl"
    rows = results.read_text().splitlines(keepends=True)
    results.write_text("".join(rows[1:]))
    assert importers.load(verifiers).report.notes == [
        "4 attempts at each of 5 tasks were planned; task '0' has 3"
    ]


def test_a_trial_lost_is_told_where_another_task_has_one_more(tmp_path):
    document = json.loads((EXAMPLES / "tau2" / "post.json").read_text())
    simulation = document["simulations"].pop(0)
    document["simulations"].append(simulation | {"task_id": "4", "trial": 4})
    path = tmp_path / "post.json"
    path.write_text(json.dumps(document))
    (note,) = importers.load(path).report.notes
    assert note.endswith("were planned; task '0' has 3, task '4' has 5")


def test_a_setting_written_as_text_is_a_number(verifiers):
    change(verifiers / "metadata.json", sampling_args={"temperature": "0.7"})
    assert importers.load(verifiers).report.settings == {"temperature": [0.7]}


def test_settings_that_are_no_object_are_refused(verifiers):
    change(verifiers / "metadata.json", sampling_args=["temperature"])
    with pytest.raises(OutcomesError, match=r"metadata\.json, 'sampling_args': got \['temp"):
        importers.load(verifiers)


def test_a_folder_of_both_arms_lists_them():
    with pytest.raises(OutcomesError, match=r"one results\.jsonl.*got 2 \(.*base, .*post\)"):
        importers.load(EXAMPLES / "verifiers")
