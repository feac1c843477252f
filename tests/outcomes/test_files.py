"""Tables of outcomes from and to files and data sets."""

import gzip
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import outcomes
from lib.outcomes import OutcomesError
from tests.outcome_tables import ATTEMPTS, COUNTS

HISTOGRAM = pd.DataFrame(
    {"benchmark": "b", "pair": "p", "arm": ["base", "post"], "tasks": 9, "n": 4, "c": [1, 3]}
)


def jsonl(path, *rows):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


@pytest.mark.parametrize("table", [ATTEMPTS, COUNTS, HISTOGRAM], ids=outcomes.kind)
@pytest.mark.parametrize("suffix", outcomes.SUFFIXES)
def test_every_shape_survives_every_format(tmp_path, table, suffix):
    table, path = outcomes.validate(table), tmp_path / f"t{suffix}"
    outcomes.write(table, path)
    pd.testing.assert_frame_equal(outcomes.read(path), table)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("table", [ATTEMPTS, COUNTS, HISTOGRAM], ids=outcomes.kind)
def test_every_shape_survives_a_dataset(table):
    table = outcomes.validate(table)
    pd.testing.assert_frame_equal(outcomes.from_dataset(outcomes.to_dataset(table)), table)


names = st.text(min_size=1, max_size=5).filter(str.isprintable).map(str.strip).filter(bool)


@settings(max_examples=30)
@given(
    st.dictionaries(names, st.lists(st.sampled_from([True, False, None]), min_size=1), min_size=1)
)
def test_attempts_of_any_names_survive_json_lines(tmp_path_factory, flags):
    path = tmp_path_factory.mktemp("any") / "t.jsonl"
    jsonl(path, *({"task_id": task, "pass_flags": one} for task, one in flags.items()))
    table = outcomes.counts(outcomes.read(path, arm="base")).set_index("task")
    for task, one in flags.items():
        assert table.loc[task, ["n", "c", "missing"]].tolist() == [
            sum(flag is not None for flag in one),
            sum(flag is True for flag in one),
            sum(flag is None for flag in one),
        ]


def test_files_are_the_same_bytes_every_time(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        outcomes.write(outcomes.validate(COUNTS), tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_failed_write_leaves_the_old_file_alone(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", "old")
    with pytest.raises(OutcomesError):
        outcomes.write(COUNTS.assign(c=9), path)
    assert path.read_text() == "old\n"


def test_the_authors_table_is_read_and_its_arm_renamed(tmp_path):
    path = tmp_path / "cells.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(
            "benchmark,pair,arm,model,task_id,n,c\nbfcl,P,base,m,t1,4,1\nbfcl,P,rl,m,t1,4,3\n"
        )
    table = outcomes.read(path)
    assert table["arm"].tolist() == ["base", "post"]
    assert table["model"].tolist() == ["m", "m"]
    assert outcomes.comparisons(table)[0].label == "P on bfcl"


def test_the_authors_flags_become_attempts(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task_id": 7, "pass_flags": [True, False, None]})
    table = outcomes.read(path, arm="base")
    assert table["attempt"].tolist() == [0, 1, 2]
    assert table["task"].tolist() == ["7"] * 3
    assert table["passed"].isna().tolist() == [False, False, True]


def test_the_authors_counts_are_read(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task_id": "a", "n": 8, "c": 2})
    assert outcomes.read(path, arm="base")[["n", "c", "missing"]].to_numpy().tolist() == [[8, 2, 0]]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OutcomesError, match=r"nowhere\.csv: expected .*got no such file"):
        outcomes.read(tmp_path / "nowhere.csv")


def test_classes_of_a_dataset_are_read_by_their_names():
    from datasets import ClassLabel, Dataset

    rows = {"task": ["a", "a"], "attempt": [0, 1], "passed": [0, 1]}
    dataset = Dataset.from_dict(rows).cast_column("passed", ClassLabel(names=["true", "false"]))
    assert outcomes.from_dataset(dataset, arm="base")["passed"].tolist() == [True, False]


def test_flags_survive_parquet(tmp_path):
    table = pd.DataFrame({"task_id": ["a"], "pass_flags": [[True, False]], "n": [2], "c": [1]})
    table.to_parquet(tmp_path / "t.parquet")
    read = outcomes.read(tmp_path / "t.parquet", arm="base")
    assert read["passed"].tolist() == [True, False]


def test_an_index_with_a_name_is_a_column_of_parquet(tmp_path):
    table = pd.DataFrame({"n": [4], "c": [1]}, index=pd.Index(["a"], name="task"))
    table.to_parquet(tmp_path / "t.parquet")
    assert outcomes.read(tmp_path / "t.parquet", arm="base")["task"].tolist() == ["a"]


def test_damaged_notes_of_pandas_do_not_matter(tmp_path):
    pd.DataFrame({"task": ["a"], "n": [4], "c": [1]}).to_parquet(tmp_path / "t.parquet")
    raw = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(raw.replace(b'"columns"', b'"colXmns"'))
    assert outcomes.read(tmp_path / "t.parquet", arm="base")["n"].tolist() == [4]
