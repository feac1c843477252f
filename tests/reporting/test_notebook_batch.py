"""The batch: entries, the types of parameters, failures, kernels that die, the page and claims."""

import html
import math
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lib.__main__ import main
from lib.claims import MIME
from lib.reporting.batch_report import write_pages
from lib.reporting.notebook_batch import Entry, Failure, Result, as_entries, read_batch, run_batch
from lib.reporting.notebook_claims import claims_markdown, collect_claims, with_claims
from lib.reporting.notebook_parameters import known_parameters, literal, parameterised

CLAIM = {
    "claim": "Coverage crosses over",
    "value": "11 of 12",
    "interval": "9 to 12",
    "published": "11 of 12",
    "verdict": "holds",
    "why": "a | in <text>",
}


def write_notebook(path, *cells):
    """Write a notebook; a cell is code, or a pair of its kind (markdown, parameters) and text."""
    node = nbformat.v4.new_notebook()
    for cell in cells:
        kind, source = cell if isinstance(cell, tuple) else ("code", cell)
        if kind == "markdown":
            node.cells.append(nbformat.v4.new_markdown_cell(source))
        else:
            tags = {"tags": [kind]} if kind == "parameters" else {}
            node.cells.append(nbformat.v4.new_code_cell(source, metadata=tags))
    nbformat.write(node, path)
    return path


@pytest.fixture
def notebook(tmp_path):
    return write_notebook(tmp_path / "one.ipynb", ("parameters", "x = 1\nname = 'a'  # or x=2"))


# --- entries --------------------------------------------------------------------------------------


def test_a_batch_file_names_notebooks_relative_to_itself(notebook):
    batch = notebook.with_name("batch.yml")
    batch.write_text(
        "- {notebook: one.ipynb}\n- {notebook: one.ipynb, name: two, parameters: {x: 5}}"
    )
    assert read_batch(batch) == [Entry(notebook, "one"), Entry(notebook, "two", {"x": 5})]


def test_an_unknown_parameter_lists_the_known_ones(notebook):
    with pytest.raises(ValueError, match=r"entry 1: one\.ipynb has no parameter y; it has name, x"):
        as_entries([{"notebook": notebook, "parameters": {"y": 1}}])


def test_a_parameter_is_known_though_its_line_has_two_equals_signs(notebook):
    assert known_parameters(notebook) == ["x", "name"]


def test_parameters_for_a_notebook_without_any(tmp_path):
    plain = write_notebook(tmp_path / "plain.ipynb", "x = 1")
    with pytest.raises(ValueError, match="it has none"):
        as_entries([{"notebook": plain, "parameters": {"x": 1}}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a list of entries"),
        ("[]", "there is no entry to run"),
        ("notebook: one.ipynb", "expected a list of entries"),
        ("- one.ipynb", r"entry 1: expected `notebook: NAME\.ipynb`, found 'one\.ipynb'"),
        ("- {notebook: one.ipynb, params: {x: 1}}", "unknown key params"),
        ("- {notebook: one.ipynb, name: ../up}", "must be a plain file name"),
        ("- {notebook: one.ipynb, parameters: [x]}", "must map names to values"),
        ("- {notebook: one.ipynb, parameters: 0}", "must map names to values, found 0"),
        ("- {notebook: one.ipynb, parameters: false}", "must map names to values, found False"),
        ("- {notebook: one.ipynb, parameters: ''}", "must map names to values, found ''"),
        ("- {notebook: one.ipynb, name: Report}", "'Report' is kept for the batch's own page"),
        ("- {notebook: one.ipynb, name: claims}", "'claims' is kept"),
        (f"- {{notebook: one.ipynb, name: {'n' * 201}}}", "is too long; 200 bytes"),
        ("- {notebook: one.ipynb}\n- {notebook: one.ipynb, name: ONE}", "named 'one' too"),
        ("- {notebook: one.ipynb, parameters: {x: &a [*a]}}", "parameter x: .* contains itself"),
        (f"- {'[' * 5000}", "is not a YAML file"),
        ("- !!timestamp soon", "is not a YAML file"),
        (
            "- {notebook: one.ipynb}\n- {notebook: one.ipynb}",
            "entry 2: an entry before it is named",
        ),
        ("- {notebook: one.ipynb, parameters: {x: 2026-01-02}}", "parameter x: .*type date"),
        ("- {notebook: [}", "is not a YAML file"),
        ("- {notebook: text.ipynb}", r"text\.ipynb is not a Jupyter notebook"),
    ],
)
def test_a_faulty_batch_file_is_refused(notebook, text, message):
    notebook.with_name("text.ipynb").write_text("no notebook")
    batch = notebook.with_name("batch.yml")
    batch.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_batch(batch)


