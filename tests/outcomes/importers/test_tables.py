"""Tables: which columns count, are settings or are not used, scores, and rows that are no tasks."""

import warnings

import pytest

from lib import outcomes
from lib.outcomes import OutcomesError, OutcomesWarning, importers


def table(path, header, *rows):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def attempts(path, header, tail=""):
    return table(path, header, *(f"t{i // 2},{i % 2},{i % 2}{tail}" for i in range(6)))


def test_columns_that_are_not_used_are_named(tmp_path):
    path = attempts(tmp_path / "a.csv", "task,attempt,passed,seed,host", ",7,h")
    assert "columns not used: seed, host" in importers.load(path).report.lines()


def test_a_constant_setting_is_noted_and_compared_between_arms(tmp_path):
    logs = [
        importers.load(attempts(tmp_path / f"{t}.csv", "task,attempt,passed,Temperature", f",{t}"))
        for t in (0.7, 1.0)
    ]
    assert importers.differing_settings(*logs).to_numpy().tolist()[-1] == [
        "temperature",
        "0.7",
        "1.0",
    ]


def test_settings_that_vary_in_a_file_are_warned_of(tmp_path):
    rows = (f"t{i},{j},1,{j}" for i in range(3) for j in range(2))
    path = table(tmp_path / "a.csv", "task,attempt,passed,top_p", *rows)
    with pytest.warns(OutcomesWarning, match=r"setting in column 'top_p' has several"):
        assert importers.load(path).report.settings == {"top_p": [0, 1]}


def test_blanks_around_names_are_no_part_of_them(tmp_path):
    rows = ("pair,arm,task,n,c", "p ,base , a,4,1", "p ,\tpost, a,4,3")
    imported = importers.load(table(tmp_path / "a.csv", *rows))
    assert imported.outcomes["task"].tolist() == ["a", "a"]
    (comparison,) = outcomes.comparisons(imported.outcomes)
    assert (comparison.pair, list(comparison.post.c)) == ("p", [3])


def test_names_that_differ_in_blanks_alone_are_one_and_warned_of(tmp_path):
    path = table(tmp_path / "a.csv", "Task,attempt,passed", " a,0,1", "a,1,0", "a ,2,1")
    with pytest.warns(OutcomesWarning, match=r"column 'Task': ' a' and 'a' and 'a ' differ only"):
        read = importers.load(path)
    assert (read.report.tasks, read.report.attempts) == (1, 3)


def test_counts_of_names_that_differ_in_blanks_alone_are_refused(tmp_path):
    path = table(tmp_path / "a.csv", "task,n,c", " a,4,1", "a,4,3")
    message = r"line 3, column 'task': got 'a', expected one row of counts for each task .*blanks"
    with pytest.raises(OutcomesError, match=message):
        importers.load(path)


def test_a_name_of_blanks_alone_is_refused(tmp_path):
    path = table(tmp_path / "a.csv", "task,n,c", "a,4,1", "  ,4,3")
    with pytest.raises(OutcomesError, match="line 3, column 'task': got '  ', expected a name"):
        importers.load(path)


def test_a_row_that_is_the_total_is_warned_of(tmp_path):
    path = table(tmp_path / "a.csv", "task,n,c", "a,4,1", "b,4,3", "TOTAL,8,4")
    with pytest.warns(OutcomesWarning, match="the n and c of task 'TOTAL' .* are the sums of all"):
        importers.load(path)


@pytest.mark.parametrize(
    ("header", "rows", "options"),
    [
        ("task,score", ["a,0.6", "a,0.5", "a,"], {"columns": {"passed": "score"}}),
        ("task,attempt,passed", ["a,0,0.6", "a,1,0.5", "a,2,nan"], {}),
    ],
)
def test_scores_of_a_table_are_judged_by_a_threshold(tmp_path, header, rows, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = importers.load(
            table(tmp_path / "a.csv", header, *rows), threshold=0.55, **options
        ).report
    assert (done.scored, done.passed, done.attempts) == (2, 1, 3)
    assert "success: score >= 0.55 (the threshold); scores run from 0.5 to 0.6" in done.lines()


def test_a_threshold_of_counts_or_of_words_is_refused(tmp_path):
    with pytest.raises(OutcomesError, match="holds counts, but a threshold applies to scores"):
        importers.load(table(tmp_path / "a.csv", "task,n,c", "a,4,1"), threshold=0.5)
    path = table(tmp_path / "b.csv", "task,attempt,passed", "a,0,0.3", "a,1,high")
    with pytest.raises(
        OutcomesError, match=r"b\.csv, line 3, column 'passed': expected a score, .*; got 'high'"
    ):
        importers.load(path, threshold=0.5)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"c": "n"}, r"no column 'n'; the columns are 'task', 'n', 'c' \('n' was mapped to 'c'\)"),
        ({"foo": "n"}, "expected a column of outcomes, one of arm, attempt, .*; got 'foo'"),
    ],
)
def test_errors_about_columns_speak_of_the_files_names(tmp_path, columns, message):
    path = table(tmp_path / "a.csv", "task,n,c", "a,4,1")
    with pytest.raises(OutcomesError, match=message):
        importers.load(path, columns=columns)


def test_the_error_for_a_mapped_outcome_names_the_files_column(tmp_path):
    path = table(tmp_path / "a.csv", "task,attempt,ok?", "a,0,55%")
    with pytest.raises(OutcomesError, match=r"line 2, column 'ok\?': got '55%'"):
        importers.load(path, columns={"passed": "ok?"})


@pytest.mark.parametrize("words", [("correct", "incorrect"), ("C", "I")])
def test_verdicts_in_words_are_taken(tmp_path, words):
    path = table(
        tmp_path / "a.csv", "task,attempt,passed", *(f"a,{i},{w}" for i, w in enumerate(words))
    )
    assert importers.load(path).report.passed == 1


def test_letters_that_might_be_options_are_no_verdicts(tmp_path):
    path = table(tmp_path / "a.csv", "task,attempt,passed", "a,0,C", "a,1,B")
    with pytest.raises(OutcomesError, match="got 'C', expected true"):
        importers.load(path)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_utf_16_is_named(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    path.write_text("task,attempt,passed\na,0,1\n", encoding="utf-16")
    with pytest.raises(OutcomesError, match="expected text in UTF-8, got UTF-16"):
        importers.load(path)


def test_a_column_that_splits_attempts_may_be_the_data_set_or_settings(tmp_path):
    path = table(
        tmp_path / "a.csv",
        "task,attempt,passed,set",
        *(f"t{i},0,1,{s}" for i in range(3) for s in "xy"),
    )
    with pytest.warns(OutcomesWarning, match=r'"benchmark": "set".*settings, .* cannot be pooled'):
        importers.load(path)


def test_several_benchmarks_are_counted_one_by_one(tmp_path):
    rows = ("a,x,4,1", "b,x,4,3", "a,y,2,2")
    lines = importers.load(table(tmp_path / "a.csv", "task,benchmark,n,c", *rows)).report.lines()
    assert lines[1:4] == [
        "3 tasks, 10 attempts, of which 10 scored and 6 passed",
        "of x: 2 tasks, 8 attempts, of which 8 scored and 4 passed",
        "of y: 1 task, 2 attempts, of which 2 scored and 2 passed",
    ]
