"""What many tests share: a few small certified models, built once."""

import os

import pytest
from hypothesis import settings

import anyformer as af

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def zoo_cache(tmp_path_factory):
    """No test writes to the user's cache, nor takes anything from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYFORMER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def small_models() -> list[af.Model]:
    """An equivariant, a positional, a width-2 and a compactly supported model, by selective shifts."""
    wanted = [
        (af.targets.mean_scale(tokens=2), 0.3),
        (af.targets.sort(tokens=2), 0.3),
        (af.targets.centre(tokens=2, width=2), 0.6),
        (af.targets.bump(tokens=2), 0.3),
    ]
    return [af.construct(target, tolerance, method="selective-shift") for target, tolerance in wanted]


@pytest.fixture(scope="session")
def compiled_models() -> list[af.Model]:
    """An equivariant, a positional and a width-2 model whose programs were compiled; none of their targets is above."""
    wanted = [
        (af.targets.softmax(tokens=3), 0.1),
        (af.targets.running_maximum(tokens=3), 0.1),
        (af.targets.power_sums(tokens=2, width=2), 0.2),
    ]
    return [af.construct(target, tolerance, method="compile") for target, tolerance in wanted]


@pytest.fixture(scope="session")
def averaged_models() -> list[af.Model]:
    """The same targets by averaging, and one of three tokens."""
    wanted = [
        (af.targets.mean_scale(tokens=2), 0.1),
        (af.targets.sort(tokens=2), 0.1),
        (af.targets.centre(tokens=2, width=2), 0.3),
        (af.targets.bump(tokens=2), 0.1),
        (af.targets.softmax(tokens=3), 0.15),
    ]
    return [af.construct(target, tolerance, method="averaging") for target, tolerance in wanted]
