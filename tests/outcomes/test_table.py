"""The one table: what is read, what is refused and in which words, and how arms are paired."""

import gzip
import json
import warnings

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import outcomes
from lib.outcomes import OutcomesError, OutcomesWarning

ATTEMPTS = pd.DataFrame(
    {
        "benchmark": "b",
        "pair": "p",
        "arm": ["base", "base", "base", "post"],
        "task": ["x", "x", "y", "x"],
        "attempt": [0, 1, 0, 0],
        "passed": [True, None, False, True],
        "reason": [None, "timeout", None, None],
    }
)
COUNTS = pd.DataFrame(
    {"benchmark": "b", "pair": "p", "arm": ["base", "post"], "task": "x", "n": 4, "c": [1, 3]}
)
HISTOGRAM = pd.DataFrame(
    {"benchmark": "b", "pair": "p", "arm": ["base", "post"], "tasks": 9, "n": 4, "c": [1, 3]}
)


def jsonl(path, *rows):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


def arm(name, **counts):
    rows = [{"task": task, "n": n, "c": c} for task, (c, n) in counts.items()]
    return outcomes.validate(pd.DataFrame(rows), arm=name)


# Reading and writing


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


def test_the_authors_counts_are_read(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task_id": "a", "n": 8, "c": 2})
    assert outcomes.read(path, arm="base")[["n", "c", "missing"]].to_numpy().tolist() == [[8, 2, 0]]


def test_a_column_of_the_file_wins_over_a_default(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "n": 8, "c": 2, "arm": "post"})
    assert outcomes.read(path, arm="base")["arm"].tolist() == ["post"]


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ";"), ("t.tsv", "\t"), ("t.csv", "\t")])
def test_a_table_may_be_separated_by_other_marks(tmp_path, name, mark):
    (tmp_path / name).write_text(f'"task, or so"{mark}n{mark}c\n"a,b"{mark}8{mark}2\n')
    table = outcomes.read(tmp_path / name, arm="base", columns={"task": "task, or so"})
    assert table[["task", "n", "c"]].to_numpy().tolist() == [["a,b", 8, 2]]


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


# Trouble that is survived, and said


def test_a_torn_last_line_is_dropped_with_a_warning(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "n": 8, "c": 2}, '{"task": "b", "n"')
    with pytest.warns(OutcomesWarning, match="the last line is torn"):
        assert outcomes.read(path, arm="base")["task"].tolist() == ["a"]


def test_a_line_torn_inside_a_character_is_torn(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes('{"task": "a", "n": 8, "c": 2}\n{"task": "é'.encode()[:-1])
    with pytest.warns(OutcomesWarning, match="the last line is torn"):
        assert outcomes.read(path, arm="base")["task"].tolist() == ["a"]


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "task,n,c\na,8,2\n"), ("t.jsonl", '{"task":"a","n":8,"c":2}\n')]
)
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert outcomes.read(tmp_path / name, arm="base")["task"].tolist() == ["a"]


def test_a_torn_last_row_of_csv_is_dropped_with_a_warning(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("task,n,c\na,8,2\nb,8")
    with pytest.warns(OutcomesWarning, match="the last line is torn"):
        assert outcomes.read(path, arm="base")["task"].tolist() == ["a"]


def test_a_csv_cut_inside_its_last_number_is_doubted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("task,c,n\na,2,128\nb,2,12")
    with pytest.warns(OutcomesWarning, match="does not end with a line break"):
        outcomes.read(path, arm="base")


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


# Trouble that is refused


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


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OutcomesError, match=r"nowhere\.csv: expected .*got no such file"):
        outcomes.read(tmp_path / "nowhere.csv")


def test_a_file_without_an_arm_asks_for_one(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "n": 8, "c": 2})
    with pytest.raises(OutcomesError, match=r"no column 'arm'.*`arm=\"base\"`"):
        outcomes.read(path)


def test_several_bad_rows_are_counted():
    with pytest.raises(OutcomesError, match=r"row 1, column 'c'.*\(2 rows like this\)"):
        outcomes.validate(COUNTS.assign(c=9))


# Pairing


