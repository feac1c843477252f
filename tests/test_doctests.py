"""The examples in docstrings give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import lib

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(lib.__path__, "lib.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    results = doctest.testmod(importlib.import_module(name))
    assert not results.failed
