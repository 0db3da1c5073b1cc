import doctest
import importlib
import pkgutil

import pytest

import verify.statistics

MODULES = [m.name for m in pkgutil.iter_modules(verify.statistics.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(f"verify.statistics.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_module_is_in_the_table_of_contents():
    assert [name for name in MODULES if name not in verify.statistics.__doc__] == []
