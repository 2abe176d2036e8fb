"""A cache of its own for every test."""

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where the zoo keeps its models during a test."""
    monkeypatch.setenv("ANYFORMER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
