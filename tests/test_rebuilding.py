"""What users hold in their hands can be copied and pickled: it does the same afterwards, and stays read-only."""

import copy
import dataclasses
import pickle
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

import anyformer as af
from anyformer.certificates.checker import Verdict
from anyformer.networks.digest import digest

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}
ways = pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS)
RNG = np.random.default_rng(0)


def halved(x):
    return x / 2


def arrays(value: object, place: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array in a value, with the fields that lead to it."""
    if isinstance(value, np.ndarray):
        yield place, value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from arrays(getattr(value, field.name), f"{place}.{field.name}")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from arrays(part, f"{place}[{name!r}]")
    elif isinstance(value, tuple | list):
        for index, part in enumerate(value):
            yield from arrays(part, f"{place}[{index}]")


def same_arrays(value: object, other: object) -> bool:
    pairs = list(zip(arrays(value), arrays(other), strict=True))
    assert all(place == other_place for (place, _), (other_place, _) in pairs)
    assert all(one.flags.writeable == two.flags.writeable for (_, one), (_, two) in pairs)
    return all(np.array_equal(one, two) for (_, one), (_, two) in pairs)


@pytest.fixture(scope="module", params=["dense", "sparse", "compiled"])
def built(request):
    if request.param == "dense":
        return af.construct(af.targets.softmax(tokens=3), 0.3, method="averaging")
    if request.param == "sparse":
        return af.construct(af.targets.sort(tokens=4), 0.6, method="sparse-averaging", pattern=af.patterns.Ring())
    return af.construct(af.targets.softmax(tokens=3), 0.1, method="compile")


@ways
@pytest.mark.parametrize("name", af.targets.CATALOGUE)
def test_ready_made_targets(copied, name):
    target = af.targets.ready_made(name, tokens=3, width=2)
    other = copied(target)
    assert other == target
    assert hash(other) == hash(target)
    assert same_arrays(target, other)
    with pytest.raises(TypeError):
        other.parameters["sharpness"] = 5.0
    x = RNG.random((5, 3, 2))
    assert (other(x) == target(x)).all()
    af.targets.check_target(other, samples=8)


@ways
def test_targets_of_ones_own(copied):
    domain = af.targets.CompactSupport((0.0, -1.0), (1.0, 2.5))
    target = af.target(halved, tokens=3, width=2, domain=domain, lipschitz=0.5, evaluation_error=2.0**-20)
    assert copied(target) == target


def test_a_function_that_cannot_be_pickled_gives_pythons_own_error():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(af.target(lambda x: x, tokens=3))
    assert copy.deepcopy(af.target(lambda x: x, tokens=3)).tokens == 3


@ways
@pytest.mark.parametrize("name", af.patterns.descriptions())
def test_patterns(copied, name):
    family = af.patterns.parse(name)
    assert copied(family) == family
    pattern = family.at(9)
    other = copied(pattern)
    assert other == pattern
    assert same_arrays(pattern, other)
    assert not any(array.flags.writeable for _, array in arrays(other))
    assert other.union == pattern.union


@ways
def test_models(copied, built):
    other = copied(built)
    x = RNG.random((5, built.network.tokens, 1))
    assert (other(x) == built(x)).all()
    assert other.target == built.target
    assert other.certificate.to_json() == built.certificate.to_json()
    assert same_arrays(built, other)
    assert other.verify().verdict is Verdict.PROVED


@ways
def test_networks_layers_and_certificates(copied, built):
    network = copied(built.network)
    assert digest(network) == digest(built.network)
    assert not any(array.flags.writeable for _, array in arrays(network))
    assert repr(network) == repr(built.network)
    assert same_arrays(copied(built.network.stages[0][0]), built.network.stages[0][0])
    assert copied(built.certificate).to_json() == built.certificate.to_json()


@ways
def test_plans_and_verdicts(copied, built):
    plan = built.construction.plan
    other = copied(plan)
    assert other.target == plan.target
    assert (other.method, other.request) == (plan.method, plan.request)
    assert same_arrays(plan, other)
    result = built.verify()
    assert copied(result).verdict is result.verdict
    assert copied(result).claim == result.claim
    assert same_arrays(result, copied(result))
