"""The schema of outcomes: what a valid table is, and what is refused."""

import gzip
import json
import warnings

import pandas as pd
import pytest

from lib import outcomes
from lib.outcomes import OutcomesError, OutcomesWarning
from tests.outcome_tables import ATTEMPTS, COUNTS


def jsonl(path, *rows):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


def test_flags_and_counts_that_disagree_are_refused(tmp_path):
    row = {"task_id": "a", "pass_flags": [True, False], "n": 2, "c": 1}
    assert len(outcomes.read(jsonl(tmp_path / "t.jsonl", row), arm="base")) == 2
    with pytest.raises(
        OutcomesError, match=r"column 'c': got 2, expected the sum of the row's pass_flags"
    ):
        outcomes.read(jsonl(tmp_path / "t.jsonl", row | {"c": 2}), arm="base")


def test_further_columns_are_carried_as_text(tmp_path):
    row = {"task": "a", "n": 2, "c": 1, "model": {"name": "m"}, "temperature": 0.7}
    table = outcomes.read(jsonl(tmp_path / "t.jsonl", row), arm="base")
    assert table[["model", "temperature"]].to_numpy().tolist() == [["{'name': 'm'}", "0.7"]]


def test_a_column_of_the_file_wins_over_a_default(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "n": 8, "c": 2, "arm": "post"})
    assert outcomes.read(path, arm="base")["arm"].tolist() == ["post"]


@pytest.mark.parametrize(
    "words", [("1.0", "0.0"), ("yes", "No"), ("PASS", "FAIL"), ("passed", "failed")]
)
def test_outcomes_in_words(tmp_path, words):
    (tmp_path / "t.csv").write_text("task,attempt,passed\na,0,{}\na,1,{}\na,2,\n".format(*words))
    passed = outcomes.read(tmp_path / "t.csv", arm="base")["passed"]
    assert passed.tolist() == [True, False, pd.NA]


def test_a_stray_column_called_n_counts_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("task,attempt,passed,n\na,0,1,512\n")
    table = outcomes.read(tmp_path / "t.csv", arm="base")
    assert outcomes.counts(table)[["n", "c"]].to_numpy().tolist() == [[1, 1]]
    (tmp_path / "t.csv").write_text("task,attempt,ok,n\na,0,1,512\n")
    with pytest.raises(OutcomesError, match=r"no column 'passed'.*`columns="):
        outcomes.read(tmp_path / "t.csv", arm="base")


def test_a_named_column_wins_over_one_that_is_called_so(tmp_path):
    (tmp_path / "t.csv").write_text("task,n,c,Total,Right\na,512,7,8,2\n")
    table = outcomes.read(tmp_path / "t.csv", arm="base", columns={"n": "Total", "c": "Right"})
    assert table[["n", "c", "n (in the file)"]].to_numpy().tolist() == [[8, 2, "512"]]
    (tmp_path / "u.csv").write_text("task,attempt,ok,n,c\na,0,1,512,7\n")
    table = outcomes.read(tmp_path / "u.csv", arm="base", columns={"passed": "ok"})
    assert outcomes.kind(table) == "attempts"


def test_a_repeated_attempt_counts_once_and_the_last_one_wins(tmp_path):
    rows = [{"task": "a", "attempt": i, "passed": p} for i, p in ((0, False), (1, True), (0, True))]
    with pytest.warns(OutcomesWarning, match="1 row repeats the .task, attempt. of a later one"):
        table = outcomes.read(jsonl(tmp_path / "t.jsonl", *rows), arm="base")
    assert outcomes.counts(table)[["n", "c"]].to_numpy().tolist() == [[2, 2]]


