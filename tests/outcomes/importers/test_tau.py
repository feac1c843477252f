"""Logs of tau2 and tau-bench: simulations in files of their own, crashed trials, tool calls."""

import json

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, OutcomesWarning, importers

EXAMPLES = ROOT / "data" / "examples"


def test_a_lost_trial_is_noted_although_another_task_has_one_more(tmp_path):
    document = json.loads((EXAMPLES / "tau2" / "post.json").read_text())
    simulation = document["simulations"].pop(0)
    document["simulations"].append(simulation | {"task_id": "4", "trial": 4})
    path = tmp_path / "post.json"
    path.write_text(json.dumps(document))
    with pytest.warns(OutcomesWarning, match="task '0' has 3"):
        (note,) = importers.load(path).report.notes
    assert note.endswith("were planned; task '0' has 3, task '4' has 5")


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
