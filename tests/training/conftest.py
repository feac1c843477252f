"""The policy that the tests of training start from."""

import pytest

from tests import lettered


@pytest.fixture(scope="session")
def base():
    return lettered.base()
