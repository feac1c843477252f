"""Damaged logs: each is read the same, refused, or reported; none differs silently."""

import json
import random

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, importers
from tests import damage

EXAMPLES = ROOT / "data" / "examples"


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def scored_by(tmp_path, *values):
    """A log of Inspect whose samples have these values by one scorer, in turn."""
    log = json.loads((EXAMPLES / "inspect" / "two_scorers.json").read_text())
    for number, sample in enumerate(log["samples"]):
        sample["scores"] = {"judge": {"value": values[number % len(values)]}}
    (tmp_path / "log.json").write_text(json.dumps(log))
    return tmp_path / "log.json"


def test_a_row_without_a_field_of_the_others_is_no_missing_outcome(tmp_path):
    rows = [
        {"task": "a", "attempt": 0, "passed": True},
        {"task": "a", "attempt": 1, "Passed": True},
    ]
    with pytest.raises(OutcomesError, match=r"a\.jsonl, line 2: no 'passed', which line 1 has"):
        importers.load(lines(tmp_path / "a.jsonl", *rows))


def test_a_number_beyond_all_floats_is_refused(tmp_path):
    with pytest.raises(OutcomesError, match=r"log\.json: expected JSON.*a number of 401 digits"):
        importers.load(scored_by(tmp_path, 10**400), threshold=1.0)


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
