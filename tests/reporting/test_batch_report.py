"""The page about a batch names what never ran, and the claims that were left out."""

import html

import pytest

from lib.reporting.batch_entries import Entry
from lib.reporting.batch_report import write_pages
from lib.reporting.notebook_batch import Failure, Result
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