def test_arms_are_paired_by_name_and_what_is_dropped_is_said():
    base = arm("base", a=(1, 4), b=(2, 4), lost=(0, 0), alone=(1, 4))
    post = arm("post", b=(3, 4), a=(4, 4), lost=(2, 4))
    aligned = outcomes.align(base, post)
    assert aligned.base["task"].tolist() == aligned.post["task"].tolist() == ["a", "b"]
    assert aligned.post["c"].tolist() == [4, 3]
    assert aligned.dropped.to_numpy().tolist() == [
        ["lost", "base", "no scored attempt"],
        ["alone", "post", "not attempted"],
    ]


def test_no_task_in_common_is_an_error_showing_both_namings():
    with pytest.raises(OutcomesError, match=r"base has 'a' \.\.\., post has 'b'"):
        outcomes.align(arm("base", a=(1, 4)), arm("post", b=(1, 4)))


def test_histogram_rows_are_never_paired():
    table = outcomes.validate(HISTOGRAM)
    with pytest.raises(OutcomesError, match="its tasks have no names"):
        outcomes.align(table[table["arm"] == "base"], table[table["arm"] == "post"])
    comparison = outcomes.comparisons(table)[0]
    assert comparison.base.tasks is not None
    assert not comparison.tax(4, n_boot=0).paired


def test_align_takes_one_cell_an_arm():
    with pytest.raises(OutcomesError, match="expected rows of one benchmark, pair and arm; got 2"):
        outcomes.align(COUNTS, COUNTS.head(1))


def test_comparisons_need_both_arms():
    with pytest.raises(
        OutcomesError, match=r"has both arms 'base' and 'post'.*default / default / base"
    ):
        outcomes.comparisons(arm("base", a=(1, 4)))


def test_intervals_do_not_change_with_what_else_is_in_the_table():
    two = pd.concat([COUNTS.assign(task=t, c=[i % 3, i % 4]) for i, t in enumerate("abcdefghijkl")])
    both = pd.concat([two.assign(benchmark="other"), two])
    alone = outcomes.comparisons(two)[0].tax(4).gap
    assert [list(part) for part in alone] == [
        list(part) for part in outcomes.comparisons(both)[1].tax(4).gap
    ]


def test_a_cell_without_its_other_arm_is_said():
    table = pd.concat([COUNTS, COUNTS.head(1).assign(benchmark="alone")])
    with pytest.warns(OutcomesWarning, match=r"not compared.*p on alone \(base\)"):
        assert len(outcomes.comparisons(table)) == 1


def test_missing_attempts_are_counted_at_the_tasks_compared():
    rows = [("base", "a", 4, 1, 2), ("base", "lost", 4, 1, 9), ("post", "a", 4, 1, 0)]
    table = pd.DataFrame(rows, columns=["arm", "task", "n", "c", "missing"])
    comparison = outcomes.comparisons(outcomes.validate(table))[0]
    assert comparison.missing == {"base": 2, "post": 0}


def test_missing_outcomes_cannot_be_drawn():
    """Two of four attempts have a score: a budget of three is an error, not a rate."""
    rows = {"task": "a", "attempt": range(4), "passed": [None, None, False, False]}
    both = [outcomes.validate(pd.DataFrame(rows), arm=arm) for arm in ("base", "post")]
    with pytest.raises(OutcomesError, match=r"k = 3 needs at least 3 rollouts.*'a' with n = 2"):
        outcomes.comparisons(pd.concat(both))[0].tax(3)


def test_classes_of_a_dataset_are_read_by_their_names():
    from datasets import ClassLabel, Dataset

    rows = {"task": ["a", "a"], "attempt": [0, 1], "passed": [0, 1]}
    dataset = Dataset.from_dict(rows).cast_column("passed", ClassLabel(names=["true", "false"]))
    assert outcomes.from_dataset(dataset, arm="base")["passed"].tolist() == [True, False]


def test_categories_and_whole_number_names_are_read():
    table = pd.DataFrame({"task": [1, 2], "n": [4, 4], "c": [1, 2], "arm": ["base", "base"]})
    table["arm"] = table["arm"].astype("category")
    assert outcomes.validate(table.astype({"task": object}))["task"].tolist() == ["1", "2"]


def test_flags_survive_parquet(tmp_path):
    table = pd.DataFrame({"task_id": ["a"], "pass_flags": [[True, False]], "n": [2], "c": [1]})
    table.to_parquet(tmp_path / "t.parquet")
    read = outcomes.read(tmp_path / "t.parquet", arm="base")
    assert read["passed"].tolist() == [True, False]


