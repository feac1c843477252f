"""What a log says of its own run, set against what is in it."""

import json
import shutil

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, OutcomesWarning, importers

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
    with pytest.raises(OutcomesError, match=r"line 1, 'reward': the score 0\.75 .*threshold"):
        importers.load(verifiers)
    assert importers.load(verifiers, threshold=0.75).report.threshold == 0.75


@pytest.mark.parametrize("name", ["num_examples", "rollouts_per_example", "sampling_args"])
def test_metadata_without_its_plan_is_refused(verifiers, name):
    change(verifiers / "metadata.json", **{name: "drop"})
    with pytest.raises(OutcomesError, match=rf"metadata\.json: no '{name}'; the fields are"):
        importers.load(verifiers)


def test_rollouts_that_are_not_there_are_told_by_task(verifiers):
    results = verifiers / "results.jsonl"
    rows = results.read_text().splitlines(keepends=True)
    results.write_text("".join(rows[1:]))
    with pytest.warns(OutcomesWarning, match="planned; task '0' has 3"):
        (note,) = importers.load(verifiers).report.notes
    assert note.endswith("4 attempts at each of 5 tasks were planned; task '0' has 3")


def test_a_trial_lost_is_told_where_another_task_has_one_more(tmp_path):
    document = json.loads((EXAMPLES / "tau2" / "post.json").read_text())
    simulation = document["simulations"].pop(0)
    document["simulations"].append(simulation | {"task_id": "4", "trial": 4})
    path = tmp_path / "post.json"
    path.write_text(json.dumps(document))
    with pytest.warns(OutcomesWarning, match="task '0' has 3"):
        (note,) = importers.load(path).report.notes
    assert note.endswith("were planned; task '0' has 3, task '4' has 5")


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


# --- what is no failure, and what is no file ------------------------------------------------------


def test_a_trial_of_tau_bench_that_crashed_is_missing(tmp_path):
    rows = [{"task_id": 0, "trial": n, "reward": 1.0, "info": {}, "traj": []} for n in (0, 1)]
    rows[1] |= {"reward": 0.0, "info": {"error": "RateLimitError", "traceback": "..."}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows))
    report = importers.load(path).report
    assert (report.scored, report.missing) == (1, {"error: RateLimitError": 1})


@pytest.fixture
def apart(tmp_path):
    """A log of tau2 with each simulation in a file of its own."""
    document = json.loads((EXAMPLES / "tau2" / "base.json").read_text())
    simulations = document.pop("simulations")
    (tmp_path / "simulations").mkdir()
    for one in simulations:
        (tmp_path / "simulations" / f"{one['id']}.json").write_text(json.dumps(one))
    index = [{"id": one["id"]} for one in simulations]
    document = {"format_version": 2, "simulation_index": index, **document}
    (tmp_path / "results.json").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize("name", [".", "results.json"])
def test_simulations_in_files_of_their_own_are_read(apart, name):
    report, whole = importers.load(apart / name).report, importers.load(EXAMPLES / "tau2/base.json")
    assert (report.passed, report.attempts) == (whole.report.passed, whole.report.attempts)


def test_a_simulation_without_its_file_is_named(apart):
    (apart / "simulations" / "base-0-0.json").unlink()
    with pytest.raises(
        OutcomesError, match=r"results\.json: expected a file .* 'base-0-0' is in only one"
    ):
        importers.load(apart)


def test_calls_that_are_no_list_are_refused(tmp_path):
    document = json.loads((EXAMPLES / "tau2" / "base.json").read_text())
    document["simulations"][0]["messages"][0]["tool_calls"] = 1
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    with pytest.raises(
        OutcomesError, match=r"message 0, 'tool_calls': expected a list of calls or null, got 1"
    ):
        importers.load(path, trajectories=True)


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