def test_rows_without_attempt_numbers_are_numbered_with_a_warning(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", *({"task": "a", "passed": p} for p in (True, False)))
    with pytest.warns(OutcomesWarning, match="Attempts were numbered in the order of their rows"):
        assert outcomes.read(path, arm="base")["attempt"].tolist() == [0, 1]


def test_missing_outcomes_are_not_failures():
    table = outcomes.validate(
        pd.DataFrame({"task": "a", "attempt": range(4), "passed": [None, None, False, False]}),
        arm="base",
    )
    assert outcomes.counts(table)[["n", "c", "missing"]].to_numpy().tolist() == [[2, 0, 2]]
    assert table["reason"].tolist()[:2] == ["no reason given"] * 2


def test_a_valid_table_validates_to_itself_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        once = outcomes.validate(ATTEMPTS)
        pd.testing.assert_frame_equal(outcomes.validate(once), once)


BAD_FILES = {
    "empty": ("t.jsonl", b"", "the file is empty"),
    "whole but wrong last line": (
        "t.jsonl",
        b'{"task":"a","n":1,"c":1}\n[1, 2]\n',
        "line 2.*not an object",
    ),
    "Python for JSON": (
        "t.jsonl",
        b'{"task":"a","n":1,"c":1}\n{"n":True}\n',
        "line 2: expected one JSON object",
    ),
    "said twice": ("t.jsonl", b'{"task":"a","n":1,"n":2,"c":1}\n', "line 1.*'n' is there twice"),
    "column twice": ("t.csv", b"task,n,n,c\na,1,2,1\n", "line 1: column 'n' is there twice"),
    "two names of one thing": (
        "t.csv",
        b"task,task_id,n,c\na,b,1,1\n",
        "both 'task_id' and 'task'",
    ),
    "two names of one arm": (
        "t.csv",
        b"task,n,c,arm\na,1,1,rl\na,1,1,post\n",
        "arms 'rl' and 'post'",
    ),
    "a quote that swallows lines": (
        "t.csv",
        b'task,n,c\n"a,1,1\nb,1,1\nc,1,1',
        "line 4: expected CSV",
    ),
    "true for a count": ("t.jsonl", b'{"task":"a","n":true,"c":0}\n', "column 'n': got True"),
    "a very large count": (
        "t.jsonl",
        b'{"task":"a","n":1' + b"0" * 400 + b',"c":0}\n',
        "column 'n'",
    ),
    "flags and numbers": (
        "t.jsonl",
        b'{"task_id":"a","attempt":7,"pass_flags":[true]}\n',
        "'attempt' beside 'pass_flags'",
    ),
    "blank": ("t.jsonl", b"\n\n", "no rows"),
    "header only": ("t.csv", b"task,n,c\n", "no rows"),
    "torn inside": (
        "t.jsonl",
        b'{"task":"a"}\n{"ta\n{"task":"b"}\n',
        "line 2: expected one JSON object on each line",
    ),
    "one torn line only": ("t.jsonl", b'{"task": "a"', "line 1: expected one JSON object"),
    "CSV named jsonl": ("t.jsonl", b"task,n,c\na,8,2\n", "line 1: expected one JSON object"),
    "a list": ("t.jsonl", b"[1, 2]\n[3]\n", r"line 1: .*not an object"),
    "short row inside": (
        "t.csv",
        b"task,n,c\na,8\nb,8,2\n",
        "line 2: expected 3 fields, .*; got 2",
    ),
    "long row": ("t.csv", b"task,n,c\na,8,2,9\n", "line 2: expected 3 fields, .*; got 4"),
    "text named parquet": ("t.parquet", b"task,n,c\n", "not a readable Parquet file"),
    "text named gzip": ("t.csv.gz", b"task,n,c\n", "not a whole gzip file"),
    "cut gzip": ("t.csv.gz", gzip.compress(b"task,n,c\n" * 99)[:-9], "not a whole gzip file"),
    "binary named csv": ("t.csv", b"PAR1\xff\xfe\x00", "line 1: expected CSV in UTF-8"),
    "unknown kind": ("t.xlsx", b"PK", r"expected one of \.parquet, \.csv"),
    "c > n": (
        "t.csv",
        b"task,n,c\na,8,2\nb,4,5\n",
        r"line 3, column 'c': got 5, expected at most n",
    ),
    "negative": (
        "t.csv",
        b"task,n,c\na,8,-1\n",
        r"line 2, column 'c': got '-1', expected a whole number",
    ),
    "a rate for a count": ("t.csv", b"task,n,c\na,8,0.25\n", r"line 2, column 'c': got '0.25'"),
    "blank count": ("t.csv", b"task,n,c\na,,1\n", r"line 2, column 'n': got ''"),
    "a score for an outcome": (
        "t.csv",
        b"task,attempt,passed\na,0,1.5\n",
        r"column 'passed': got '1.5', expected true, false",
    ),
    "an object for an outcome": (
        "t.jsonl",
        b'{"task":"a","attempt":0,"passed":[1]}\n',
        r"line 1, column 'passed'",
    ),
    "no name": (
        "t.jsonl",
        b'{"task":null,"n":1,"c":1}\n',
        r"line 1, column 'task': got None, expected a name",
    ),
    "no such column": (
        "t.csv",
        b"id,score\na,1\n",
        r"no column 'task', 'passed'; the columns are 'id', 'score'.*`columns=",
    ),
    "flags of the wrong type": (
        "t.jsonl",
        b'{"task_id":"a","pass_flags":"TF"}\n',
        r"column 'pass_flags': got 'TF', expected a list",
    ),
    "attempts and counts": (
        "t.csv",
        b"task,attempt,passed,n,c\na,0,1,1,1\n",
        r"column 'c', 'n' in a table of attempts",
    ),
    "counted twice": (
        "t.csv",
        b"task,n,c\na,8,2\na,8,3\n",
        "line 3, column 'task'.*one row of counts for each task",
    ),
    "a named histogram": (
        "t.csv",
        b"task,tasks,n,c\na,2,8,2\n",
        "no task name in a row",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_with_the_place_and_the_remedy(tmp_path, case):
    name, content, words = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(OutcomesError, match=words) as error:
        outcomes.read(tmp_path / name, arm="base")
    assert name in str(error.value)


def test_a_file_without_an_arm_asks_for_one(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "n": 8, "c": 2})
    with pytest.raises(OutcomesError, match=r"no column 'arm'.*`arm=\"base\"`"):
        outcomes.read(path)


def test_several_bad_rows_are_counted():
    with pytest.raises(OutcomesError, match=r"row 1, column 'c'.*\(2 rows like this\)"):
        outcomes.validate(COUNTS.assign(c=9))


def test_categories_and_whole_number_names_are_read():
    table = pd.DataFrame({"task": [1, 2], "n": [4, 4], "c": [1, 2], "arm": ["base", "base"]})
    table["arm"] = table["arm"].astype("category")
    assert outcomes.validate(table.astype({"task": object}))["task"].tolist() == ["1", "2"]


@pytest.mark.parametrize("word", ["null", "None", "NaN", "NA", "N/A"])
def test_words_for_nothing_are_missing(tmp_path, word):
    (tmp_path / "t.csv").write_text(f"task,attempt,passed\na,0,1\na,1,{word}\n")
    assert outcomes.read(tmp_path / "t.csv", arm="base")["passed"].tolist() == [True, pd.NA]


ROWS = [{"task": "a", "attempt": 0, "passed": True}, {"task": "a", "attempt": 1, "passed": False}]


ROWS_AS_LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def test_a_field_in_capitals_is_in_all_rows_or_none(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "Passed": 1}, {"task": "b", "passed": 0})
    with pytest.raises(OutcomesError, match=r"no 'passed'.*in all rows or in none"):
        outcomes.read(path, arm="base")


def test_columns_that_the_file_lacks_are_not_listed(tmp_path):
    (tmp_path / "t.csv").write_text("task,ok\na,1\n")
    with pytest.raises(OutcomesError, match=r"the columns are 'task', 'ok'\. Expected"):
        outcomes.read(tmp_path / "t.csv", arm="base")


def test_models_mixed_in_a_column_are_warned_of(tmp_path):
    rows = [f"{task},{model},1\n" for task in "ab" for model in "xy"]
    (tmp_path / "t.csv").write_text("task,model,passed\n" + "".join(rows))
    with pytest.warns(OutcomesWarning, match=r"'model' has several values .*pair.: .model"):
        outcomes.read(tmp_path / "t.csv", arm="base")


def test_a_count_beyond_all_floats_is_refused(tmp_path):
    pd.DataFrame({"task": ["a"], "n": [2**60], "c": [1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(OutcomesError, match=r"'n': got 1152921504606846976, .* up to 2\^53"):
        outcomes.read(tmp_path / "t.parquet", arm="base")


def test_a_row_of_a_histogram_has_no_more_tasks_than_benchmarks_have():
    with pytest.raises(OutcomesError, match=r"column 'tasks': got 1000000000, expected at most"):
        outcomes.validate(pd.DataFrame({"tasks": [10**9], "n": [8], "c": [1]}), arm="base")


def test_successes_that_look_like_rates_are_refused(tmp_path):
    rows = [{"task": "a", "n": 4, "c": 1.0}, {"task": "b", "n": 4, "c": 0.0}]
    with pytest.raises(OutcomesError, match=r"column 'c': got 1\.0.*as if they were rates"):
        outcomes.read(jsonl(tmp_path / "t.jsonl", *rows), arm="base")
    rows.append({"task": "c", "n": 4, "c": 3.0})
    assert outcomes.read(jsonl(tmp_path / "t.jsonl", *rows), arm="base")["c"].sum() == 4


@pytest.mark.parametrize(("name", "arm"), [("Post", "post"), ("BASE", "base"), ("rl", "post")])
def test_an_arm_is_known_in_any_spelling(name, arm):
    table = outcomes.validate(pd.DataFrame({"task": ["a"], "n": [2], "c": [1], "arm": [name]}))
    assert table["arm"].tolist() == [arm]


def test_two_spellings_of_an_arm_are_refused():
    rows = pd.DataFrame({"task": ["a", "a"], "n": 2, "c": 1, "arm": ["post", "post-trained"]})
    with pytest.raises(OutcomesError, match="'post' and 'post-trained', which mean the same"):
        outcomes.validate(rows)


def test_a_name_that_is_text_and_a_number_is_warned_of(tmp_path):
    rows = [{"task": 1, "attempt": 0, "passed": 1}, {"task": "1", "attempt": 1, "passed": 0}]
    with pytest.warns(OutcomesWarning, match="'1' is text in some rows and a number in others"):
        outcomes.read(jsonl(tmp_path / "t.jsonl", *rows), arm="base")


@pytest.mark.parametrize("hidden", ["\x1b[31m", "\r", "‮", "\u2028", "\x9b"])
def test_characters_that_steer_terminals_are_written_out(hidden):
    rows = {"task": [f"a{hidden}b"], "attempt": [0], "passed": [None], "reason": [f"x{hidden}"]}
    table = outcomes.validate(pd.DataFrame(rows), arm="base")
    for text in (table["task"][0], table["reason"][0]):
        assert text.isprintable()
        assert ascii(hidden)[1:-1] in text