def test_a_missing_notebook_is_named():
    with pytest.raises(FileNotFoundError, match=r"entry 1: there is no notebook nowhere\.ipynb"):
        as_entries([{"notebook": "nowhere.ipynb"}])


def test_only_a_name_of_the_batch_can_be_selected(notebook, tmp_path):
    with pytest.raises(ValueError, match="no entry is named three; the batch has one"):
        run_batch([{"notebook": notebook}], out=tmp_path / "build", only=["three"])


def test_a_notebook_is_not_overwritten_by_its_own_run(notebook):
    before = notebook.read_bytes()
    with pytest.raises(ValueError, match=r"would overwrite the notebook .*one\.ipynb"):
        run_batch([{"notebook": notebook}], out=notebook.parent)
    assert notebook.read_bytes() == before


# --- parameters -----------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.integers() | st.text(), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(values)
def test_a_literal_is_the_value_again(value):
    assert repr(eval(literal(value))) == repr(value)


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (np.int64(3), "3"),
        (np.float64(0.5), "0.5"),
        (np.float32(0.5), "0.5"),
        (np.bool_(True), "True"),
        (np.str_("a"), "'a'"),
        ((np.int8(1),), "(1,)"),
        ((), "()"),
        (Path("a/b"), "Path('a/b')"),
        (math.nan, "float('nan')"),
        ({8: -math.inf}, "{8: float('-inf')}"),
    ],
)
def test_types_that_papermill_would_turn_into_text(value, source):
    assert literal(value) == source


@pytest.mark.parametrize("value", [{1, 2}, 1j, np.arange(2), np.datetime64("2026-01-01"), object])
def test_other_types_are_refused_by_name(notebook, value):
    entry = {"notebook": notebook, "parameters": {"x": [value]}}
    with pytest.raises(
        ValueError, match=r"entry 1: parameter x: a value of type .* cannot be handed"
    ):
        as_entries([entry])


def test_parameters_are_assigned_after_the_defaults_and_again_on_a_second_run(notebook):
    once = notebook.with_name("once.ipynb")
    nbformat.write(parameterised(notebook, {"x": 2}), once)
    sources = [cell.source for cell in parameterised(once, {"x": Path("p")}).cells]
    assert sources[1:] == ["# Parameters of this run\nfrom pathlib import Path\n\nx = Path('p')"]


# --- runs -----------------------------------------------------------------------------------------

CASES = {
    "good": [
        ("markdown", "# A **good** one"),
        ("parameters", "count = ratio = flag = where = pair = levels = None"),
        "from pathlib import PurePath\n"
        "kinds = [type(v) for v in (count, ratio, flag, pair)]\n"
        "assert kinds == [int, float, bool, tuple], kinds\n"
        "assert isinstance(where, PurePath) and levels == {8: 0.5}",
        ("markdown", "## Curve of `count`"),
        "import matplotlib.pyplot as plt\nplt.plot([0, count])\nplt.show()",
        "import os\nprint(os.path.basename(os.getcwd()))",
        "from IPython.display import display\n"
        f"display({{{MIME!r}: [{CLAIM!r}], 'text/plain': 'claims'}}, raw=True)",
    ],
    "bad": ["first = 1", "# the division\nfirst / 0", "print('not reached')"],
    "dies_once": [
        "import os, pathlib\n"
        "marker = pathlib.Path('died')\n"
        "if not marker.exists():\n"
        "    marker.touch()\n"
        "    os._exit(1)",
        "print('up')",
    ],
    "dies_later": ["import os", "os._exit(1)"],
    "kills_once": [
        "import os, pathlib, signal\n"
        "marker = pathlib.Path('killed')\n"
        "if not marker.exists():\n"
        "    marker.touch()\n"
        "    os.kill(os.getppid(), signal.SIGKILL)"
    ],
    "kills": ["import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"],
}

