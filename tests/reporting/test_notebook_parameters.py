"""The parameters of a notebook keep their types."""

import math
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.reporting.batch_entries import as_entries
from lib.reporting.notebook_parameters import known_parameters, literal, parameterised
from tests.small_notebooks import write_notebook


@pytest.fixture
def notebook(tmp_path):
    return write_notebook(tmp_path / "one.ipynb", ("parameters", "x = 1\nname = 'a'  # or x=2"))


def test_a_parameter_is_known_though_its_line_has_two_equals_signs(notebook):
    assert known_parameters(notebook) == ["x", "name"]


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
        ValueError,
        match=r"entry 1: parameter x: a value of type .* cannot be a notebook's parameter",
    ):
        as_entries([entry])


def test_parameters_are_assigned_after_the_defaults_and_again_on_a_second_run(notebook):
    once = notebook.with_name("once.ipynb")
    nbformat.write(parameterised(notebook, {"x": 2}), once)
    sources = [cell.source for cell in parameterised(once, {"x": Path("p")}).cells]
    assert sources[1:] == ["# Parameters of this run\nfrom pathlib import Path\n\nx = Path('p')"]
