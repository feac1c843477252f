"""The lenient reader reads JSON as JSON does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.rollouts.lenient_json import Effort, read_value, to_number
from tests.stored_calls import json_values, patient


@patient
@given(st.dictionaries(st.text(), json_values) | st.lists(json_values), st.booleans())
def test_the_reader_reads_json_as_json_does(value, escape):
    text, effort = json.dumps(value, ensure_ascii=escape), Effort()
    assert read_value(text, 0, effort) == (value, len(text), True)
    assert not effort.repairs


@patient
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_numbers(number):
    assert to_number(json.dumps(number)) == number


@pytest.mark.parametrize(
    "text", ["", "01", "1.", ".5", "1_0", "0x1", "１", "1e999", "-", "9" * 301]
)
def test_what_is_no_number(text):
    assert to_number(text) is None