@pytest.mark.parametrize(
    "reason", ["50%\r100% done", "ends\r", "x" * 200_000, "\ufefftop\n\ufeffrow"]
)
def test_any_reason_survives_csv(tmp_path, reason):
    table = outcomes.validate(ATTEMPTS.assign(reason=[None, reason, None, None]))
    outcomes.write(table, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(outcomes.read(tmp_path / "t.csv"), table)


@pytest.mark.parametrize("tail", [b'b,8,"2', b"b\xc3"])
def test_a_csv_torn_inside_quotes_or_a_character_is_torn(tmp_path, tail):
    path = tmp_path / "t.csv"
    path.write_bytes(b"task,n,c\na,8,2\n" + tail)
    with pytest.warns(OutcomesWarning, match="the last line is torn"):
        assert outcomes.read(path, arm="base")["task"].tolist() == ["a"]


def test_the_largest_budget_is_the_shortest_task():
    table = pd.concat([arm("base", a=(1, 4), b=(2, 9)), arm("post", a=(1, 8), b=(2, 7))])
    assert outcomes.comparisons(table)[0].max_k == 4


# Files as people have them


@pytest.mark.parametrize("mark", [",", "\t"])
def test_a_stray_quote_does_not_swallow_rows(tmp_path, mark):
    rows = ["task attempt passed reason", 'a 0 1 "start', "b 0 0 ok", 'd 0 1 end"']
    path = tmp_path / "t.tsv"
    path.write_text("\n".join(rows).replace(" ", mark) + "\n")
    with pytest.raises(OutcomesError, match=r"lines 2 to 4: line 3 looks like a row"):
        outcomes.read(path, arm="base")


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("task,attempt,passed,note,reason", ['a,0,1,,"x', 'a,1,0,well,y"', "a,2,1,,"]),
        ("task,attempt,passed,note,reason", ['a,0,,,"x', 'a,1,0,well,y"', "a,2,1,,"]),
        ("task,passed,reason", ['a,1,"x', 'a,,y"', "b,1,"]),
        ("task,passed,reason", ['a,,"x', 'a,1,y"', "b,1,"]),
    ],
)
def test_a_stray_quote_beside_a_blank_swallows_nothing(tmp_path, header, rows):
    path = tmp_path / "t.csv"
    path.write_text("\n".join([header, *rows, ""]))
    with pytest.raises(OutcomesError, match=r"lines 2 to 3: line 3 looks like a row"):
        outcomes.read(path, arm="base")


def test_a_reason_may_have_lines_and_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('task,attempt,passed,reason\na,0,,"Error:\n  f(a, 1, b, c)\nx,y"\na,1,1,\n')
    table = outcomes.read(path, arm="base")
    assert table["reason"][0] == "Error:\n  f(a, 1, b, c)\nx,y"


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.json.gz"])
def test_a_line_out_of_proportion_to_its_file_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b" " * 6_000_000) * 2)
    with pytest.raises(OutcomesError, match=r"line 1: .* like a gzip bomb"):
        outcomes.read(path, arm="base")


def test_a_document_out_of_proportion_to_its_file_is_refused(tmp_path):
    (tmp_path / "t.json").write_bytes(gzip.compress(b"[" + b"\n" * 6_000_000))
    with pytest.raises(OutcomesError, match=r"larger than \d+ bytes, .* like a gzip bomb"):
        outcomes.read(tmp_path / "t.json", arm="base")


def test_a_line_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(outcomes.contents, "LONGEST_LINE", 40)
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "n": 8, "c": 2}, {"task": "b" * 40})
    with pytest.raises(OutcomesError, match="line 2: longer than 40 bytes"):
        outcomes.read(path, arm="base")


@pytest.mark.parametrize("word", ["null", "None", "NaN", "NA", "N/A"])
def test_words_for_nothing_are_missing(tmp_path, word):
    (tmp_path / "t.csv").write_text(f"task,attempt,passed\na,0,1\na,1,{word}\n")
    assert outcomes.read(tmp_path / "t.csv", arm="base")["passed"].tolist() == [True, pd.NA]


