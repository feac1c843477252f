"""Logs of Inspect: what of their scores, settings and archives is refused, and with which words."""

import json
import tracemalloc
import zipfile

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, OutcomesWarning, importers

LOG = ROOT / "data" / "examples" / "inspect" / "two_scorers.json"


@pytest.fixture
def log():
    return json.loads(LOG.read_text())


def load(tmp_path, log, **options):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    return importers.load(path, **{"scorer": "match"} | options)


def test_epochs_count_from_1(tmp_path, log):
    log["samples"][0]["epoch"] = 0
    with pytest.raises(
        OutcomesError, match=r"log\.json, sample 0: expected an epoch from 1 on, got 0"
    ):
        load(tmp_path, log)


def test_a_score_without_the_chosen_key_is_refused_with_its_keys(tmp_path, log):
    for sample in log["samples"]:
        sample["scores"] = {"judge": {"value": {"right": True, "short": False}}}
    log["samples"][3]["scores"]["judge"]["value"] = {"correct": True}
    with pytest.raises(OutcomesError, match=r"sample 3: no score 'judge/right', .*'judge/correct'"):
        load(tmp_path, log, scorer="judge/right")


def test_a_dictionary_where_others_have_a_number_is_refused_with_its_keys(tmp_path, log):
    log["samples"][3]["scores"]["match"]["value"] = {"right": True}
    with pytest.raises(OutcomesError, match=r"sample 3: no score 'match', .*'match/right'"):
        load(tmp_path, log)


def test_a_dictionary_of_scores_that_was_not_scored_is_missing(tmp_path, log):
    for sample in log["samples"]:
        sample["scores"] = {"judge": {"value": {"right": True, "short": False}}}
    log["samples"][3]["scores"]["judge"] = {"value": float("nan"), "reason": "no answer"}
    imported = load(tmp_path, log, scorer="judge/right")
    assert imported.report.missing == {"not scored: no answer": 1}


@pytest.mark.parametrize(
    ("within", "name"),
    [
        ((), "plan"),
        (("plan",), "config"),
        (("eval",), "model_generate_config"),
        (("eval",), "dataset"),
        (("eval",), "config"),
        (("eval", "dataset"), "sample_ids"),
        (("eval", "config"), "epochs"),
    ],
)
@pytest.mark.parametrize("value", ["text", [1], 0.5])
def test_settings_of_another_type_are_no_crash(tmp_path, log, within, name, value):
    holder = log
    for key in within:
        holder = holder[key]
    holder[name] = value
    taken = name == "sample_ids" and isinstance(value, list)
    message = "is not among the 1 samples" if taken else f"log\\.json.*'{name}': expected .*, got "
    with pytest.raises(OutcomesError, match=message):
        load(tmp_path, log)


def test_a_sample_that_hit_a_limit_counts_as_it_was_scored(tmp_path, log):
    for number in (0, 1):
        log["samples"][number]["limit"] = {"type": "message", "limit": 10}
    log["samples"][1]["scores"] = {}
    report = load(tmp_path, log).report
    assert report.missing == {"limit: message": 1}
    assert report.notes == ["1 sample with a score hit a limit: message; the score counts"]


def test_fields_of_older_versions_are_known(tmp_path, log):
    for sample in log["samples"]:
        sample["score"] = sample.pop("scores")["match"]
        sample["transcript"] = {"events": [], "content": {}}
    imported = load(tmp_path, log, scorer=None)
    assert (imported.report.scorer, imported.report.passed) == ("score", 18)


def test_an_unknown_field_can_be_ignored_from_the_command_line(tmp_path, log):
    log["samples"][2] |= {"limits": None, "late": 1}
    with pytest.raises(OutcomesError, match=r"field 'late' .*`ignore=\"late\"`"):
        load(tmp_path, log)
    assert load(tmp_path, log, ignore="late,limits").report.attempts == 18


# --- archives -------------------------------------------------------------------------------------


def archived(path, log, padding):
    """The log as an archive, each sample with `padding` in its store."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: log[k] for k in log if k != "samples"}))
        for sample in log["samples"]:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample | {"store": padding}))
    return path


def test_padding_that_takes_much_memory_is_refused_before_it_is_read(tmp_path, log):
    path = archived(tmp_path / "a.eval", log, [[]] * 100_000)
    assert path.stat().st_size < 150_000
    tracemalloc.start()
    with pytest.raises(OutcomesError, match=r"a\.eval: would unpack to \d+ bytes, .* zip bomb"):
        importers.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_a_log_that_packs_as_chats_do_is_read_a_sample_at_a_time(tmp_path, log):
    # Some 80 times smaller packed, which is more than logs of agents reach.
    padding = [f"step {i**9}: " + "the same words again and again " * 50 for i in range(1000)]
    path = archived(tmp_path / "a.eval", log, padding)
    sample = len(json.dumps(padding))
    assert len(log["samples"]) * sample > 50 * path.stat().st_size
    tracemalloc.start()
    assert importers.load(path, scorer="match", trajectories=True).report.attempts == 18
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * sample


def test_a_null_for_a_score_is_a_missing_one(tmp_path, log):
    log["samples"][3]["scores"]["match"] |= {"value": None, "metadata": {"unscored_reason": "late"}}
    del log["samples"][4]["scores"]["match"]
    missing = load(tmp_path, log).report.missing
    assert missing == {"not scored: late": 1, "not scored": 1}


def test_scores_that_are_missing_offer_no_choice(tmp_path, log):
    for sample in log["samples"]:
        sample["scores"] = {"judge": {"value": {"right": True}}}
    log["samples"][3]["scores"]["judge"]["value"] = None
    imported = load(tmp_path, log, scorer=None)
    assert imported.report.scorer == "judge/right"
    assert imported.report.missing == {"not scored": 1}


def test_a_log_without_samples_has_no_score_to_choose(tmp_path, log):
    with pytest.raises(
        OutcomesError, match=r"log\.json: no sample has a score; .*'success', and 0 of 0"
    ):
        load(tmp_path, log | {"samples": []})


def test_a_plan_out_of_all_proportion_is_refused(tmp_path, log):
    log["eval"]["config"]["epochs"] = 10**9
    with pytest.raises(
        OutcomesError, match=r"\d+ of 3 samples in 1000000000 epochs are not in the log"
    ):
        load(tmp_path, log)


def test_a_run_that_failed_says_so_with_its_first_error(tmp_path, log):
    log |= {"status": "error"}
    for sample in log["samples"]:
        sample |= {"scores": None, "error": {"message": "out of memory"}}
    n = len(log["samples"])
    message = rf"status is 'error', and {n} of {n} samples failed, first with error: out of memory"
    with pytest.warns(OutcomesWarning), pytest.raises(OutcomesError, match=message):
        load(tmp_path, log)


def test_a_run_that_did_not_come_to_its_end_is_warned_of(tmp_path, log):
    with pytest.warns(OutcomesWarning, match="did not finish; its status is 'cancelled'"):
        load(tmp_path, log | {"status": "cancelled"})
