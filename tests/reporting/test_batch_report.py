"""The page about a batch names what never ran, and the claims that were left out."""

import html
import re

import pytest

from lib.reporting.batch_entries import Entry
from lib.reporting.batch_report import write_pages
from lib.reporting.notebook_batch import Failure, Result
from lib.reporting.notebook_page import render_notebook
from tests.small_notebooks import CLAIM, notebook_with_claims, write_notebook


@pytest.fixture
def notebook(tmp_path):
    return write_notebook(tmp_path / "one.ipynb", ("parameters", "x = 1\nname = 'a'  # or x=2"))


def test_a_notebook_that_never_ran_still_has_its_place_on_the_page(notebook, tmp_path):
    failure = Failure(None, "", "OSError", "no room")
    result = Result(Entry(notebook, "one"), tmp_path / "none.ipynb", failure=failure)
    assert "OSError: no room" in write_pages([result], tmp_path).read_text()


@pytest.mark.parametrize("left", ["", '{"cells": [', "[]"])
def test_a_notebook_torn_by_a_kill_still_has_its_place_on_the_page(notebook, tmp_path, left):
    torn = tmp_path / "torn.ipynb"
    torn.write_text(left)
    result = Result(Entry(notebook, "torn"), torn, failure=Failure(None, "", "Killed", "no memory"))
    page = write_pages([result], tmp_path).read_text()
    assert "Killed: no memory" in page
    assert "torn.ipynb is not a Jupyter notebook" in page


def test_what_is_no_claim_is_left_out_and_named(tmp_path, capsys):
    good = notebook_with_claims(tmp_path / "good.ipynb", [CLAIM])
    bad = notebook_with_claims(tmp_path / "bad.ipynb", "text")
    results = [Result(Entry(path, path.stem), path) for path in (bad, good)]
    page = write_pages(results, tmp_path).read_text()
    message = "bad.ipynb: expected a list of claims, got 'text'"
    assert message in html.unescape(page)
    assert f"left out: {message}" in capsys.readouterr().err


def test_entries_of_one_notebook_have_names_of_their_own(tmp_path):
    path = write_notebook(
        tmp_path / "n.ipynb", ("markdown", "# The **same**\n\nIt shows *a* [b](c). More.")
    )
    entries = [
        Entry(path, "n"),
        Entry(path, "lab", {"source": "lab", "figures_dir": "x"}),
        Entry(path, "again", {"source": "lab"}),
    ]
    page = write_pages([Result(entry, path) for entry in entries], tmp_path).read_text()
    for name in ("The same", "The same (source: lab)", "The same (source: lab) [again]"):
        assert page.count(f"<h3>{name}</h3>") == 1
    assert page.count("<p>It shows a b.</p>") == 3


def test_claims_are_folded_below_the_line_that_answers(tmp_path):
    path = notebook_with_claims(tmp_path / "n.ipynb", [CLAIM | {"question": "tax"}])
    page = write_pages([Result(Entry(path, "n"), path)], tmp_path).read_text()
    assert page.index("<b>Yes</b>: Coverage crosses over 11 of 12 [9, 12].") < page.index(
        "<summary>1 claim: 1 holds</summary>"
    )
    assert 'data-label="95 % interval">9 to 12<' in page


def test_the_page_asks_nothing_of_the_network(tmp_path):
    path = write_notebook(tmp_path / "n.ipynb", ("markdown", "# Title"), "1 + 1")
    page = write_pages([Result(Entry(path, "n"), path)], tmp_path).read_text()
    for text in (page, render_notebook(path)):
        assert not re.search(r"<script|(src|href)=\"https?:|@import|url\(https?:", text)


def test_code_that_is_tagged_so_is_folded(tmp_path):
    path = write_notebook(tmp_path / "n.ipynb", ("hide-input", "1 + 1"), "2 + 2")
    assert render_notebook(path).count('<details class="code">') == 1
