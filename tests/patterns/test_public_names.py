import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from anyformer import patterns

MODULES = [module.name for module in pkgutil.walk_packages(patterns.__path__, "anyformer.patterns.")]


def test_every_public_name_exists_and_is_documented():
    for name in patterns.__all__:
        assert name == "CATALOGUE" or getattr(patterns, name).__doc__, name


@pytest.mark.parametrize("module", ["anyformer.patterns", *MODULES])
def test_the_examples_in_the_documentation_run(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_importing_stays_light():
    script = "import sys, anyformer.patterns; print('\\n'.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in result.stdout.split()}
    assert not loaded & {"torch", "scipy", "ortools", "networkx", "matplotlib", "pandas"}