ROWS = [{"task": "a", "attempt": 0, "passed": True}, {"task": "a", "attempt": 1, "passed": False}]
ROWS_AS_LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.ndjson", ROWS_AS_LINES),
        ("t.json", ROWS_AS_LINES),
        ("t.json", json.dumps(ROWS)),
        ("t.JSON", json.dumps(ROWS, indent=1)),
        ("t.CSV", "task,attempt,passed\na,0,1\na,1,0\n"),
        ("t.csv", "Task, Attempt, passed \na,0,1\na,1,0\n"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_usual_files_are_read(tmp_path, name, text, pack):
    (tmp_path / name).write_bytes(pack(text.encode()))
    assert outcomes.read(tmp_path / name, arm="base")["passed"].tolist() == [True, False]


def test_a_list_of_other_things_is_refused(tmp_path):
    (tmp_path / "t.json").write_text("[1, 2]")
    with pytest.raises(OutcomesError, match=r"row 1 is not an object"):
        outcomes.read(tmp_path / "t.json", arm="base")


def test_a_field_in_capitals_is_in_all_rows_or_none(tmp_path):
    path = jsonl(tmp_path / "t.jsonl", {"task": "a", "Passed": 1}, {"task": "b", "passed": 0})
    with pytest.raises(OutcomesError, match=r"no 'passed'.*in all rows or in none"):
        outcomes.read(path, arm="base")


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(OutcomesError, match="Save the sheet as CSV"):
        outcomes.read(tmp_path / "t.xlsx")


def test_columns_that_the_file_lacks_are_not_listed(tmp_path):
    (tmp_path / "t.csv").write_text("task,ok\na,1\n")
    with pytest.raises(OutcomesError, match=r"the columns are 'task', 'ok'\. Expected"):
        outcomes.read(tmp_path / "t.csv", arm="base")


def test_an_index_with_a_name_is_a_column_of_parquet(tmp_path):
    table = pd.DataFrame({"n": [4], "c": [1]}, index=pd.Index(["a"], name="task"))
    table.to_parquet(tmp_path / "t.parquet")
    assert outcomes.read(tmp_path / "t.parquet", arm="base")["task"].tolist() == ["a"]


def test_damaged_notes_of_pandas_do_not_matter(tmp_path):
    pd.DataFrame({"task": ["a"], "n": [4], "c": [1]}).to_parquet(tmp_path / "t.parquet")
    raw = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(raw.replace(b'"columns"', b'"colXmns"'))
    assert outcomes.read(tmp_path / "t.parquet", arm="base")["n"].tolist() == [4]


def test_models_mixed_in_a_column_are_told(tmp_path):
    rows = [f"{task},{model},1\n" for task in "ab" for model in "xy"]
    (tmp_path / "t.csv").write_text("task,model,passed\n" + "".join(rows))
    with pytest.warns(OutcomesWarning, match=r"'model' has several values .*pair.: .model"):
        outcomes.read(tmp_path / "t.csv", arm="base")


def test_benchmarks_of_two_names_say_how_to_name_them(tmp_path):
    cells = [
        outcomes.validate(COUNTS[COUNTS["arm"] == one].assign(benchmark=one))
        for one in ("base", "post")
    ]
    with pytest.raises(OutcomesError, match=r"`benchmark=.NAME"):
        outcomes.comparisons(pd.concat(cells))


def test_a_count_beyond_all_floats_is_refused(tmp_path):
    pd.DataFrame({"task": ["a"], "n": [2**60], "c": [1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(OutcomesError, match=r"'n': got 1152921504606846976, .* up to 2\^53"):
        outcomes.read(tmp_path / "t.parquet", arm="base")


def test_a_row_of_a_histogram_has_no_more_tasks_than_benchmarks_have():
    with pytest.raises(OutcomesError, match=r"column 'tasks': got 1000000000, expected at most"):
        outcomes.validate(pd.DataFrame({"tasks": [10**9], "n": [8], "c": [1]}), arm="base")


def test_tasks_without_a_score_in_both_arms_are_not_taken_for_other_names():
    base, post = arm("base", a=(0, 0), b=(1, 2)), arm("post", a=(1, 2), b=(0, 0))
    with pytest.raises(
        OutcomesError, match=r"no task has a scored attempt .* 1 in base, 1 in post"
    ):
        outcomes.align(base, post)
