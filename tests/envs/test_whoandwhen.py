"""Who & When: its logs, and the table of their scored steps."""

import importlib.util
import json

import pandas as pd
import pytest

from lib import ROOT
from lib.envs.benchmarks.whoandwhen import SPLITS, as_rollout, read_logs
from tests import tiny


def log(**more):
    said = [{"role": "assistant", "name": "A", "content": "x"}, {"role": "B", "content": ""}]
    told = {"question": "Why?", "mistake_agent": "B", "mistake_step": "1", "history": said}
    return told | more


def write(folder, splits=SPLITS, **logs):
    for split in splits:
        (folder / split).mkdir(exist_ok=True)
        for name, raw in logs.items():
            path = folder / split / f"{name.removeprefix('n')}.json"
            path.write_text(json.dumps(raw), encoding="utf-8")
    return folder


def test_logs_are_read_in_the_order_of_their_numbers_with_steps_as_integers(tmp_path):
    found = read_logs(write(tmp_path, n10=log(), n9=log()))
    assert [one.file for one in found] == ["9", "10"] * 2
    assert (found[0].step, found[0].agent, found[0].speakers) == (1, "B", ("A", "B"))


def test_every_step_of_a_log_is_an_action(tmp_path):
    rollout = as_rollout(read_logs(write(tmp_path, n1=log()))[0])
    assert rollout.key == ("whoandwhen", "given", "Algorithm-Generated", "1", 0)
    assert [m.content for m in rollout.messages] == ["Why?", "[A] x", "[B] "]
    assert rollout.passed is False


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"mistake_step": "2"}, "mistake_step: expected a whole number from 0 to 1"),
        ({"mistake_step": 0.9}, "got 0.9"),
        ({"mistake_step": "0.9"}, "got '0.9'"),
        ({"mistake_step": True}, "got True"),
        ({"mistake_step": None}, "got None"),
        ({"history": ["a", "b"]}, r"history\[0\]: expected an object, got 'a'"),
        ({"history": []}, r"history: expected a list of messages, got \[\]"),
        (
            {"history": [{"role": "A", "content": None}]},
            r"history\[0\].content: expected a text, got None",
        ),
        ({"history": [{"content": "x"}]}, r"history\[0\].role: expected a text, got None"),
        ({"question": 5}, "question: expected a text, got 5"),
        ({"mistake_agent": None}, "mistake_agent: expected a text"),
    ],
)
def test_a_file_that_is_no_log_is_named_with_its_field(tmp_path, wrong, told):
    with pytest.raises(ValueError, match=rf"Generated/1\.json: not a log of Who & When: .*{told}"):
        read_logs(write(tmp_path, n1=log(**wrong)))


@pytest.mark.parametrize("raw", ["[1]", "{", "[" * 10**5])
def test_a_file_without_an_object_is_named(tmp_path, raw):
    (write(tmp_path, n1=log()) / SPLITS[0] / "1.json").write_text(raw, encoding="utf-8")
    with pytest.raises(ValueError, match=r"1\.json: not a log of Who & When"):
        read_logs(tmp_path)


def test_a_folder_without_logs_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="Kevin355/Who_and_When"):
        read_logs(tmp_path)


def test_one_split_alone_is_read_unless_the_other_is_asked_for(tmp_path):
    write(tmp_path, SPLITS[1:], n1=log())
    assert [one.split for one in read_logs(tmp_path)] == ["Hand-Crafted"]
    with pytest.raises(FileNotFoundError, match=r"no logs in .*Algorithm-Generated"):
        read_logs(tmp_path, SPLITS)


# ----------------------------------------------------------------------- the table of scored steps


@pytest.fixture
def score(monkeypatch, tmp_path):
    """The script, with a tiny policy and its output in a folder of its own."""
    path = ROOT / "data" / "whoandwhen" / "score.py"
    spec = importlib.util.spec_from_file_location("score", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for place in ("ROOT", "HERE"):
        monkeypatch.setattr(script, place, tmp_path)
    policy = tiny.save(tmp_path / "tiny-0.1")

    def run(folder, *options):
        status = script.main([str(folder), "--policy", str(policy), *options])
        return status, tmp_path / "tiny-0.1.parquet"

    return run


def test_the_table_is_of_the_logs_in_the_folder_as_they_are_now(score, tmp_path, capsys):
    folder = write(tmp_path, n1=log(), n2=log())
    assert score(folder)[0] == 0
    assert "4 of 4 logs" in capsys.readouterr().out
    (folder / SPLITS[0] / "2.json").unlink()
    write(folder, SPLITS[1:], n1=log(question="Who?"))
    _, path = score(folder, "--write")
    assert "2 of 3 logs" in capsys.readouterr().out
    table = pd.read_parquet(path).set_index(["split", "file"])
    assert table.loc[("Hand-Crafted", "1"), "log-prob"].isna().all()
    assert table.drop(("Hand-Crafted", "1"))["log-prob"].notna().all()
    assert len(table) == 6


def test_one_split_alone_has_a_table(score, tmp_path):
    status, path = score(write(tmp_path, SPLITS[:1], n1=log()))
    assert status == 0
    assert set(pd.read_parquet(path)["split"]) == {"Algorithm-Generated"}


def test_the_logs_of_one_split_are_scored_and_all_are_in_the_table(score, tmp_path):
    status, path = score(write(tmp_path, n1=log()), "--splits", SPLITS[1])
    assert status == 0
    table = pd.read_parquet(path).set_index("split")
    assert table.loc[SPLITS[1], "log-prob"].notna().all()
    assert table.loc[SPLITS[0], "log-prob"].isna().all()


def test_a_split_that_is_to_be_scored_must_be_there(score, tmp_path, capsys):
    folder = write(tmp_path, SPLITS[:1], n1=log())
    assert score(folder, "--splits", SPLITS[1])[0] == 2
    assert f"error: no logs in {folder / SPLITS[1]}" in capsys.readouterr().err


def test_a_wrong_folder_is_told_and_leaves_no_table(score, tmp_path, capsys):
    status, path = score(tmp_path / "nowhere")
    assert status == 2
    assert "error: no logs in" in capsys.readouterr().err
    assert not path.exists()
