"""The four catalogues are looked up in the same way, and say in the same words what they do not have."""

import pytest

from anyformer.catalogues import Catalogue, did_you_mean
from anyformer.errors import MixerError, NetworkError, PatternError, TargetError
from anyformer.networks import probability_maps
from anyformer.patterns import catalogue as patterns
from anyformer.targets import catalogue as targets


def mixers() -> Catalogue:
    pytest.importorskip("torch")
    from anyformer.mixers import CATALOGUE

    return CATALOGUE


# For each: a name with a hyphen or a parameter, as it may be typed, the same as arguments, and the sizes all take.
CASES = {
    "targets": (lambda: targets.CATALOGUE, TargetError, "power_sums:degree=3", ("power-sums", {"degree": 3}), (2, 1)),
    "patterns": (lambda: patterns.CATALOGUE, PatternError, "block_local:4", ("block-local", {"block": 4}), ()),
    "mixers": (mixers, MixerError, "plain_convolution:kernel=3", ("plain-convolution", {"kernel": 3}), ()),
    "maps": (lambda: probability_maps.CATALOGUE, NetworkError, "entmax:1.4", ("entmax", {"alpha": 1.4}), ()),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request):
    catalogue, *rest = request.param
    return (catalogue(), *rest)


def test_a_thing_is_the_same_by_name_and_as_it_is_typed(case):
    catalogue, _, text, (name, parameters), sizes = case
    assert catalogue.parse(text, *sizes) == catalogue.make(name, *sizes, **parameters)
    assert catalogue.make(name, *sizes) == catalogue.make(name.replace("-", "_"), *sizes)
    assert set(parameters) <= set(catalogue.parameters(name))
    assert name.replace("-", "_") in catalogue


def test_everything_is_described_in_a_line(case):
    catalogue = case[0]
    assert list(catalogue.descriptions()) == list(catalogue)
    assert all(line.endswith((".", ":")) or "." in line for line in catalogue.descriptions().values())


def test_unknown_names_and_parameters(case):
    catalogue, error, _, (name, parameters), sizes = case
    with pytest.raises(error, match=f"must be one of .*; got '{name}s'. Did you mean '{name}'"):
        catalogue.make(f"{name}s", *sizes)
    known = next(iter(parameters))
    with pytest.raises(error, match=f"'{name}' must get no parameters but .*{known}.*; got 'name'. Leave it out"):
        catalogue.make(name, *sizes, name=1)
    with pytest.raises(error, match=f"got '{known}x'. Did you mean '{known}'"):
        catalogue.parse(f"{name}:{known}x=1", *sizes)


@pytest.mark.parametrize("name", [None, 3, ["a"], {}])
def test_what_is_no_name_is_not_there(case, name):
    assert name not in case[0]
    with pytest.raises(case[1], match="must be one of"):
        case[0].make(name)


def test_a_value_alone_stands_for_the_only_parameter():
    both = Catalogue("pair", {"pair": lambda a=1, b=2: (a, b), "one": lambda a=1: a}, NetworkError)
    assert both.parse("one:5") == 5
    assert both.parse("one:a=5") == 5
    for text in ("pair:5", "pair:5,6", "one:5,6", "one:5,a=6"):
        with pytest.raises(NetworkError, match="must read key=value"):
            both.parse(text)


def test_suggestions_are_near_or_absent():
    assert did_you_mean("sofmax", ["softmax", "sort"]) == " Did you mean 'softmax'?"
    assert did_you_mean("xyz", ["softmax", "sort"]) == ""
