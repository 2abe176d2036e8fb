import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

from anyformer import targets

EARLIER = ("errors", "arrays", "rebuilding", "catalogues", "whole_numbers", "user_code", "strict_json", "intervals")
MODULES = [module.name for module in pkgutil.walk_packages(targets.__path__, "anyformer.targets.")]


def test_the_list_of_public_names_is_true():
    assert sorted(targets.__all__) == sorted(set(targets.__all__))
    for name in targets.__all__:
        assert hasattr(targets, name)
    assert targets.softmax(tokens=3).name == "softmax"


@pytest.mark.parametrize("name", MODULES)
def test_imports_only_numpy_the_standard_library_earlier_folders_and_this_one(name):
    import sys

    source = Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for module in imported:
                earlier = module.removeprefix("anyformer.").split(".")[0] in EARLIER
                ours = module.startswith("anyformer.") and (earlier or module.startswith("anyformer.targets"))
                assert ours or module.split(".")[0] in {"numpy", *sys.stdlib_module_names}, module
