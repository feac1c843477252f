"""A tiny model and its tokenizer."""

import pytest

from tests import tiny


@pytest.fixture(scope="module")
def model():
    return tiny.model()


@pytest.fixture(scope="module")
def tokenizer():
    return tiny.tokenizer()
