"""Models of every kind as the subjects of figures; each is verified once."""

import pytest

import anyformer as af
from anyformer.reports.figures.subject import Subject

pytest.importorskip("matplotlib")


def subject_of(model: af.Model) -> Subject:
    assert model.target is not None
    return Subject(model, model.target, model.verify())


@pytest.fixture(scope="session")
def softmax() -> Subject:
    """Compiled, equivariant, sup norm."""
    return subject_of(af.construct("softmax", 0.1, tokens=3, p=float("inf"), method="compile"))


@pytest.fixture(scope="session")
def power_sums() -> Subject:
    """Compiled, width 2."""
    return subject_of(af.construct("power-sums", 0.2, tokens=3, width=2, p=float("inf"), method="compile"))


@pytest.fixture(scope="session")
def running_maximum() -> Subject:
    """Compiled, with positions."""
    return subject_of(af.construct("running-maximum", 0.1, tokens=4, p=float("inf"), method="compile"))


@pytest.fixture(scope="session")
def table() -> Subject:
    """A table, equivariant, L²."""
    return subject_of(af.construct("mean-scale", 0.1, tokens=3, method="averaging"))


@pytest.fixture(scope="session")
def bump() -> Subject:
    """A table of a function with compact support."""
    return subject_of(af.construct("bump", 0.1, tokens=2, method="averaging"))


@pytest.fixture(scope="session")
def shifts() -> Subject:
    """A table by selective shifts."""
    return subject_of(af.construct("mean-scale", 0.3, tokens=2, method="selective-shift"))


@pytest.fixture(scope="session")
def sparse() -> Subject:
    """A sparse table, with positions."""
    return subject_of(
        af.construct("sort", 0.3, tokens=4, method="sparse-averaging", pattern=af.patterns.SlidingWindow())
    )


@pytest.fixture(scope="session")
def interpolant() -> Subject:
    """An interpolating table."""
    return subject_of(af.construct("softmax", 0.2, tokens=3, p=float("inf"), method="interpolation"))