PARAMETERS = {
    "count": np.int64(3),
    "ratio": np.float32(0.5),
    "flag": np.bool_(True),
    "where": Path("some/where"),
    "pair": (1, "a"),
    "levels": {8: 0.5},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("{braces} and spaces")
    for name, cells in CASES.items():
        write_notebook(folder / f"{name}.ipynb", *cells)
    batch = [{"notebook": folder / f"{name}.ipynb"} for name in CASES]
    batch[0]["parameters"] = PARAMETERS
    run = run_batch(batch, out=folder / "build", jobs=2)
    return {result.entry.name: result for result in run}


def outputs(result):
    node = nbformat.read(result.notebook, as_version=4)
    return [output for cell in node.cells for output in cell.get("outputs", [])]


@pytest.mark.slow
def test_parameters_arrive_with_their_types(results):
    assert results["good"].failure is None


@pytest.mark.slow
def test_a_kernel_works_in_its_notebooks_folder(results):
    texts = [output.text for output in outputs(results["good"]) if "text" in output]
    assert texts == [results["good"].entry.notebook.parent.name + "\n"]


@pytest.mark.slow
def test_a_failing_notebook_tells_its_cell_and_the_others_run(results):
    assert results["bad"].failure == Failure(
        2, "# the division", "ZeroDivisionError", "division by zero"
    )
    assert list(results) == list(CASES)


@pytest.mark.slow
def test_a_kernel_that_dies_at_start_is_started_again(results):
    assert (results["dies_once"].starts, results["dies_once"].failure) == (2, None)


@pytest.mark.slow
def test_a_kernel_that_dies_later_is_not_started_again(results):
    result = results["dies_later"]
    assert (result.starts, result.failure.cell, result.failure.error) == (1, 2, "DeadKernelError")


@pytest.mark.slow
def test_a_killed_worker_takes_no_other_notebook_along(results):
    once, ever = results["kills_once"], results["kills"]
    assert (once.starts, once.failure) == (2, None)
    assert (ever.starts, ever.failure.error) == (3, "BrokenProcessPool")
    assert "was killed 3 times" in ever.failure.message
    assert sorted(name for name in CASES if results[name].failure) == ["bad", "dies_later", "kills"]


@pytest.mark.slow
def test_the_page_shows_figures_claims_failures_and_links(results, tmp_path):
    page = write_pages(list(results.values()), tmp_path).read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "<figcaption><b>Curve of count</b>" in page
    assert 'class="verdict holds">holds<' in page
    assert "a | in &lt;text&gt;" in page
    assert "<code># the division</code>" in page
    assert "ZeroDivisionError: division by zero" in page
    assert 'href="bad.ipynb"' in page
    assert (tmp_path / "claims.md").read_text() == claims_markdown([CLAIM])


@pytest.mark.slow
def test_every_notebook_that_ends_is_rendered_as_a_page(results):
    pages = [name for name, r in results.items() if r.notebook.with_suffix(".html").is_file()]
    assert pages == [name for name in CASES if name != "kills"]


@pytest.mark.slow
def test_the_command_says_which_cell_failed_and_exits_with_1(tmp_path, capsys):
    write_notebook(tmp_path / "bad.ipynb", "1 / 0")
    (tmp_path / "batch.yml").write_text("- notebook: bad.ipynb")
    assert main(["batch", str(tmp_path / "batch.yml"), "-o", str(tmp_path / "build")]) == 1
    said = capsys.readouterr()
    assert "bad: FAILED: cell In [1] `1 / 0`: ZeroDivisionError: division by zero" in said.err
    assert said.out == f"Report: {tmp_path / 'build' / 'report.html'}\n"


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


@pytest.mark.parametrize("error", [OSError, ValueError, OverflowError, MemoryError, RecursionError])
def test_bad_input_is_one_line_and_exit_code_2(capsys, monkeypatch, error):
    def command(*_, **__):
        raise error("what was wrong")

    monkeypatch.setattr("lib.reporting.notebook_batch.run_batch", command)
    assert main(["batch"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "what was wrong" in said
    assert said.count("\n") == 1


# --- claims ---------------------------------------------------------------------------------------


def notebook_with_claims(path, claims):
    output = nbformat.v4.new_output("display_data", {MIME: claims})
    cell = nbformat.v4.new_code_cell("claims", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    return path


def test_claims_are_collected_in_order(tmp_path):
    first = notebook_with_claims(tmp_path / "1.ipynb", [CLAIM])
    second = notebook_with_claims(tmp_path / "2.ipynb", [CLAIM | {"claim": "another"}])
    claims, left_out = collect_claims([second, first])
    assert [claim["claim"] for claim in claims] == ["another", CLAIM["claim"]]
    assert not left_out


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ([CLAIM | {"value": 0.3}], "expected a claim with a text for value, got {'claim'"),
        (
            [{}],
            "expected a claim with a text for claim, value, interval, published, verdict, why, got",
        ),
        (
            ["one"],
            "expected a claim with a text for claim, value, interval, published",
        ),
        ([[CLAIM]], "expected a claim with a text"),
        (CLAIM, "expected a list of claims, got {'claim'"),
        ("text", "expected a list of claims, got 'text'"),
        (None, "expected a list of claims, got None"),
    ],
)
def test_what_is_no_claim_is_left_out_and_said(tmp_path, capsys, shown, said):
    good = notebook_with_claims(tmp_path / "good.ipynb", [CLAIM])
    bad = notebook_with_claims(tmp_path / "bad.ipynb", shown)
    results = [Result(Entry(path, path.stem), path) for path in (bad, good)]
    page = write_pages(results, tmp_path).read_text()
    assert collect_claims([bad, good])[0] == [CLAIM]
    assert f"bad.ipynb: {said}" in html.unescape(page)
    assert f"left out: bad.ipynb: {said}" in capsys.readouterr().err


def test_the_table_keeps_its_columns_whatever_the_text():
    row = claims_markdown([CLAIM | {"claim": "a|b\nc"}]).splitlines()[2]
    assert row.startswith("| a\\|b c | 11 of 12 |")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> & &lt;",
        "**x** *y* __z__ _w_ ~~v~~ `u` a*b*c",
        "[a](b) ![c](d) <http://e> <!-- claims:end -->",
        "back\\slash \\| pipe | \\* star",
        "k* = 3, Tax_S(128), pass^8",
    ],
)
def test_a_claim_shows_as_it_is_written(text):
    shown = (
        MarkdownIt("gfm-like").disable("linkify").render(claims_markdown([CLAIM | {"why": text}]))
    )
    assert f"<td>{html.escape(text, quote=False)}</td>" in shown


def test_ordinary_text_of_a_claim_stays_plain():
    row = claims_markdown([CLAIM | {"why": "k* = 3, Tax_S(128), pass^8: 0.1 - 0.2"}])
    assert "| k* = 3, Tax_S(128), pass^8: 0.1 - 0.2 |" in row


def test_claims_go_between_the_markers_and_nowhere_else():
    text = "before\n<!-- claims:begin -->\nold\n<!-- claims:end -->\nafter"
    new = with_claims(text, [CLAIM])
    assert new.startswith("before\n<!-- claims:begin -->\n| Claim |")
    assert new.endswith("|\n<!-- claims:end -->\nafter")
    assert with_claims(new, [CLAIM]) == new


@pytest.mark.parametrize("text", ["", "<!-- claims:end --><!-- claims:begin -->"])
def test_missing_markers_are_named(text):
    with pytest.raises(ValueError, match="must hold <!-- claims:begin -->"):
        with_claims(text, [CLAIM])
