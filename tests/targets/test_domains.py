import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import TargetError
from anyformer.targets import Box, CompactSupport, domain_from_json

KINDS = [Box, CompactSupport]


@pytest.mark.parametrize("kind", KINDS)
def test_one_float_serves_every_coordinate(kind):
    domain = kind(low=-1, high=0.5)
    assert domain.lows(3).tolist() == [-1.0, -1.0, -1.0]
    assert domain.highs(2).tolist() == [0.5, 0.5]
    assert domain.volume(tokens=4, width=1) == 1.5**4


@pytest.mark.parametrize("kind", KINDS)
def test_a_tuple_is_one_float_per_coordinate_and_the_same_for_every_token(kind):
    domain = kind(low=(0.0, -2.0), high=(0.5, 1))
    assert domain.lows(2).tolist() == [0.0, -2.0]
    assert domain.volume(tokens=3, width=2) == (0.5 * 3.0) ** 3
    with pytest.raises(TargetError, match=r"low must be one float or one per coordinate; got 2 floats for width 3"):
        domain.lows(3)
    with pytest.raises(TargetError, match=r"high .* got 2 floats for width 1"):
        domain.highs(1)


def test_a_float_and_a_tuple_go_together():
    assert Box(low=0.0, high=(1.0, 2.0, 3.0)).volume(tokens=2, width=3) == 36.0


def test_the_two_kinds_differ_and_equal_ones_are_equal():
    assert Box() == Box(low=0, high=1)
    assert hash(Box()) == hash(Box(low=0, high=1))
    assert Box() != CompactSupport()


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({"low": math.nan}, "low must be finite; got nan"),
        ({"high": math.inf}, "high must be finite; got inf"),
        ({"low": ()}, r"low must be finite; got \(\)"),
        ({"low": 1.0}, "low must be below high by a finite amount; got low=1.0 and high=1.0"),
        ({"low": (0.0, 2.0)}, r"low must be below high .* got low=\(0.0, 2.0\)"),
        ({"low": -1e308, "high": 1e308}, "by a finite amount"),
        ({"low": (0.0, 0.0), "high": (1.0, 1.0, 1.0)}, "one float per coordinate; got 2 and 3"),
        ({"low": "zero"}, "low must be a float or a tuple of floats; got 'zero'"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_faulty_ends_are_refused(kind, ends, message):
    with pytest.raises(TargetError, match=message):
        kind(**ends)


@pytest.mark.parametrize("high", [1e-200, 1e200])
def test_a_volume_that_is_no_normal_float_is_refused(high):
    with pytest.raises(TargetError, match="volume of the domain must be a normal float"):
        Box(high=high).volume(tokens=2, width=1)


finite = st.floats(-1e6, 1e6)
sides = st.floats(1e-3, 1e6)


@given(ends=st.lists(st.tuples(finite, sides), min_size=1, max_size=4), kind=st.sampled_from(KINDS))
def test_json_round_trip_is_exact(ends, kind):
    domain = kind(low=tuple(low for low, _ in ends), high=tuple(low + side for low, side in ends))
    assert domain_from_json(json.loads(json.dumps(domain.to_json()))) == domain


def test_json_holds_hexadecimal_floats():
    assert CompactSupport(high=0.1).to_json() == {
        "kind": "compact-support",
        "low": "0x0.0p+0",
        "high": "0x1.999999999999ap-4",
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["box"], r"\"kind\" is one of box, compact-support"),
        ({"kind": "ball", "low": "0x0p0", "high": "0x1p0"}, "got .*ball"),
        ({"kind": "box", "low": "0x0p0"}, r"'box' must have the keys \['high', 'kind', 'low'\]; got \['kind', 'low'\]"),
        ({"kind": "box", "low": 0.0, "high": "0x1p0"}, r"float.hex\(\) writes it.*got 0.0"),
        ({"kind": "box", "low": "zero", "high": "0x1p0"}, "got 'zero'"),
        ({"kind": "box", "low": "0x0p0", "high": "inf"}, "high must be finite"),
        ({"kind": "box", "low": [["0x0p0"]], "high": "0x1p0"}, "low must be a float or a tuple of floats"),
    ],
)
def test_faulty_json_is_refused(data, message):
    with pytest.raises(TargetError, match=message):
        domain_from_json(data)


@pytest.mark.parametrize("low", ["0", "01", b"0", ("0", "1")])
def test_text_is_no_list_of_numbers(low):
    with pytest.raises(TargetError, match=r"low must be a float or a tuple of floats; got \(?b?'0"):
        Box(low=low, high=5.0)
