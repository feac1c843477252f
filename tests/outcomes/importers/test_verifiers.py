"""Logs of verifiers: which rollouts are of one example."""

import json

import pytest

from lib.outcomes import OutcomesError, OutcomesWarning, importers


def results(folder, *rows):
    path = folder / "results.jsonl"
    common = {"example_id": 0, "prompt": "2 + 2", "answer": "4", "completion": "4", "reward": 1.0}
    path.write_text("".join(json.dumps(common | row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("other", [{"answer": "5"}, {"task": "sums"}])
def test_one_number_for_two_examples_is_refused(tmp_path, other):
    path = results(tmp_path, {}, other)
    said = r"line 2: the 'task' or 'answer' of example 0 differs from \S+, line 1"
    with pytest.raises(OutcomesError, match=said):
        importers.load(path)


def test_two_prompts_of_an_example_are_told(tmp_path):
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
