"""Text files as people have them: separators, torn lines, stray quotes, packed files."""

import gzip
import json

import pandas as pd
import pytest

from lib import outcomes
from lib.outcomes import OutcomesError, OutcomesWarning
from tests.outcome_tables import ATTEMPTS


def jsonl(path, *rows):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ";"), ("t.tsv", "\t"), ("t.csv", "\t")])
def test_a_table_may_be_separated_by_other_marks(tmp_path, name, mark):
    (tmp_path / name).write_text(f'"task, or so"{mark}n{mark}c\n"a,b"{mark}8{mark}2\n')
    table = outcomes.read(tmp_path / name, arm="base", columns={"task": "task, or so"})
    assert table[["task", "n", "c"]].to_numpy().tolist() == [["a,b", 8, 2]]


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


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(OutcomesError, match="Save the sheet as CSV"):
        outcomes.read(tmp_path / "t.xlsx")


def test_a_header_within_a_file_is_left_out_with_a_warning(tmp_path):
    path = tmp_path / "joined.csv"
    path.write_text("task,attempt,passed\na,0,1\nTask, attempt,passed\nb,0,0\n")
    with pytest.warns(OutcomesWarning, match="line 3: repeats the header"):
        assert outcomes.read(path, arm="base")["task"].tolist() == ["a", "b"]


@pytest.mark.parametrize("name", ["=cmd()|x", "@sum", "-1", "'=a", "+b"])
def test_formulas_are_quoted_in_csv_and_come_back(tmp_path, name):
    table = outcomes.validate(pd.DataFrame({"task": [name], "n": [2], "c": [1], "arm": ["base"]}))
    outcomes.write(table, tmp_path / "t.csv")
    assert f"'{name}" in (tmp_path / "t.csv").read_text()
    assert outcomes.read(tmp_path / "t.csv").equals(table)
