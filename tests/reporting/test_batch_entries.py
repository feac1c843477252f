"""The entries of a batch: what is read, and what is refused before anything runs."""

import pytest

from lib.reporting.batch_entries import Entry, as_entries, read_batch
from lib.reporting.notebook_batch import run_batch
from tests.small_notebooks import write_notebook


@pytest.fixture
def notebook(tmp_path):
    return write_notebook(tmp_path / "one.ipynb", ("parameters", "x = 1\nname = 'a'  # or x=2"))


def test_a_batch_file_names_notebooks_relative_to_itself(notebook):
    batch = notebook.with_name("batch.yml")
    batch.write_text(
        "- {notebook: one.ipynb}\n- {notebook: one.ipynb, name: two, parameters: {x: 5}}"
    )
    assert read_batch(batch) == [Entry(notebook, "one"), Entry(notebook, "two", {"x": 5})]


def test_blanks_of_a_notebooks_name_are_none_of_its_results(tmp_path):
    write_notebook(tmp_path / "my own.ipynb", "1")
    assert as_entries([{"notebook": tmp_path / "my own.ipynb"}])[0].name == "my_own"


def test_an_unknown_parameter_lists_the_known_ones(notebook):
    with pytest.raises(ValueError, match=r"entry 1: one\.ipynb has no parameter y; it has name, x"):
        as_entries([{"notebook": notebook, "parameters": {"y": 1}}])


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
        ("- one.ipynb", r"entry 1: expected `notebook: NAME\.ipynb`, got 'one\.ipynb'"),
        ("- {notebook: one.ipynb, params: {x: 1}}", "unknown key params"),
        ("- {notebook: one.ipynb, name: ../up}", "must be a plain file name"),
        ("- {notebook: one.ipynb, parameters: [x]}", "must map names to values"),
        ("- {notebook: one.ipynb, parameters: 0}", "must map names to values, got 0"),
        ("- {notebook: one.ipynb, parameters: false}", "must map names to values, got False"),
        ("- {notebook: one.ipynb, parameters: ''}", "must map names to values, got ''"),
        ("- {notebook: one.ipynb, name: Report}", "'Report' is kept for the batch's own page"),
        ("- {notebook: one.ipynb, name: claims}", "'claims' is kept"),
        (
            f"- {{notebook: one.ipynb, name: {'n' * 201}}}",
            "is too long; it may have at most 200 bytes",
        ),
        ("- {notebook: one.ipynb}\n- {notebook: one.ipynb, name: ONE}", "named 'one' too"),
        ("- {notebook: one.ipynb, parameters: {x: &a [*a]}}", "has the alias"),
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


def test_a_batch_file_elsewhere_names_the_notebooks_of_the_package(tmp_path):
    [entry] = as_entries([{"notebook": "02_crossover.ipynb"}], folder=tmp_path)
    assert entry.notebook.exists()


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


def test_aliases_are_refused_before_they_unfold(tmp_path):
    lines = ["- &a0 [x]"] + [f"- &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    (tmp_path / "bomb.yml").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"bomb\.yml, line 2: has the alias \*a0"):
        read_batch(tmp_path / "bomb.yml")
